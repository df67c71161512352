// Selects one of four words, as small as possible: a cell for each bit where cells have six inputs
// (`SIX_INPUT_CELLS`), three where they have four.

`include "assertions.svh"

module word_mux #(
    parameter int unsigned Width = 512,
`ifdef SIX_INPUT_CELLS
    parameter int unsigned CellWords = 4  // that one cell selects from
`else
    parameter int unsigned CellWords = 2
`endif
) (
    input  logic [1:0]            select_i,
    input  logic [3:0][Width-1:0] words_i,
    output logic [Width-1:0]      word_o
);
  `PARAMETER_CHECK(words, CellWords == 2 || CellWords == 4, "word_mux: CellWords must be 2 or 4")

  if (CellWords == 4) begin : gen_four
    mux_cells #(
        .Width (Width),
        .Inputs(4)
    ) u_four (
        .select_i,
        .words_i,
        .word_o
    );
  end else begin : gen_two
    logic [1:0][Width-1:0] pairs;
    for (genvar pair = 0; pair < 2; pair++) begin : gen_pair
      mux_cells #(
          .Width (Width),
          .Inputs(2)
      ) u_pair (
          .select_i(select_i[0]),
          .words_i (words_i[2*pair+:2]),
          .word_o  (pairs[pair])
      );
    end
    mux_cells #(
        .Width (Width),
        .Inputs(2)
    ) u_pairs (
        .select_i(select_i[1]),
        .words_i (pairs),
        .word_o
    );
  end
endmodule
