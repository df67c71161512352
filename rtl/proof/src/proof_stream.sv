// Sends replies that are hits, 64 bytes a cycle, one after the other without a gap. The tip at the start of a reply is replaced by
// that of the moment in which it was a hit.

`include "assertions.svh"
`include "registers.svh"

module proof_stream
  import proof_pkg::*;
#(
    parameter int unsigned PlaceWidth = 8,
    parameter int unsigned Beats      = 16,
    parameter int unsigned TagWidth   = 16,
    localparam int unsigned BeatWidth = $clog2(Beats),
    localparam int unsigned LenWidth  = BeatWidth + 7
) (
    input  logic clk_i,
    input  logic rst_ni,

    input  logic                            hit_valid_i,
    output logic                            hit_ready_o,
    input  logic [          PlaceWidth-1:0] hit_place_i,
    input  logic [            LenWidth-1:0] hit_length_i,
    input  logic                            hit_too_large_i,  // only the length is sent
    input  tip_t                            hit_tip_i,
    input  logic [            TagWidth-1:0] hit_tag_i,

    output logic [PlaceWidth+BeatWidth-1:0] read_address_o,
    input  logic [                   511:0] read_data_i,  // a cycle later
    output logic                            finished_o,   // the last of a hit has been read

    output logic                            valid_o,
    input  logic                            ready_i,
    output logic [                   511:0] data_o,
    output logic [                    63:0] keep_o,
    output logic                            last_o,
    output logic [            TagWidth-1:0] tag_o,
    output logic [            LenWidth-1:0] length_o,
    output logic                            too_large_o
);

  // Words read and not yet taken: one on its way from the memory, and those in the queue.
  localparam int unsigned Depth = 4;

  typedef struct packed {
    logic                last;
    logic                first;
    logic [63:0]         keep;
    logic [TagWidth-1:0] tag;
    logic [LenWidth-1:0] length;
    logic                too_large;
    tip_t                tip;
  } word_t;

  logic [BeatWidth-1:0] beat_q;
  logic read, last, pending_q;
  word_t word, word_q;
  logic [BeatWidth+5:0] before_end;  // the last byte's number
  logic [$clog2(Depth+1)-1:0] count;

  assign before_end = (BeatWidth + 6)'(hit_length_i - 1'b1);
  assign last = hit_too_large_i || beat_q == before_end[6+:BeatWidth];
  assign read = hit_valid_i && 32'(count) + 32'(pending_q) < Depth;
  assign hit_ready_o = read && last;
  assign finished_o  = hit_ready_o;
  assign read_address_o = {hit_place_i, beat_q};

  // Bytes of the last word: those up to the length.
  assign word = '{
      last: last,
      first: beat_q == '0,
      keep: last && !hit_too_large_i ? ~64'd0 >> (6'd63 - before_end[5:0]) : '1,
      tag: hit_tag_i,
      length: hit_length_i,
      too_large: hit_too_large_i,
      tip: hit_tip_i
  };
  `FFE(beat_q, last ? '0 : beat_q + 1'b1, read, '0)
  `FF(pending_q, read, 1'b0)
  `FFN(word_q, word)

  logic [511:0] data;
  always_comb begin
    data = word_q.too_large ? '0 : read_data_i;
    if (word_q.first && !word_q.too_large) data[$bits(tip_t)-1:0] = word_q.tip;
  end

  logic queue_ready;
  fifo #(
      .Width(512 + 64 + 1 + TagWidth + LenWidth + 1),
      .Depth(Depth)
  ) u_queue (
      .clk_i,
      .rst_ni,
      .valid_i(pending_q),
      .ready_o(queue_ready),
      .data_i ({data, word_q.keep, word_q.last, word_q.tag, word_q.length, word_q.too_large}),
      .valid_o,
      .ready_i,
      .data_o ({data_o, keep_o, last_o, tag_o, length_o, too_large_o}),
      .count_o(count)
  );
  `ASSERT(words_have_room, !pending_q || queue_ready)

endmodule
