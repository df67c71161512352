// The proof of packet_fifo: packets that were there as a whole leave without a gap, what is shown stays, and a full queue moves. That words stay
// as they are and in order is fifo's proof.

`include "assertions.svh"

module packet_fifo_proof
  import wire_pkg::*;
#(
    parameter int unsigned Depth = 4
) (
    input logic clk_i,
    input logic rst_ni,
    input logic valid_i,
    input logic last_i,
    input logic ready_i
);
  `PROOF_RESET

  localparam int unsigned LastBit = $bits(word_t) - 1;
  logic ready_o, valid_o, user_i, user_o, unused_o;
  word_t word_i, word_o;
  assign user_i = 1'b0;
  assign word_i = '{last: last_i, keep: '1, data: '0};
  assign unused_o = user_o ^ ^word_o.data ^ ^word_o.keep;

  packet_fifo #(
      .Depth(Depth)
  ) u_packets (
      .*
  );

  // Inside a packet that leaves; whether it was whole when it began to; what was shown and not taken; whether nothing moved in a full
  // queue; whether it was full since a packet has left.
  logic inside_q, whole_q, stalled_q, stalled_last_q, full_q, filled_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {inside_q, whole_q, stalled_q, full_q, filled_q} <= '0;
    end else begin
      if (valid_o && ready_i) begin
        inside_q <= !word_o.last;
        whole_q  <= !word_o.last && (inside_q ? whole_q : u_packets.packets_q != '0);
      end
      stalled_q <= valid_o && !ready_i;
      filled_q <= !(valid_o && ready_i && word_o.last) && (filled_q || !ready_o);
      full_q <= !ready_o && !(valid_o && ready_i);
    end
  end
  always_ff @(posedge clk_i) stalled_last_q <= word_o.last;

  logic [7:0] ends;
  always_comb begin
    ends = '0;
    for (int unsigned at = 0; at < Depth; at++) begin
      if (8'(at) < 8'(u_packets.words)) begin
        ends += 8'(u_packets.u_words.memory_q[(32'(u_packets.u_words.read_q)+at)%Depth][LastBit]);
      end
    end
  end

  `ASSERT(whole_packets_have_no_gap, !whole_q || valid_o)
  `ASSERT(begins_whole_or_filled, !valid_o || inside_q || ends != '0 || filled_q)
  `ASSERT(output_is_stable, !stalled_q || (valid_o && word_o.last == stalled_last_q))
  `ASSERT(full_queue_moves, !full_q || valid_o)
  // What links the count of packets to the words.
  `ASSERT(ends_are_counted, ends == 8'(u_packets.packets_q))
  `ASSERT(pointers_are_inside, 8'(u_packets.u_words.read_q) < 8'(Depth) && 8'(u_packets.words) <= 8'(Depth))
  `ASSERT(filled_is_open, filled_q == u_packets.open_q)
  `ASSERT(whole_is_inside, !whole_q || (inside_q && u_packets.packets_q != '0))
endmodule
