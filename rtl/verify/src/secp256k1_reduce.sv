// Reduces a 512-bit number modulo the prime of secp256k1, 2^256 - c with c = 2^32 + 977; one per cycle, latency
// `ReduceLatency`.
//
// The upper half times c needs no multiplier: c = 2^32 + 2^10 - 2^5 - 2^4 + 1. The excess above 2^256 then has 34 bits;
// folding it in the same way leaves at most one subtraction. With `exact_i` the number is below 2^256 and passes
// unchanged.

`include "registers.svh"

module secp256k1_reduce
  import secp256k1_pkg::*;
(
    input  logic         clk_i,
    input  logic         exact_i,
    input  logic [511:0] number_i,
    output logic [255:0] number_o
);

  // Upper half times c plus lower half: two sums minus one.
  logic [255:0] upper, lower;
  assign {upper, lower} = number_i;
  logic [256:0] near1_q;
  logic [288:0] far1_q;
  logic [261:0] less1_q, less2_q;
  logic [289:0] sum2_q, folded3_q;
  `FFN(near1_q, 257'(lower) + 257'(upper))
  `FFN(far1_q, {1'b0, upper, 32'b0} + {23'b0, upper, 10'b0})
  `FFN(less1_q, {1'b0, upper, 5'b0} + {2'b0, upper, 4'b0})
  `FFN(sum2_q, 290'(near1_q) + 290'(far1_q))
  `FFN(less2_q, less1_q)
  `FFN(folded3_q, sum2_q - 290'(less2_q))

  // The same for the excess.
  logic [33:0] above;
  assign above = folded3_q[289:256];
  logic [67:0] far4_q, above5_q;
  logic [39:0] less4_q;
  logic [255:0] lower4_q, lower5_q;
  logic [256:0] folded6_q;
  `FFN(far4_q, {2'b0, above, 32'b0} + {24'b0, above, 10'b0})
  `FFN(less4_q, {1'b0, above, 5'b0} + {2'b0, above, 4'b0} - 40'(above))
  `FFN(lower4_q, folded3_q[255:0])
  `FFN(above5_q, far4_q - 68'(less4_q))
  `FFN(lower5_q, lower4_q)
  `FFN(folded6_q, 257'(lower5_q) + 257'(above5_q))

  // Less than 2^256 + 2^68: at most one prime too large, namely if adding c carries into bit 256.
  logic exact6;
  delay #(
      .Width(1),
      .Depth(6)
  ) u_exact (
      .clk_i,
      .data_i(exact_i),
      .data_o(exact6)
  );
  logic [257:0] reduced7_q;
  logic [255:0] folded7_q;
  `FFN(reduced7_q, 258'(folded6_q) + 258'(exact6 ? '0 : PrimeLack))
  `FFN(folded7_q, folded6_q[255:0])
  `FFN(number_o, |reduced7_q[257:256] ? reduced7_q[255:0] : folded7_q)

endmodule
