// Sends packets over a cable that may lose frames: cuts them into numbered segments, and keeps each until the other
// side expects a later one. If nothing is acknowledged for Timeout cycles, it sends again all that it keeps
// (go-back-n).
//
// Acknowledgements leave with segments, or alone if no segment is due.

`include "assertions.svh"
`include "registers.svh"

module host_link_tx
  import host_link_pkg::*;
#(
    // Segments kept, each in 1 KiB of block RAM: 8 cover 65 us at a gigabit, a node's time to answer.
    parameter int unsigned Segments = Window,
    // 1 ms at 62.5 MHz: far above that time, so that a late answer is not taken for a loss.
    parameter int unsigned Timeout  = 62500
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // Constant while packets are in flight.
    input  logic      [31:0] session_i,
    input  logic      [47:0] address_i,
    input  logic      [47:0] peer_address_i,
    // Packets; `meta` is the same for all words of a packet.
    input  logic             valid_i,
    output logic             ready_o,
    input  logic     [127:0] data_i,
    input  logic      [15:0] keep_i,
    input  logic             last_i,
    input  logic      [31:0] meta_i,
    // From host_link_rx: the number that the other side expects, and the one that this side expects. A segment arrived,
    // and asks for an acknowledgement.
    input  logic             peer_expects_valid_i,
    input  sequence_t        peer_expects_i,
    input  sequence_t        expected_i,
    input  logic             arrived_i,
    // Frames without FCS.
    output logic             valid_o,
    input  logic             ready_i,
    output logic     [127:0] data_o,
    output logic      [15:0] keep_o,
    output logic             last_o,
    // The kept segments are sent again.
    output logic             replays_o
);
  `PARAMETER_CHECK(segments, Segments >= 2 && Segments == 2 ** $clog2(Segments) && Segments <= 1024,
                   "host_link_tx: Segments must be a power of two from 2 to 1024")
  `PARAMETER_CHECK(timeout, Timeout >= 2, "host_link_tx: Timeout must be at least 2")

  localparam int unsigned SlotWidth = $clog2(Segments);
  localparam int unsigned PlaceWidth = $clog2(SegmentWords);
  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [PlaceWidth-1:0] place_t;

  typedef struct packed {
    logic first;
    logic last;
    logic [15:0] length;
    logic [31:0] meta;
  } segment_t;
  segment_t [Segments-1:0] segments_q;

  ////////////////////////////////////////////////////////////////////////
  // Packets in: numbers of the oldest kept segment, the next one to send, the one after all that were sent, and the one
  // being filled.

  sequence_t kept_q, send_q, send_d, sent_q, fill_q;
  place_t fill_place_q;
  logic first_q, enters, completes;
  logic [4:0] kept_bytes;
  assign ready_o = fill_q - kept_q != sequence_t'(Segments);
  assign enters = valid_i && ready_o;
  assign completes = enters && (last_i || fill_place_q == place_t'(SegmentWords - 1));
  assign kept_bytes = 5'($countones(keep_i));
  `FFE(fill_q, fill_q + 1'b1, completes, '0)
  `FFE(fill_place_q, completes ? '0 : fill_place_q + 1'b1, enters, '0)
  `FFE(first_q, last_i, completes, 1'b1)
  for (genvar slot = 0; slot < Segments; slot++) begin : gen_segment
    `FFNE(
        segments_q[slot], (
        '{first: first_q, last: last_i, length: 16'(WordBytes) * 16'(fill_place_q) + 16'(kept_bytes), meta: meta_i}
        ), completes && fill_q[SlotWidth-1:0] == slot_t'(slot))
  end

  ////////////////////////////////////////////////////////////////////////
  // Acknowledgements. One of a segment that was never sent belongs to another session, and is ignored.

  logic advances, expires, replays;
  sequence_t newly, outstanding;
  assign newly = peer_expects_i - kept_q;
  assign outstanding = sent_q - kept_q;
  assign advances = peer_expects_valid_i && newly != '0 && newly <= outstanding;
  `FFE(kept_q, peer_expects_i, advances, '0)

  logic [$clog2(Timeout)-1:0] left_q;
  assign expires = left_q == '0;
  `FF(left_q, advances || replays || outstanding == '0 ? $bits(left_q)'(Timeout - 1) : expires ? '0 : left_q - 1'b1, '1)

  ////////////////////////////////////////////////////////////////////////
  // Frames out: the two header words, then the segment.

  typedef enum logic [1:0] {
    Idle,
    Address,
    Header,
    Payload
  } state_e;
  state_e state_q, state_d;
  logic has_data_q, acknowledge_q, starts, sends, moves, payload_ends;
  place_t place_q, last_place;
  segment_t  segment_q;
  sequence_t number_q;
  // A word leaves, or the output is free.
  assign moves = !valid_o || ready_i;
  // A segment that was acknowledged since a replay began need not be sent.
  assign sends = send_q != fill_q;
  assign replays = state_q == Idle && expires && outstanding != '0;
  assign starts = state_q == Idle && !replays && (sends || acknowledge_q) && moves;
  assign last_place = place_t'((segment_q.length - 16'd1) >> $clog2(WordBytes));
  assign payload_ends = place_q == last_place;
  assign replays_o = replays;

  sequence_t ahead;
  assign ahead = send_q - kept_q;
  always_comb begin
    send_d = send_q;
    if (replays) send_d = kept_q;
    else if (starts && sends) send_d = send_q + 1'b1;
    // The other side has it already.
    if (advances && newly > send_d - kept_q) send_d = peer_expects_i;
  end
  `FF(send_q, send_d, '0)
  `FFE(sent_q, send_q + 1'b1, starts && sends && ahead == outstanding, '0)
  `FF(acknowledge_q, arrived_i || (acknowledge_q && !starts), 1'b0)
  `FFNE(has_data_q, sends, starts)
  `FFNE(number_q, send_q, starts)
  `FFNE(segment_q, segments_q[send_q[SlotWidth-1:0]], starts)

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (starts) state_d = Address;
      Address: if (moves) state_d = Header;
      Header: if (moves) state_d = has_data_q ? Payload : Idle;
      default: if (moves && payload_ends) state_d = Idle;
    endcase
  end
  `FF(state_q, state_d, Idle)
  `FFE(place_q, state_q == Payload ? place_q + 1'b1 : '0, moves, '0)

  // The word of the next cycle is read in this one.
  logic [127:0] stored;
  place_t read_place;
  assign read_place = state_q == Payload ? place_q + 1'b1 : '0;
  ram_1r1w #(
      .Width(128),
      .Depth(Segments * SegmentWords)
  ) u_segments (
      .clk_i,
      .write_i        (enters),
      .write_address_i({fill_q[SlotWidth-1:0], fill_place_q}),
      .write_data_i   (data_i),
      .read_i         (moves),
      .read_address_i ({number_q[SlotWidth-1:0], read_place}),
      .read_data_o    (stored)
  );

  link_word_t header;
  assign header = '{
          session: session_i,
          reserved: '0,
          has_data: has_data_q,
          first: has_data_q && segment_q.first,
          last: has_data_q && segment_q.last,
          length: has_data_q ? segment_q.length : '0,
          number: number_q,
          expected: expected_i,
          meta: has_data_q ? segment_q.meta : '0
      };
  address_word_t addresses;
  assign addresses = '{destination: peer_address_i, source: address_i, ether_type: EtherType, magic: LinkMagic};
  logic [127:0] word;
  logic word_last;
  logic [15:0] word_keep;
  always_comb begin
    word = swap_bytes(addresses);
    word_last = 1'b0;
    word_keep = '1;
    unique case (state_q)
      Header: begin
        word = swap_bytes(header);
        word_last = !has_data_q;
      end
      Payload: begin
        word = stored;
        word_last = payload_ends;
        if (payload_ends && segment_q.length[3:0] != '0) word_keep = ~(16'hffff << segment_q.length[3:0]);
      end
      default: ;
    endcase
  end
  `FFE(valid_o, state_q != Idle, moves, 1'b0)
  `FFNE(data_o, word, moves)
  `FFNE(keep_o, word_keep, moves)
  `FFNE(last_o, word_last, moves)

  `ASSERT(numbers_are_in_order, outstanding <= fill_q - kept_q && ahead <= outstanding)
  `ASSERT(segments_fit, fill_q - kept_q <= sequence_t'(Segments))
endmodule
