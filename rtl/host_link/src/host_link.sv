// An end of the link: receiver, sender, and a buffer for packets of the other side. Without a session all frames pass,
// and packets for the other side are dropped.
//
// A session begins between two frames of each direction, so that no frame is cut. What the last session had not
// delivered is forgotten.

`include "assertions.svh"
`include "registers.svh"

module host_link
  import host_link_pkg::*;
#(
    // See host_link_tx.
    parameter int unsigned Segments = Window,
    parameter int unsigned Timeout  = 62500,
    // Words of packets that wait to leave: four segments.
    parameter int unsigned Depth    = 256
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [ 47:0] address_i,
    // Begins a session with a node; 0 ends the last one.
    input  logic         open_i,
    input  logic [ 31:0] open_session_i,
    input  logic [ 47:0] open_peer_i,
    output logic [ 31:0] session_o,
    // Frames from the cable, without FCS.
    input  logic         rx_valid_i,
    output logic         rx_ready_o,
    input  logic [127:0] rx_data_i,
    input  logic [ 15:0] rx_keep_i,
    input  logic         rx_last_i,
    // Those that are not of the link.
    output logic         other_valid_o,
    input  logic         other_ready_i,
    output logic [127:0] other_data_o,
    output logic [ 15:0] other_keep_o,
    output logic         other_last_o,
    // Frames to the cable.
    output logic         tx_valid_o,
    input  logic         tx_ready_i,
    output logic [127:0] tx_data_o,
    output logic [ 15:0] tx_keep_o,
    output logic         tx_last_o,
    // Packets for the other side, and from it; `meta` is the same for all words of a packet.
    input  logic         valid_i,
    output logic         ready_o,
    input  logic [127:0] data_i,
    input  logic [ 15:0] keep_i,
    input  logic         last_i,
    input  logic [ 31:0] meta_i,
    output logic         valid_o,
    input  logic         ready_i,
    output logic [127:0] data_o,
    output logic [ 15:0] keep_o,
    output logic         last_o,
    output logic [ 31:0] meta_o,
    // A packet was dropped, as there is no session; the kept segments are sent again.
    output logic         dropped_o,
    output logic         replays_o
);
  `PARAMETER_CHECK(depth, Depth > SegmentWords, "host_link: Depth must be more than the words of a segment")

  ////////////////////////////////////////////////////////////////////////
  // The session.

  logic pending_q, begins, rx_inside_q, tx_inside_q, in_session, reset_q, link_rst_n;
  logic [31:0] next_session_q;
  logic [47:0] next_peer_q, peer_q;
  assign begins = pending_q && !rx_inside_q && !tx_inside_q;
  `FF(pending_q, open_i || (pending_q && !begins), 1'b0)
  `FFNE(next_session_q, open_session_i, open_i)
  `FFNE(next_peer_q, open_peer_i, open_i)
  `FFE(session_o, next_session_q, begins, '0)
  `FFNE(peer_q, next_peer_q, begins)
  `FFE(rx_inside_q, !rx_last_i, rx_valid_i && rx_ready_o, 1'b0)
  `FFE(tx_inside_q, !tx_last_o, tx_valid_o && tx_ready_i, 1'b0)
  assign in_session = session_o != '0;
  // Until the first session there is nothing to forget.
  `FF(reset_q, begins, 1'b1)
  assign link_rst_n = rst_ni && !reset_q;

  // No frame begins while a session waits to begin, and in the cycle of its reset.
  logic holds;
  assign holds = pending_q || reset_q;

  ////////////////////////////////////////////////////////////////////////
  // Receiver, and the packets that it delivered.

  logic link_valid, link_ready, passed_valid;
  logic delivered, delivered_last, peer_expects_valid, arrived, room, buffer_ready;
  logic [127:0] delivered_data;
  logic [ 15:0] delivered_keep;
  logic [ 31:0] delivered_meta;
  sequence_t peer_expects, expected;
  logic enters;
  assign enters = !holds || rx_inside_q;
  assign link_valid = rx_valid_i && enters && in_session;
  assign rx_ready_o = enters && (in_session ? link_ready : other_ready_i);
  assign other_valid_o = in_session ? passed_valid : rx_valid_i && enters;
  host_link_rx u_rx (
      .clk_i,
      .rst_ni              (link_rst_n),
      .session_i           (session_o),
      .address_i,
      .valid_i             (link_valid),
      .ready_o             (link_ready),
      .data_i              (rx_data_i),
      .keep_i              (rx_keep_i),
      .last_i              (rx_last_i),
      .other_valid_o       (passed_valid),
      .other_ready_i,
      .other_data_o,
      .other_keep_o,
      .other_last_o,
      .room_i              (room),
      .valid_o             (delivered),
      .data_o              (delivered_data),
      .keep_o              (delivered_keep),
      .last_o              (delivered_last),
      .meta_o              (delivered_meta),
      .peer_expects_valid_o(peer_expects_valid),
      .peer_expects_o      (peer_expects),
      .expected_o          (expected),
      .arrived_o           (arrived)
  );
  ram_fifo #(
      .Width(128 + 16 + 1 + 32),
      .Depth(Depth)
  ) u_buffer (
      .clk_i,
      .rst_ni (link_rst_n),
      .valid_i(delivered),
      .ready_o(buffer_ready),
      .data_i ({delivered_meta, delivered_last, delivered_keep, delivered_data}),
      .valid_o,
      .ready_i,
      .data_o ({meta_o, last_o, keep_o, data_o})
  );
  // Words in the buffer. One may be on its way there when a segment begins.
  logic [$clog2(Depth + 1)-1:0] words_q;
  always_ff @(posedge clk_i or negedge link_rst_n) begin
    if (!link_rst_n) words_q <= '0;
    else words_q <= words_q + $bits(words_q)'(delivered) - $bits(words_q)'(valid_o && ready_i);
  end
  assign room = 32'(words_q) + SegmentWords + 1 <= Depth;

  ////////////////////////////////////////////////////////////////////////
  // Sender.

  logic send_ready, frame_valid;
  assign ready_o = in_session ? send_ready && !holds : !holds;
  assign dropped_o = valid_i && ready_o && last_i && !in_session;
  assign tx_valid_o = frame_valid && (!holds || tx_inside_q);
  host_link_tx #(
      .Segments(Segments),
      .Timeout (Timeout)
  ) u_tx (
      .clk_i,
      .rst_ni              (link_rst_n),
      .session_i           (session_o),
      .address_i,
      .peer_address_i      (peer_q),
      .valid_i             (valid_i && in_session && !holds),
      .ready_o             (send_ready),
      .data_i,
      .keep_i,
      .last_i,
      .meta_i,
      .peer_expects_valid_i(peer_expects_valid),
      .peer_expects_i      (peer_expects),
      .expected_i          (expected),
      .arrived_i           (arrived),
      .valid_o             (frame_valid),
      .ready_i             (tx_ready_i && tx_valid_o),
      .data_o              (tx_data_o),
      .keep_o              (tx_keep_o),
      .last_o              (tx_last_o),
      .replays_o
  );

  `ASSERT(delivered_words_have_room, !delivered || buffer_ready)
endmodule
