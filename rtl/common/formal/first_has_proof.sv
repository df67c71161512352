// The proof of first_has, against find_first.

`include "assertions.svh"

module first_has_proof #(
    parameter int unsigned Width = 8
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic [Width-1:0] word_i,
    input logic [Width-1:0] marks_i
);
  `PROOF_RESET

  logic [Width-1:0] first_o;
  logic has_o;

  find_first #(.Width(Width)) u_first (.*);
  first_has #(.Width(Width)) u_has (.*);

  `COVER(the_first_has, has_o)
  `COVER(only_others_have, !has_o && (Width == 1 || |(word_i & marks_i)))
  `ASSERT(the_first_tells, has_o == |(first_o & marks_i))
endmodule
