// Decimal digits of a binary number (shift and add three), four bits a cycle from its first one that is not zero:
// a cycle for numbers below 16, Width / 4 cycles at most. `digits_o` has the lowest digit first.

`include "assertions.svh"
`include "registers.svh"

module kv_decimal #(
    parameter int unsigned Width = 32,
    parameter int unsigned Digits = 10
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    input  logic                   start_i,
    input  logic [      Width-1:0] number_i,  // constant until it is done
    output logic                   done_o,    // from the second cycle after `start_i`
    output logic [Digits-1:0][3:0] digits_o
);
  localparam int unsigned Step = 4;
  localparam int unsigned Steps = Width / Step;
  `PARAMETER_CHECK(width, Width >= 2 * Step && Width % Step == 0,
                   "kv_decimal: Width must be a multiple of 4, at least 8")
  `PARAMETER_CHECK(digits, Digits >= (Width * 301 + 999) / 1000, "kv_decimal: Digits are too few for Width")

  logic [$clog2(Steps)-1:0] at_q, first;
  logic busy_q;
  always_comb begin
    first = '0;
    for (int unsigned at = 1; at < Steps; at++) begin
      if (number_i[Step*at+:Step] != '0) first = ($clog2(Steps))'(at);
    end
  end
  `FFE(busy_q, start_i || at_q != '0, start_i || busy_q, 1'b0)
  `FFNE(at_q, start_i ? first : at_q - 1'b1, start_i || busy_q)

  // A digit whose double is ten or more gets three more, so that the shift carries: a table, of which tools merge two
  // steps in a cell, where a sum would be a carry chain each.
  function automatic logic [3:0] doubled(logic [3:0] digit);
    unique case (digit)
      4'd5: return 4'd8;
      4'd6: return 4'd9;
      4'd7: return 4'd10;
      4'd8: return 4'd11;
      4'd9: return 4'd12;
      default: return digit;
    endcase
  endfunction

  logic [Digits-1:0][3:0] digits_q, digits;
  logic [Step-1:0] bits;
  assign bits = number_i[Step*32'(at_q)+:Step];
  always_comb begin
    digits = digits_q;
    for (int unsigned bit_at = 0; bit_at < Step; bit_at++) begin
      for (int unsigned digit = 0; digit < Digits; digit++) begin
        digits[digit] = doubled(digits[digit]);
      end
      digits = (digits << 1) | (4 * Digits)'(bits[Step-1-bit_at]);
    end
  end
  `FFNE(digits_q, start_i ? '0 : digits, start_i || busy_q)
  assign digits_o = digits_q;
  assign done_o   = !busy_q;
endmodule
