// Proof of frame_fifo against a shifting queue: words leave unchanged and in order, only those of whole and correct
// frames, and without a pause within a frame; the output is stable; with drop_i nothing stalls, and a dropped frame
// leaves no trace.

`include "assertions.svh"

module frame_fifo_proof #(
    parameter int unsigned Depth = 4
) (
    input logic clk_i,
    input logic rst_ni,
    input logic drop_i,
    input logic valid_i,
    input logic last_i,
    input logic bad_i,
    input logic bit_i,
    input logic ready_i
);
  `PROOF_RESET

  logic ready_o, valid_o, last_o, keep_o, dropped_o, unused_o;
  logic [7:0] data_i, data_o;
  assign data_i   = {7'b0, bit_i};
  assign unused_o = keep_o ^ (^data_o[7:1]);

  frame_fifo #(
      .DataWidth(8),
      .Depth    (Depth)
  ) u_frames (
      .keep_i(1'b1),
      .*
  );

  // Words in the queue and its three registers, the oldest lowest: {last, bit}. Their number, that of words in whole
  // frames, and that of words that have left the memory.
  localparam int unsigned Words = Depth + 3;
  logic [Words-1:0][1:0] model_q, model_d;
  logic [7:0] count_q, count_d, whole_q, whole_d, out;
  logic skips_q, skips_d, is_full, refuses, is_told, is_waiting;
  assign is_told    = u_frames.told_q;
  assign is_waiting = u_frames.u_out.waiting_q;
  assign out        = 8'(valid_o) + 8'(is_waiting) + 8'(is_told);
  assign is_full    = count_q - out == 8'(Depth);
  assign refuses    = skips_q || (is_full && (drop_i || whole_q == out));
  always_comb begin
    model_d = model_q;
    count_d = count_q;
    whole_d = whole_q;
    skips_d = skips_q;
    if (valid_i && ready_o) begin
      if (refuses) begin
        skips_d = !last_i;
        count_d = whole_q;
      end else begin
        model_d[count_q[$clog2(Words)-1:0]] = {last_i, bit_i};
        count_d = last_i && bad_i ? whole_q : count_q + 8'd1;
        if (last_i) whole_d = count_d;
      end
    end
    if (valid_o && ready_i) begin
      model_d = {2'b0, model_d[Words-1:1]};
      count_d = count_d - 8'd1;
      whole_d = whole_d - 8'd1;
    end
  end

  // Inside a frame that is leaving; an offered word not accepted.
  logic inside_q, stalled_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {model_q, count_q, whole_q, skips_q, inside_q, stalled_q} <= '0;
    end else begin
      model_q   <= model_d;
      count_q   <= count_d;
      whole_q   <= whole_d;
      skips_q   <= skips_d;
      stalled_q <= valid_o && !ready_i;
      if (valid_o && ready_i) inside_q <= !last_o;
    end
  end

  `ASSERT(words_leave_as_they_came, !valid_o || (whole_q != '0 && {last_o, data_o[0]} == model_q[0]))
  `ASSERT(frames_have_no_pause, !inside_q || valid_o)
  `ASSERT(output_is_stable, !stalled_q || valid_o)
  `ASSERT(whole_frames_leave, whole_q == '0 || valid_o || is_told || u_frames.pop)
  `ASSERT(dropping_never_stalls, !drop_i || ready_o)
  `ASSERT(a_full_queue_moves, ready_o || whole_q != '0)
  `ASSERT(dropped_frames_are_reported, dropped_o == (valid_i && ready_o && refuses && last_i && !bad_i))

  `COVER(a_frame_leaves, inside_q && valid_o && ready_i && last_o)
  `COVER(a_bad_frame_is_dropped, valid_i && ready_o && last_i && bad_i && whole_q != '0 && count_q > whole_q)
  `COVER(a_long_frame_is_dropped, dropped_o && !drop_i)
  `COVER(a_frame_without_room_is_dropped, dropped_o && drop_i && whole_q != '0)

  // Invariants that link the queue to the model.
  logic [$clog2(Depth):0] words, whole_words;
  assign words = u_frames.write_q - u_frames.read_q;
  assign whole_words = u_frames.begin_q - u_frames.read_q;
  logic agrees;
  always_comb begin
    agrees = u_frames.dropping_q == skips_q && (!skips_q || count_q == whole_q);
    agrees &= out <= whole_q && whole_q <= count_q && count_q - out <= 8'(Depth);
    agrees &= 8'(words) == count_q - out && 8'(whole_words) == whole_q - out;
    agrees &= !is_waiting || (valid_o && {u_frames.u_out.waiting_data_q[9], u_frames.u_out.waiting_data_q[0]} == model_q[1]);
    agrees &= !is_told || {u_frames.told[9], u_frames.told[0]} == model_q[2'(valid_o)+2'(is_waiting)];
    // The next word of a frame that is leaving has left the memory, too.
    agrees &= !valid_o || last_o || is_waiting || is_told;
    agrees &= !is_waiting || model_q[1][1] || is_told;
    agrees &= !inside_q || whole_q != '0;
    for (int unsigned at = 0; at < Words; at++) begin
      // The last word of the last whole frame ends it, and no word after it ends a frame.
      if (8'(at) < count_q && 8'(at) >= whole_q) agrees &= !model_q[at][1];
      if (8'(at) + 8'd1 == whole_q) agrees &= model_q[at][1];
    end
    for (int unsigned at = 0; at < Depth; at++) begin
      if (8'(at) < count_q - out) begin
        agrees &= {u_frames.u_memory.memory_q[(32'(u_frames.read_q)+at)%Depth][9],
                   u_frames.u_memory.memory_q[(32'(u_frames.read_q)+at)%Depth][0]} == model_q[at+32'(out)];
      end
    end
  end
  `ASSERT(the_model_agrees, agrees)
endmodule
