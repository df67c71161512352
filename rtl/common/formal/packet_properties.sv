// Properties between the two sides of a cell that passes packets at two widths, for the proofs of those cells.
//
// Tracks a byte that entered by its position among the bytes inside: it leaves after those before it, unchanged, and as
// the last of its packet if it entered as the last. The tracked byte is arbitrary, so the proof holds for all.

`include "assertions.svh"

module packet_properties #(
    parameter int unsigned InWidth = 16,
    parameter int unsigned OutWidth = 64,
    localparam int unsigned InBytes = InWidth / 8,
    localparam int unsigned OutBytes = OutWidth / 8
) (
    input logic                clk_i,
    input logic                rst_ni,
    input logic                follow_i,
    input logic [         7:0] index_i,
    input logic                valid_i,
    input logic                ready_o,
    input logic [ InWidth-1:0] data_i,
    input logic [ InBytes-1:0] keep_i,
    input logic                last_i,
    input logic                valid_o,
    input logic                ready_i,
    input logic [OutWidth-1:0] data_o,
    input logic [OutBytes-1:0] keep_o,
    input logic                last_o
);
  localparam int unsigned InWord = InWidth + InBytes + 1;
  localparam int unsigned OutWord = OutWidth + OutBytes + 1;

  logic [7:0] count_q, ahead_q, entering, leaving, bytes_o;
  logic [7:0] followed_q;
  logic following_q, done_q, ended_q, held_q, stalled_q;
  logic [InWord-1:0] held_word_q;
  logic [OutWord-1:0] stalled_word_q;

  always_comb begin
    entering = '0;
    bytes_o  = '0;
    for (int unsigned at = 0; at < InBytes; at++) entering += 8'(valid_i && ready_o && keep_i[at]);
    for (int unsigned at = 0; at < OutBytes; at++) bytes_o += 8'(keep_o[at]);
    leaving = valid_o && ready_i ? bytes_o : '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      ahead_q <= '0;
      following_q <= 1'b0;
      done_q <= 1'b0;
      held_q <= 1'b0;
      stalled_q <= 1'b0;
    end else begin
      count_q <= count_q + entering - leaving;
      if (!following_q && !done_q && follow_i && index_i < entering) begin
        following_q <= 1'b1;
        ahead_q <= count_q - leaving + index_i;
        followed_q <= 8'(data_i >> (8 * index_i));
        ended_q <= last_i && index_i + 8'd1 == entering;
      end else if (following_q) begin
        ahead_q <= ahead_q - leaving;
        if (ahead_q < leaving) begin
          following_q <= 1'b0;
          done_q <= 1'b1;
        end
      end
      held_q <= valid_i && !ready_o;
      held_word_q <= {last_i, keep_i, data_i};
      stalled_q <= valid_o && !ready_i;
      stalled_word_q <= {last_o, keep_o, data_o};
    end
  end

  // Packets are as in rtl/README.md, and an offered word is stable until accepted: assumed of the input, asserted of
  // the output.
  `ASSUME(input_is_stable, !held_q || (valid_i && {last_i, keep_i, data_i} == held_word_q))
  `ASSUME(input_keeps_bytes, keep_i[0] && (keep_i & (keep_i + 1'b1)) == '0 && (last_i || &keep_i))
  `ASSERT(output_is_stable, !stalled_q || (valid_o && {last_o, keep_o, data_o} == stalled_word_q))
  `ASSERT(output_keeps_bytes, !valid_o || (keep_o[0] && (keep_o & (keep_o + 1'b1)) == '0 && (last_o || &keep_o)))
  `ASSERT(nothing_is_made, !valid_o || bytes_o <= count_q)
  `ASSERT(order_and_content, !(following_q && valid_o && ahead_q < bytes_o) ||
          8'(data_o >> (8 * ahead_q)) == followed_q)
  `ASSERT(ends_where_it_ended, !(following_q && valid_o && ahead_q + 8'd1 == bytes_o) || last_o == ended_q)
  `ASSERT(followed_is_inside, !following_q || ahead_q < count_q)
  `COVER(a_whole_word_leaves, 32'(leaving) == OutBytes && !last_o)
  `COVER(the_followed_ends_its_packet, following_q && ended_q && ahead_q + 8'd1 == leaving && last_o)
  `COVER(what_stalled_leaves, stalled_q && leaving != '0)
endmodule
