// Proof of find_first against the sum that it replaces.

`include "assertions.svh"

module find_first_proof #(
    parameter int unsigned Width = 8
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic [Width-1:0] word_i
);
  `PROOF_RESET

  logic [Width-1:0] first_o;

  find_first #(.Width(Width)) u_first (.*);

  `COVER(all_are_set, &word_i)
  `ASSERT(first_is_the_lowest, first_o == (word_i & (~word_i + 1'b1)))
endmodule
