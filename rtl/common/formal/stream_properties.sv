// Properties between the two sides of a queue of up to `Depth` words, for the proofs of the stream cells.
//
// Tracks a word that entered by its position in the queue: it leaves after those before it, unchanged. The tracked word
// is arbitrary, so the proof holds for all.

`include "assertions.svh"

module stream_properties #(
    parameter int unsigned Width = 4,
    parameter int unsigned Depth = 2,
    parameter bit          Pass  = 1'b0,  // a word may leave in the cycle in which it enters
    parameter bit          Late  = 1'b0   // a word may take longer than a cycle to appear
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             follow_i,
    input logic             valid_i,
    input logic             ready_o,
    input logic [Width-1:0] data_i,
    input logic             valid_o,
    input logic             ready_i,
    input logic [Width-1:0] data_o
);
  logic [7:0] count_q, ahead_q;
  logic following_q, done_q, held_q, stalled_q;
  logic [Width-1:0] followed_q, held_data_q, stalled_data_q;
  logic push, pop, offered, passes;

  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;
  // A word is available at the output; it may be the one that enters.
  assign offered = count_q != '0 || (Pass && valid_i);
  assign passes = count_q == '0 && push && pop;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      ahead_q <= '0;
      following_q <= 1'b0;
      done_q <= 1'b0;
      held_q <= 1'b0;
      stalled_q <= 1'b0;
    end else begin
      count_q <= count_q + 8'(push) - 8'(pop);
      if (!following_q && !done_q && push && !passes && follow_i) begin
        following_q <= 1'b1;
        ahead_q <= count_q - 8'(pop);
        followed_q <= data_i;
      end else if (following_q && pop) begin
        ahead_q <= ahead_q - 8'd1;
        if (ahead_q == '0) begin
          following_q <= 1'b0;
          done_q <= 1'b1;
        end
      end
      held_q <= valid_i && !ready_o;
      held_data_q <= data_i;
      stalled_q <= valid_o && !ready_i;
      stalled_data_q <= data_o;
    end
  end

  // An offered word is stable until accepted: assumed of the input, asserted of the output.
  `ASSUME(input_is_stable, !held_q || (valid_i && data_i == held_data_q))
  `ASSERT(output_is_stable, !stalled_q || (valid_o && data_o == stalled_data_q))
  `ASSERT(nothing_is_made, !valid_o || offered)
  `ASSERT(nothing_is_kept, Late || valid_o || !offered)
  `ASSERT(what_passes_is_the_same, !passes || data_o == data_i)
  `ASSERT(no_overflow, count_q <= 8'(Depth))
  `ASSERT(order_and_content, !(following_q && ahead_q == '0 && valid_o) || data_o == followed_q)
  `ASSERT(followed_is_inside, !following_q || ahead_q < count_q)
  `COVER(the_queue_is_full, count_q == 8'(Depth))
  `COVER(the_followed_leaves, following_q && ahead_q == '0 && pop && followed_q != '0)
  `COVER(what_stalled_leaves, stalled_q && pop)
  if (Depth > 1) begin : gen_several
    `COVER(the_followed_was_behind_others, following_q && 32'(ahead_q) == Depth - 1)
  end
  if (Pass) begin : gen_pass
    `COVER(a_word_passes, passes)
  end
endmodule
