// Joins pieces of up to 64 bytes to words: a piece is rotated to the end of those before it, and a word is the end of
// one rotated piece and the start of the next. Both kinds of replies share it, as only one of them is built at a time.

`include "assertions.svh"
`include "registers.svh"

module kv_join
  import wire_pkg::*;
(
    input  logic                       clk_i,
    input  logic [      WordWidth-1:0] piece_i,
    input  logic [$clog2(WordBytes)-1:0] rotate_i,  // by bytes
    input  logic [$clog2(WordBytes):0] fill_i,      // bytes of the word before this piece
    input  logic                       step_i,      // the piece is taken
    input  logic                       emits_i,     // and completes the word
    output logic [      WordWidth-1:0] word_o
);
  logic [WordWidth-1:0] rotated, begun_q;
  logic [WordBytes-1:0] begun;
  assign begun = first_bytes(fill_i);
  rotate_bytes u_rotate (
      .word_i (piece_i),
      .bytes_i(rotate_i),
      .word_o (rotated)
  );
  for (genvar at = 0; at < WordBytes; at++) begin : gen_byte
    // What a word leaves of a piece begins the next one.
    `FFNE(begun_q[8*at+:8], rotated[8*at+:8], step_i && (emits_i || !begun[at]))
    assign word_o[8*at+:8] = begun[at] ? begun_q[8*at+:8] : rotated[8*at+:8];
  end
endmodule
