// Second stage for proof frames: turns a request into a lookup. Data needed later are stored under a slot, which is the
// lookup's tag.
//
// The selector has checked that the request is well formed, so everything after its first 90 bytes, headers included,
// is zero.

`include "assertions.svh"
`include "registers.svh"

module proof_extractor
  import wire_pkg::*;
  import proof_pkg::*;
#(
    parameter int unsigned Slots = 64,
    parameter int unsigned PortWidth = 3,
    parameter int unsigned LenWidth = 11,
    localparam int unsigned SlotWidth = $clog2(Slots)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  word_t                word_i,
    input  logic [PortWidth-1:0] port_i,
    output logic                 lookup_valid_o,
    input  logic                 lookup_ready_i,
    output key_t                 lookup_key_o,
    output logic [ LenWidth-1:0] lookup_room_o,
    output logic [SlotWidth-1:0] lookup_slot_o,
    // Data to store under a slot. The slot belongs to nobody until a request takes it.
    output logic                 keep_o,
    output logic [SlotWidth-1:0] slot_o,
    output request_t             request_o,
    output logic [PortWidth-1:0] request_port_o,
    output logic [         10:0] request_length_o,
    // Freed slots: 0 after a reply, 1 after a miss.
    input  logic [          1:0]                free_i,
    input  logic [          1:0][SlotWidth-1:0] free_slot_i
);
  `PARAMETER_CHECK(slots, Slots >= 2 && Slots == 2 ** SlotWidth,
                   "proof_extractor: Slots must be a power of two, at least 2")

  localparam int unsigned ChainByte = 50;
  localparam int unsigned QueryByte = 51;
  localparam int unsigned KeyByte = 58;
  localparam int unsigned LengthByte = 38;
  // Bytes of the UDP header and the request, which are not available to a reply's body.
  localparam logic [15:0] Fixed = 16'd56;

  // The first word is stored, the second makes the lookup, all others are zeros.
  logic [1:0] position_q;
  logic [WordWidth-1:0] first_q;
  logic [15:0] length;
  logic asks, accept, looks_up;
  assign asks = position_q == 2'd1;
  assign accept = valid_i && ready_o;
  `FFE(position_q, word_i.last ? 2'd0 : position_q == 2'd2 ? 2'd2 : position_q + 2'd1, accept, '0)
  `FFNE(first_q, word_i.data, accept && position_q == 2'd0)

  proof_numbers #(
      .Count  (Slots),
      .Returns(2)
  ) u_slots (
      .clk_i,
      .rst_ni,
      .valid_o   (keep_o),
      .number_o  (slot_o),
      .taken_i   (looks_up),
      .return_i  (free_i),
      .returned_i(free_slot_i)
  );

  // A request has at least two words, so a register that must be free before it is loaded again does not stall. The
  // register also bridges the distance to the cache.
  key_t key;
  assign ready_o = !asks || (!lookup_valid_o && keep_o);
  assign looks_up = accept && asks;
  assign key = {
    word_i.data[0+:RequestBits-WordWidth],
    first_q[WordWidth-1:8*KeyByte],
    first_q[8*ChainByte+:4],
    first_q[8*QueryByte+:4]
  };
  assign length = {first_q[8*LengthByte+:8], first_q[8*LengthByte+8+:8]};
  `FF(lookup_valid_o, looks_up || (lookup_valid_o && !lookup_ready_i), 1'b0)
  `FFNE(lookup_key_o, key, !lookup_valid_o)
  `FFNE(lookup_room_o, LenWidth'(length - Fixed), !lookup_valid_o)
  `FFNE(lookup_slot_o, slot_o, !lookup_valid_o)
  // The sum, as reply_checksum computes it.
  logic [1:0][15:0] three, sum_q;
  packet_t packet;
  assign packet = swap_bytes(word_i.data);
  assign three  = save(~packet.ipv4.checksum, ~packet.ipv4.length, ~{packet.ipv4.time_to_live, 8'b0});
  `FFNE(sum_q, save(three[1], three[0], {TimeToLive, 8'b0}), accept && position_q == 2'd0)
  assign request_o = '{
          sum: sum_q,
          head: {word_i.data[0+:RequestBits-WordWidth], first_q}
      };
  assign request_length_o = 11'(length + 16'd34);
  assign request_port_o = port_i;

  `ASSERT(requests_have_two_words, !(accept && position_q == 2'd0) || !word_i.last)
endmodule
