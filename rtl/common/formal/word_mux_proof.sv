// Both forms of word_mux select the word of this number.

`include "assertions.svh"

module word_mux_proof #(
    parameter int unsigned CellWords = 4,
    localparam int unsigned Width = 5
) (
    input logic                  clk_i,
    input logic                  rst_ni,
    input logic [1:0]            select_i,
    input logic [3:0][Width-1:0] words_i
);
  `PROOF_RESET

  logic [Width-1:0] word;
  word_mux #(
      .Width    (Width),
      .CellWords(CellWords)
  ) u_mux (
      .select_i,
      .words_i,
      .word_o(word)
  );

  `ASSERT(the_word_is_selected, word == words_i[select_i])
  `COVER(the_last_is_selected, &select_i && word != words_i[0])
endmodule
