// Sums and differences of two numbers below a modulus, each taken once or twice, optionally halved; one per cycle,
// latency 5 cycles. The result is below the modulus. Works for any odd modulus, whereas `secp256k1_linear` exploits its
// two moduli.

`include "assertions.svh"
`include "registers.svh"

module field_linear
  import verify_pkg::*;
#(
    parameter int unsigned Width = 381,
    parameter logic [Width-1:0] Modulus = Width'(Bls12Prime)
) (
    input  logic             clk_i,
    input  logic             half_i,
    input  logic [Width-1:0] x_i,
    input  logic             x_double_i,
    input  logic             x_negate_i,
    input  logic [Width-1:0] y_i,
    input  logic             y_double_i,
    input  logic             y_negate_i,
    output logic [Width-1:0] number_o
);
  `PARAMETER_CHECK(modulus, Modulus[0], "field_linear: Modulus must be odd")

  // 1: the sum, between -4 and 4 times the modulus. A negative term is its complement plus one.
  function automatic logic [Width+2:0] term(input logic [Width-1:0] number, input logic twice, input logic negate);
    return {(Width + 3) {negate}} ^ (twice ? {2'b0, number, 1'b0} : {3'b0, number});
  endfunction
  logic [Width+2:0] sum1_q;
  logic [1:0] ones;
  assign ones = 2'(x_negate_i) + 2'(y_negate_i);
  `FFN(sum1_q, term(x_i, x_double_i, x_negate_i) + term(y_i, y_double_i, y_negate_i) + (Width + 3)'(ones))

  // 2: below four times the modulus; 3: below twice; 4: below it; 5: half.
  logic [Width+1:0] below4_q, less3;
  logic [Width:0] below2_q, less4, even;
  logic [Width-1:0] below1_q;
  `FFN(below4_q, sum1_q[Width+1:0] + (sum1_q[Width+2] ? {Modulus, 2'b0} : '0))
  assign less3 = below4_q - {1'b0, Modulus, 1'b0};
  `FFN(below2_q, less3[Width+1] ? below4_q[Width:0] : less3[Width:0])
  assign less4 = below2_q - {1'b0, Modulus};
  `FFN(below1_q, less4[Width] ? below2_q[Width-1:0] : less4[Width-1:0])
  logic [3:0] half_q;
  `FFN(half_q, {half_q[2:0], half_i})
  assign even = {1'b0, below1_q} + (below1_q[0] ? {1'b0, Modulus} : '0);
  `FFN(number_o, half_q[3] ? even[Width:1] : below1_q)
  logic unused;
  assign unused = even[0];

endmodule
