// Selects one of two or four words, with a cell for each bit.
//
// Synthesised separately (`keep_hierarchy`): together with the surrounding logic, tools make two or three times the
// cells of wide multiplexers, to relax their depth. `word_mux` fits any device.

`include "assertions.svh"

(* keep_hierarchy *)
module mux_cells #(
    parameter int unsigned Width  = 512,
    parameter int unsigned Inputs = 4     // a cell has enough inputs for these and the selection
) (
    input  logic [$clog2(Inputs)-1:0]            select_i,
    input  logic [        Inputs-1:0][Width-1:0] words_i,
    output logic [         Width-1:0]            word_o
);
  `PARAMETER_CHECK(width, Width > 0, "mux_cells: Width must be at least 1")
  `PARAMETER_CHECK(inputs, Inputs == 2 || Inputs == 4, "mux_cells: Inputs must be 2 or 4")

  assign word_o = words_i[select_i];
endmodule
