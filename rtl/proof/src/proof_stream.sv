// Sends the replies of hits, 64 bytes per cycle, back to back. Replaces the tip at the start of a reply with the tip at
// the time of the hit.
//
// Reads words from the memory in order, each into a slot. They may arrive in any order and leave in the order of the
// slots.

`include "assertions.svh"
`include "registers.svh"

module proof_stream
  import proof_pkg::*;
#(
    parameter int unsigned PlaceWidth = 8,
    parameter int unsigned Beats      = 16,
    parameter int unsigned TagWidth   = 16,
    // Words requested and not yet taken, a power of two. One word per cycle needs the memory's latency plus two.
    parameter int unsigned Slots      = 4,
    localparam int unsigned BeatWidth = $clog2(Beats),
    localparam int unsigned LenWidth  = BeatWidth + 7,
    localparam int unsigned SlotWidth = $clog2(Slots)
) (
    input  logic clk_i,
    input  logic rst_ni,

    input  logic                            hit_valid_i,
    output logic                            hit_ready_o,
    input  logic [          PlaceWidth-1:0] hit_place_i,
    input  logic [            LenWidth-1:0] hit_length_i,
    // Position of the last byte: its word; a bit for each of the eight groups of eight bytes in the word, up to its
    // own; and a bit for each byte in a group, likewise.
    input  logic [           BeatWidth-1:0] hit_last_i,
    input  logic                            hit_single_i,  // there is one word, or the reply is too large
    input  logic [                     7:0] hit_eights_i,
    input  logic [                     7:0] hit_bytes_i,
    input  logic                            hit_too_large_i,  // only the length is sent
    input  tip_t                            hit_tip_i,
    input  logic [            TagWidth-1:0] hit_tag_i,

    output logic                            read_valid_o,
    input  logic                            read_ready_i,
    output logic [PlaceWidth+BeatWidth-1:0] read_address_o,
    output logic [           SlotWidth-1:0] read_slot_o,
    input  logic                            data_valid_i,
    input  logic [           SlotWidth-1:0] data_slot_i,
    input  logic [                   511:0] data_i,
    output logic                            finished_o,   // a hit's data have all arrived, in the order of the hits

    output logic                            valid_o,
    input  logic                            ready_i,
    output logic [                   511:0] data_o,
    output logic [                    63:0] keep_o,
    output logic                            last_o,
    output logic [            TagWidth-1:0] tag_o,
    output logic [            LenWidth-1:0] length_o,
    output logic                            too_large_o
);
  // What is known of a word when it is requested.
  typedef struct packed {
    logic                last;
    logic                first;
    logic [63:0]         keep;
    logic [TagWidth-1:0] tag;
    logic [LenWidth-1:0] length;
    logic                too_large;
    tip_t                tip;
  } word_t;

  // Whether a word is the last one, and whether a slot is free, is computed ahead because it advances the queue of
  // hits.
  logic [BeatWidth-1:0] beat_q;
  logic first_q, last_q, room_q, asks, last, comes;
  word_t word;
  assign last = first_q ? hit_single_i : last_q;
  assign read_valid_o = hit_valid_i && room_q && !hit_too_large_i;
  assign asks = hit_valid_i && room_q && (hit_too_large_i || read_ready_i);
  assign hit_ready_o = asks && last;
  assign read_address_o = {hit_place_i, beat_q};

  // Valid bytes of the last word: those up to the length.
  logic [63:0] keep;
  for (genvar i = 0; i < 64; i++) begin : gen_keep
    assign keep[i] = hit_eights_i[i/8] && (hit_bytes_i[i%8] || (i < 56 && hit_eights_i[(i/8+1)%8]));
  end
  assign word = '{
          last: last,
          first: first_q,
          keep: last && !hit_too_large_i ? keep : '1,
          tag: hit_tag_i,
          length: hit_length_i,
          too_large: hit_too_large_i,
          tip: hit_tip_i
      };
  `FFE(beat_q, last ? '0 : beat_q + 1'b1, asks, '0)
  `FFE(first_q, last, asks, 1'b1)
  `FFNE(last_q, beat_q + 1'b1 == hit_last_i, asks)

  ////////////////////////////////////////////////////////////////////////
  // Slots, used in a ring. A slot counts as filled from the arrival of its data until it is free again.

  word_t words_q[Slots], word_q;
  logic [511:0] data_q[Slots];
  logic [Slots-1:0] came_q, ends_q;
  logic [SlotWidth-1:0] next_q, word_slot_q, coming_q, leaving_q;
  logic writes_word_q, too_large_q;
  logic [SlotWidth:0] used_q, awaited_q;
  logic out_valid, out_ready, leaves;
  word_t out;

  // A word's control data are written a cycle late, as hits come from a memory; its data never arrive earlier. Until a
  // word takes it, the slot belongs to no word.
  assign read_slot_o = next_q;
  always_ff @(posedge clk_i) begin
    word_q      <= word;
    word_slot_q <= next_q;
    if (writes_word_q) words_q[word_slot_q] <= word_q;
    if (data_valid_i) data_q[data_slot_i] <= data_i;
  end
  `FF(writes_word_q, room_q, 1'b0)
  `FF(too_large_q, asks && hit_too_large_i, 1'b0)
  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slot
    logic fills, frees;
    assign fills = (data_valid_i && data_slot_i == SlotWidth'(slot)) ||
        (too_large_q && word_slot_q == SlotWidth'(slot));
    assign frees = leaves && leaving_q == SlotWidth'(slot);
    `FFE(came_q[slot], fills, fills || frees, 1'b0)
    `FFNE(ends_q[slot], last, asks && next_q == SlotWidth'(slot))
  end
  // No word leaves before it has arrived, so a hit is reported finished no later than its last word leaves.
  assign comes = awaited_q != '0 && came_q[coming_q];
  assign finished_o = comes && ends_q[coming_q];
  `FFE(next_q, next_q + 1'b1, asks, '0)
  `FFE(coming_q, coming_q + 1'b1, comes, '0)
  `FFE(leaving_q, leaving_q + 1'b1, leaves, '0)
  `FFE(room_q, leaves || used_q != (SlotWidth + 1)'(Slots - 1), asks != leaves, 1'b1)
  `FF(used_q, used_q + (SlotWidth + 1)'(asks) - (SlotWidth + 1)'(leaves), '0)
  `FF(awaited_q, awaited_q + (SlotWidth + 1)'(asks) - (SlotWidth + 1)'(comes), '0)

  // From the slots into the output register, inserting the tip.
  logic [511:0] out_data;
  assign out = words_q[leaving_q];
  assign out_valid = came_q[leaving_q];
  assign leaves = out_valid && out_ready;
  always_comb begin
    out_data = data_q[leaving_q];
    if (out.first) out_data[$bits(tip_t)-1:0] = out.tip;
  end
  stage #(
      .Width(512 + 64 + 2 + TagWidth + LenWidth)
  ) u_out (
      .clk_i,
      .rst_ni,
      .valid_i(out_valid),
      .ready_o(out_ready),
      .data_i ({out.last, out.keep, out.tag, out.length, out.too_large, out_data}),
      .valid_o,
      .ready_i,
      .data_o ({last_o, keep_o, tag_o, length_o, too_large_o, data_o})
  );
  `ASSERT(room_is_told, room_q == (used_q != (SlotWidth + 1)'(Slots)))
  `ASSERT(last_is_told, !hit_valid_i || last == (hit_too_large_i || beat_q == hit_last_i))
  `ASSERT(slots_are_used, !out_valid || used_q != '0)
  `ASSERT(data_have_a_slot, !data_valid_i || (used_q != '0 && !came_q[data_slot_i]))
endmodule
