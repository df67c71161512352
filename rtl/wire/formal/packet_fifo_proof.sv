// Proof of packet_fifo against a shifting queue: words leave unchanged and in order, packets that were complete leave
// without a gap; the output is stable, a full queue advances, and with drop_i nothing stalls and a packet that does not
// fit leaves no trace.

`include "assertions.svh"

module packet_fifo_proof
  import wire_pkg::*;
#(
    parameter int unsigned Depth = 4
) (
    input logic clk_i,
    input logic rst_ni,
    input logic drop_i,
    input logic valid_i,
    input logic last_i,
    input logic user_i,
    input logic ready_i
);
  `PROOF_RESET

  logic ready_o, valid_o, user_o, dropped_o, unused_o;
  word_t word_i, word_o;
  assign word_i = '{last: last_i, keep: '1, data: '0};
  assign unused_o = ^word_o.data ^ ^word_o.keep;

  packet_fifo #(
      .Depth(Depth)
  ) u_packets (
      .*
  );

  // Words in the queue, the oldest lowest: {user, last}. Their number, and that of words in whole packets.
  logic [Depth-1:0][1:0] model_q, model_d;
  logic [7:0] count_q, count_d, whole_q, whole_d;
  logic skips_q, skips_d;
  always_comb begin
    model_d = model_q;
    count_d = count_q;
    whole_d = whole_q;
    skips_d = skips_q;
    if (valid_i && ready_o) begin
      if (skips_q || count_q == 8'(Depth)) begin
        skips_d = !last_i;
        count_d = whole_q;
      end else begin
        model_d[count_q[$clog2(Depth)-1:0]] = {user_i, last_i};
        count_d = count_q + 8'd1;
        if (last_i) whole_d = count_d;
      end
    end
    if (valid_o && ready_i) begin
      model_d = {2'b0, model_d[Depth-1:1]};
      count_d = count_d - 8'd1;
      if (whole_d != '0) whole_d = whole_d - 8'd1;
    end
  end

  // Inside a packet that was complete when it began to leave; an offered word not accepted; a full queue without
  // movement.
  logic inside_q, gapless_q, stalled_q, full_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {model_q, count_q, whole_q, skips_q, inside_q, gapless_q, stalled_q, full_q} <= '0;
    end else begin
      model_q <= model_d;
      count_q <= count_d;
      whole_q <= whole_d;
      skips_q <= skips_d;
      if (valid_o && ready_i) begin
        inside_q  <= !word_o.last;
        gapless_q <= !word_o.last && (inside_q ? gapless_q : whole_q != '0);
      end
      stalled_q <= valid_o && !ready_i;
      full_q <= !drop_i && !ready_o && !(valid_o && ready_i);
    end
  end

  `ASSERT(words_leave_as_they_came, !valid_o || (count_q != '0 && {user_o, word_o.last} == model_q[0]))
  `ASSERT(whole_packets_have_no_gap, !gapless_q || valid_o)
  `ASSERT(whole_packets_are_shown, whole_q == '0 || valid_o)
  `ASSERT(what_is_shown_stays, !stalled_q || valid_o)
  `ASSERT(full_queue_moves, !full_q || valid_o)
  `ASSERT(dropping_holds_nothing_up, !drop_i || ready_o || u_packets.open_q)
  `ASSERT(what_is_dropped_is_told, dropped_o == (valid_i && ready_o && last_i && (skips_q || count_q == 8'(Depth))))

  `COVER(a_whole_packet_leaves, gapless_q && valid_o && ready_i && word_o.last)
  `COVER(a_full_queue_moves, full_q && count_q == 8'(Depth) && valid_o && ready_i)
  `COVER(a_packet_is_dropped, dropped_o && whole_q != '0)

  // Invariants that link the queue to the model.
  logic agrees;
  always_comb begin
    agrees = 8'(u_packets.words_q) == count_q && 8'(u_packets.whole_q) == whole_q && u_packets.dropping_q == skips_q;
    agrees &= count_q <= 8'(Depth) && whole_q <= count_q && 32'(u_packets.read_q) < Depth;
    agrees &= 32'(u_packets.write_q) == (32'(u_packets.read_q) + 32'(count_q)) % Depth;
    agrees &= (u_packets.open_q && whole_q == '0) ||
        32'(u_packets.begin_q) == (32'(u_packets.read_q) + 32'(whole_q)) % Depth;
    agrees &= !skips_q || (count_q == whole_q && !u_packets.open_q);
    agrees &= !gapless_q || (inside_q && whole_q != '0);
    for (int unsigned at = 0; at < Depth; at++) begin
      // The last word of the last whole packet ends it, and no word after it ends a packet.
      if (8'(at) < count_q) begin
        agrees &= {u_packets.memory_q[(32'(u_packets.read_q)+at)%Depth][$bits(word_t)],
                   u_packets.memory_q[(32'(u_packets.read_q)+at)%Depth][$bits(word_t)-1]} == model_q[at];
        if (8'(at) >= whole_q) agrees &= !model_q[at][0];
        if (8'(at) + 8'd1 == whole_q) agrees &= model_q[at][0];
      end
    end
  end
  `ASSERT(the_model_agrees, agrees)
  `ASSERT(open_is_inside_or_full, !u_packets.open_q || inside_q || whole_q != '0 || count_q != '0)
endmodule
