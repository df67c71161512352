// A rotation in steps is the one of any word by any number of bytes.

`include "assertions.svh"

module rotate_bytes_proof #(
    parameter int unsigned Distances = 4,
    localparam int unsigned Bytes = 16
) (
    input logic         clk_i,
    input logic         rst_ni,
    input logic [8*Bytes-1:0] word_i,
    input logic [$clog2(Bytes)-1:0] bytes_i
);
  `PROOF_RESET

  logic [8*Bytes-1:0] word;
  rotate_bytes #(
      .Bytes    (Bytes),
      .Distances(Distances)
  ) u_rotate (
      .word_i,
      .bytes_i,
      .word_o(word)
  );

  `ASSERT(the_word_is_rotated, word == (8 * Bytes)'({2{word_i}} >> 8 * 32'(bytes_i)))
  `COVER(every_step_rotates, &bytes_i && word != word_i)
endmodule
