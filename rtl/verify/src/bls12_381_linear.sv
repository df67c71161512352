// Sum of four numbers below the prime of BLS12-381, each taken up to three times and with a sign; reduced below the
// prime. Latency 5 cycles.

`include "registers.svh"

module bls12_381_linear
  import bls12_381_coprocessor_pkg::*;
(
    input  logic               clk_i,
    input  number_t [3:0]      number_i,
    input  logic    [3:0]      negate_i,
    input  logic    [3:0][1:0] factor_i,
    output number_t            number_o
);
  localparam int unsigned Wide = Width + 5;
  localparam logic [Wide-1:0] Prime = Wide'(verify_pkg::Bls12Prime);

  // 1: multiples; a negative one is its complement plus one.
  logic [3:0][Wide-1:0] term_q;
  logic [2:0] ones_q;
  for (genvar at = 0; at < 4; at++) begin : gen_term
    logic [Wide-1:0] once, twice;
    assign once = factor_i[at][0] ? Wide'(number_i[at]) : '0;
    assign twice = factor_i[at][1] ? Wide'({number_i[at], 1'b0}) : '0;
    `FFN(term_q[at], {Wide{negate_i[at]}} ^ (once + twice))
  end
  `FFN(ones_q, 3'(negate_i[0]) + 3'(negate_i[1]) + 3'(negate_i[2]) + 3'(negate_i[3]))

  // 2: from 0 to 24 times the prime, as at most 12 times is subtracted.
  logic [Wide-1:0] sum2_q, sum3_q;
  `FFN(sum2_q, term_q[0] + term_q[1] + term_q[2] + term_q[3] + Wide'(12 * Prime) + Wide'(ones_q))

  // 3: the quotient by the prime, or one less. The ten highest bits of the sum are an integer t, and the prime is
  // 26.004 of their units: t 157 / 4096 is at most t / 26.004, and less by at most 0.08.
  logic [ 4:0] quotient_q;
  logic [17:0] estimate;
  assign estimate = 18'(sum2_q[Wide-1-:10]) * 18'd157;
  `FFN(quotient_q, estimate[16:12])
  `FFN(sum3_q, sum2_q)

  // 4: below 1.2 times the prime; 5: below it.
  logic [24:0][Wide-1:0] multiples;
  for (genvar at = 0; at < 25; at++) begin : gen_multiple
    assign multiples[at] = Wide'(at) * Prime;
  end
  logic [Wide-1:0] rest_q, less;
  `FFN(rest_q, sum3_q - multiples[quotient_q])
  assign less = rest_q - Prime;
  `FFN(number_o, less[Wide-1] ? rest_q[Width-1:0] : less[Width-1:0])

  logic unused;
  assign unused = estimate[17] ^ ^estimate[11:0] ^ ^less[Wide-2:Width] ^ ^rest_q[Wide-1:Width];

endmodule
