// Receives what host_link_tx of the other side sends, out of a stream of correct frames. A segment with the expected
// number leaves as words of a packet; others are dropped, and are sent again. All other frames pass unchanged.
//
// A segment is dropped as well unless room_i promises room for all of it: waiting would hold up the next frames, and
// with them the acknowledgements that release this side's segments.

`include "assertions.svh"
`include "registers.svh"

module host_link_rx
  import host_link_pkg::*;
(
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic      [31:0] session_i,
    input  logic      [47:0] address_i,
    // Frames without FCS.
    input  logic             valid_i,
    output logic             ready_o,
    input  logic     [127:0] data_i,
    input  logic      [15:0] keep_i,
    input  logic             last_i,
    // Frames of others.
    output logic             other_valid_o,
    input  logic             other_ready_i,
    output logic     [127:0] other_data_o,
    output logic      [15:0] other_keep_o,
    output logic             other_last_o,
    // Packets, without back-pressure: room_i holds for a segment that begins.
    input  logic             room_i,
    output logic             valid_o,
    output logic     [127:0] data_o,
    output logic      [15:0] keep_o,
    output logic             last_o,
    output logic      [31:0] meta_o,
    // See host_link_tx.
    output logic             peer_expects_valid_o,
    output sequence_t        peer_expects_o,
    output sequence_t        expected_o,
    output logic             arrived_o
);
  typedef enum logic [1:0] {
    First,
    Header,
    Payload,
    // The rest of a frame: to others, or dropped.
    Rest
  } state_e;
  state_e state_q, state_d;

  address_word_t addresses;
  link_word_t    header;
  assign addresses = swap_bytes(data_i);
  assign header = swap_bytes(data_i);

  logic is_link, passes_q, enters, in_session, accepts, is_whole;
  assign is_link = addresses.ether_type == EtherType && addresses.magic == LinkMagic &&
                   addresses.destination == address_i;
  assign in_session = header.session == session_i;
  // A length that a segment cannot have comes from another program.
  assign is_whole = header.length != '0 && header.length <= 16'(SegmentBytes) && !last_i;
  assign accepts = in_session && header.has_data && is_whole && header.number == expected_o && room_i;

  logic passes;
  assign passes = state_q == First ? !is_link : state_q == Rest && passes_q;
  assign ready_o = !passes || other_ready_i;
  assign enters = valid_i && ready_o;
  assign other_valid_o = valid_i && passes;
  assign other_data_o = data_i;
  assign other_keep_o = keep_i;
  assign other_last_o = last_i;

  link_word_t header_q;
  logic [15:0] left_q;
  logic segment_ends;
  // The payload's last word; what follows pads the frame.
  assign segment_ends = left_q <= 16'(WordBytes) || last_i;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      First:   if (!last_i) state_d = is_link ? Header : Rest;
      Header:  state_d = last_i ? First : accepts ? Payload : Rest;
      Payload: if (segment_ends) state_d = last_i ? First : Rest;
      default: if (last_i) state_d = First;
    endcase
  end
  `FFE(state_q, state_d, enters, First)
  `FFE(passes_q, passes, enters, 1'b0)
  `FFNE(header_q, header, enters && state_q == Header)
  `FFNE(left_q, state_q == Header ? header.length : left_q - 16'(WordBytes), enters)

  logic delivers;
  assign delivers = enters && state_q == Payload;
  `FFE(expected_o, expected_o + 1'b1, delivers && segment_ends, '0)
  `FF(valid_o, delivers, 1'b0)
  `FFN(data_o, data_i)
  `FFN(keep_o, left_q < 16'(WordBytes) ? ~(16'hffff << left_q[3:0]) : '1)
  `FFN(last_o, segment_ends && header_q.last)
  `FFN(meta_o, header_q.meta)

  // A segment that was dropped is acknowledged, too: the answer to the last one may have been lost.
  `FF(peer_expects_valid_o, enters && state_q == Header && in_session, 1'b0)
  `FFN(peer_expects_o, header.expected)
  // A segment of this session.
  logic has_data_q;
  `FFE(has_data_q, in_session && header.has_data, enters && state_q == Header, 1'b0)
  // At the frame's end, when expected_o counts its segment.
  logic is_segment;
  always_comb begin
    unique case (state_q)
      First:   is_segment = 1'b0;
      Header:  is_segment = in_session && header.has_data;
      default: is_segment = has_data_q && !passes;
    endcase
  end
  `FF(arrived_o, enters && last_i && is_segment, 1'b0)

  logic unused_header;
  assign unused_header = ^header_q ^ ^addresses.source;
endmodule
