// Divides one number per cycle by a constant: long division, four bits of the quotient per cycle; by a power of two, a
// shift without a register.
//
// Results come `Latency` cycles after value_i: 0 for a power of two, else one for every four bits of `Width`.

`include "assertions.svh"

module divide_constant #(
    parameter int unsigned Width = 25,
    parameter int unsigned Divisor = 3,
    localparam int unsigned Stages = (Width + 3) / 4,
    localparam int unsigned RestWidth = Divisor > 1 ? $clog2(Divisor) : 1
) (
    input  logic                 clk_i,
    input  logic [    Width-1:0] value_i,
    output logic [    Width-1:0] quotient_o,
    output logic [RestWidth-1:0] rest_o
);
  `PARAMETER_CHECK(divisor, Divisor > 0 && Divisor <= 16, "divide_constant: Divisor must be from 1 to 16")

  if (Divisor == 1 << $clog2(Divisor)) begin : gen_shift
    assign quotient_o = value_i >> $clog2(Divisor);
    assign rest_o = value_i[RestWidth-1:0] & RestWidth'(Divisor - 1);
    logic unused_clk;
    assign unused_clk = clk_i;
  end else begin : gen_division
    // Bits still to be divided, from the highest down; as they leave at the top, the quotient enters at the bottom.
    logic [ 4*Stages-1:0] bits_q[Stages];
    logic [RestWidth-1:0] rest_q[Stages];
    for (genvar stage = 0; stage < Stages; stage++) begin : gen_stage
      logic [4*Stages-1:0] bits;
      logic [ RestWidth:0] rest;
      always_comb begin
        bits = stage == 0 ? (4 * Stages)'(value_i) : bits_q[stage == 0 ? 0 : stage-1];
        rest = stage == 0 ? '0 : {1'b0, rest_q[stage==0?0 : stage-1]};
        for (int unsigned bit_ = 0; bit_ < 4; bit_++) begin
          rest = {rest[RestWidth-1:0], bits[4*Stages-1]};
          bits = {bits[4*Stages-2:0], 1'b0};
          if (32'(rest) >= Divisor) begin
            rest = rest - (RestWidth + 1)'(Divisor);
            bits[0] = 1'b1;
          end
        end
      end
      always_ff @(posedge clk_i) begin
        bits_q[stage] <= bits;
        rest_q[stage] <= rest[RestWidth-1:0];
      end
    end
    assign quotient_o = bits_q[Stages-1][Width-1:0];
    assign rest_o = rest_q[Stages-1];
  end
endmodule
