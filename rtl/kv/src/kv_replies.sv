// Builds replies: binary ones and those of lines, one at a time, in the order of their packets. Both make pieces, and
// share the headers, and the rotation that joins pieces to words.
//
//     packets, verdicts -> kv_reply, kv_text_reply -> pieces -+-> kv_join -> replies
//                                              rows ----------+

`include "assertions.svh"

module kv_replies
  import wire_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned UserWidth = 1
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    // Packets with their verdicts: the first word for kv_reply, or each word for kv_text_reply.
    input  logic                     binary_valid_i,
    output logic                     binary_ready_o,
    input  logic                     text_valid_i,
    output logic                     text_ready_o,
    input  word_t                    packet_i,
    input  verdict_t                 verdict_i,
    input  logic     [UserWidth-1:0] user_i,
    input  logic                     row_valid_i,
    output logic                     row_ready_o,
    input  logic     [WordWidth-1:0] row_i,
    input  logic                     row_last_i,
    output logic                     valid_o,
    input  logic                     ready_i,
    output word_t                    word_o,
    output logic                     none_o,          // the request has no checksum, so the reply gets none
    output logic     [UserWidth-1:0] user_o
);
  logic is_text, none, binary_busy, binary_row_ready, text_row_ready, binary_none, text_none;
  logic first_valid, second_valid, row_piece, packet_piece;
  logic [BodyLengthWidth-1:0] binary_total, text_total;
  frame_t frame;
  piece_t binary_piece, text_piece, piece;
  logic [WordWidth-1:0] first, own, joined, data;
  logic [8*SecondBytes-1:0] second;
  logic [UserWidth-1:0] binary_user, text_user;
  // The same for all words of a packet.
  assign is_text = verdict_i.request.protocol != Binary;
  kv_frame u_frame (
      .packet_i(packet_i.data),
      .total_i (is_text ? text_total : binary_total),
      .frame_o (frame),
      .none_o  (none)
  );
  kv_reply #(
      .UserWidth(UserWidth)
  ) u_binary (
      .clk_i,
      .rst_ni,
      .valid_i       (binary_valid_i),
      .ready_o       (binary_ready_o),
      .verdict_i,
      .user_i,
      .total_o       (binary_total),
      .frame_i       (frame),
      .none_i        (none),
      .row_valid_i,
      .row_ready_o   (binary_row_ready),
      .row_last_i,
      .busy_o        (binary_busy),
      .ready_i,
      .piece_o       (binary_piece),
      .first_valid_o (first_valid),
      .first_o       (first),
      .second_valid_o(second_valid),
      .second_o      (second),
      .none_o        (binary_none),
      .user_o        (binary_user)
  );
  kv_text_reply #(
      .UserWidth(UserWidth)
  ) u_text (
      .clk_i,
      .rst_ni,
      .valid_i       (text_valid_i && !binary_busy),
      .ready_o       (text_ready_o),
      .packet_i,
      .verdict_i,
      .user_i,
      .total_o       (text_total),
      .frame_i       (frame),
      .none_i        (none),
      .row_valid_i,
      .row_ready_o   (text_row_ready),
      .row_last_i,
      .ready_i,
      .piece_o       (text_piece),
      .row_piece_o   (row_piece),
      .packet_piece_o(packet_piece),
      .own_o         (own),
      .none_o        (text_none),
      .user_o        (text_user)
  );
  `ASSERT(one_reply, !binary_piece.valid || !text_piece.valid)
  assign row_ready_o = binary_row_ready || text_row_ready;

  typedef enum logic [1:0] {
    Row    = 2'd0,
    Packet = 2'd1,
    First  = 2'd2,
    Own    = 2'd3
  } source_e;
  source_e source;
  always_comb begin
    source = Own;
    if (binary_busy ? !first_valid : row_piece) source = Row;
    else if (binary_busy) source = First;
    else if (packet_piece) source = Packet;
  end
  word_mux #(
      .Width(WordWidth)
  ) u_piece (
      .select_i(source),
      .words_i ({own, first, packet_i.data, row_i}),
      .word_o  (data)
  );
  assign piece = binary_busy ? binary_piece : text_piece;
  kv_join u_join (
      .clk_i,
      .piece_i (data),
      .rotate_i(piece.rotate),
      .fill_i  (piece.fill),
      .step_i  (piece.step),
      .emits_i (piece.valid),
      .word_o  (joined)
  );
  assign valid_o = piece.valid;
  assign none_o = binary_busy ? binary_none : text_none;
  assign user_o = binary_busy ? binary_user : text_user;
  always_comb begin
    word_o.data = joined;
    if (binary_busy && second_valid) word_o.data[8*SecondBytes-1:0] = second;
    word_o.last = piece.last;
    word_o.keep = piece.last ? first_bytes(piece.bytes) : '1;
  end
endmodule
