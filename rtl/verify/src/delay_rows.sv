// Digit times number, in columns: for each limb of the sum, the sum of all limb products at that position, without
// carries.
//
// A limb has 16 bits, plus one for a retained carry: products are 17 by 17 bits, which the multipliers of all families
// support. The lower 16 bits of a product belong to one column, the others to the next. Latency 1 cycle, in the
// multipliers' registers; the sums are combinational after them.

`include "assertions.svh"

module delay_rows #(
    parameter int unsigned Limbs = 152,
    // Limbs of the digit.
    parameter int unsigned Digit = 8,
    localparam int unsigned SumWidth = 18 + $clog2(2 * Digit)
) (
    input  logic                                         clk_i,
    input  logic [       Digit-1:0][        16:0]        digit_i,
    input  logic [       Limbs-1:0][        16:0]        number_i,
    output logic [     Limbs+Digit:0][SumWidth-1:0]      sum_o
);
  `PARAMETER_CHECK(digit, Digit > 0 && Digit <= Limbs, "delay_rows: Digit must be from 1 to Limbs")

  logic [33:0] product_q[Digit][Limbs];
  always_ff @(posedge clk_i) begin
    for (int unsigned row = 0; row < Digit; row++) begin
      for (int unsigned limb = 0; limb < Limbs; limb++) begin
        product_q[row][limb] <= 34'(digit_i[row]) * 34'(number_i[limb]);
      end
    end
  end
  logic [SumWidth-1:0] sum[Limbs+Digit+1];
  always_comb begin
    for (int unsigned column = 0; column <= Limbs + Digit; column++) sum[column] = '0;
    for (int unsigned row = 0; row < Digit; row++) begin
      for (int unsigned limb = 0; limb < Limbs; limb++) begin
        sum[row+limb] += SumWidth'(product_q[row][limb][15:0]);
        sum[row+limb+1] += SumWidth'(product_q[row][limb][33:16]);
      end
    end
  end
  for (genvar column = 0; column <= Limbs + Digit; column++) begin : gen_sum
    assign sum_o[column] = sum[column];
  end
endmodule
