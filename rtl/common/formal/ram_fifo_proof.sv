// Proof of ram_fifo: stream_properties around it, plus invariants that link its registers and memory to the tracked
// word.

`include "assertions.svh"

module ram_fifo_proof #(
    parameter int unsigned Width = 4,
    parameter int unsigned Depth = 4
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             follow_i,
    input logic             valid_i,
    input logic [Width-1:0] data_i,
    input logic             ready_i
);
  `PROOF_RESET

  localparam int unsigned PointerWidth = Depth > 1 ? $clog2(Depth) : 1;
  logic ready_o, valid_o;
  logic [Width-1:0] data_o, in_place;
  // Words that have left the memory, and the memory place of one that has not.
  logic [7:0] out, place;

  ram_fifo #(
      .Width(Width),
      .Depth(Depth)
  ) u_fifo (
      .*
  );
  stream_properties #(
      .Width(Width),
      .Depth(Depth + 3),
      .Late (1'b1)
  ) u_properties (
      .*
  );

  assign out   = 8'(valid_o) + 8'(u_fifo.u_out.waiting_q) + 8'(u_fifo.told_q);
  assign place = (8'(u_fifo.u_control.read_o) + u_properties.ahead_q - out) % 8'(Depth);
  always_comb begin
    if (u_properties.ahead_q >= out) in_place = u_fifo.u_memory.memory_q[place[PointerWidth-1:0]];
    else if (u_properties.ahead_q == '0 && valid_o) in_place = data_o;
    else if (u_properties.ahead_q == 8'd1 && u_fifo.u_out.waiting_q) in_place = u_fifo.u_out.waiting_data_q;
    else in_place = u_fifo.told;
  end

  `ASSERT(memory_is_not_overfull, 8'(u_fifo.u_control.count_o) <= 8'(Depth))
  `ASSERT(waiting_is_behind, !u_fifo.u_out.waiting_q || valid_o)
  `ASSERT(count_is_real, u_properties.count_q == 8'(u_fifo.u_control.count_o) + out)
  `ASSERT(pointers_are_inside, 8'(u_fifo.u_control.read_o) < 8'(Depth) && 8'(u_fifo.u_control.write_o) < 8'(Depth))
  `ASSERT(followed_is_in_place, !u_properties.following_q || in_place == u_properties.followed_q)
endmodule
