// A chain of parts compares words as `==` does.

`include "assertions.svh"

module equal_proof #(
    parameter int unsigned Width = 64,
    parameter bit          Chain = 1'b1
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic [Width-1:0] a_i,
    input logic [Width-1:0] b_i
);
  `PROOF_RESET

  logic equal;
  equal #(
      .Width(Width),
      .Chain(Chain)
  ) u_equal (
      .a_i,
      .b_i,
      .equal_o(equal)
  );

  `ASSERT(equal_words_are_found, equal == (a_i == b_i))
  `COVER(words_are_equal, equal)
  `COVER(words_differ, !equal)
endmodule
