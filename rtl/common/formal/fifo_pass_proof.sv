// The proof of fifo_pass: stream_properties around it, and what links its pointers and its memory to the word that is followed.

`include "assertions.svh"

module fifo_pass_proof #(
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
  logic [Width-1:0] data_o;
  logic [$clog2(Depth+1)-1:0] count_o;
  logic [7:0] place;

  fifo_pass #(
      .Width(Width),
      .Depth(Depth)
  ) u_fifo (
      .*
  );
  stream_properties #(
      .Width(Width),
      .Depth(Depth),
      .Pass (1'b1)
  ) u_properties (
      .*
  );

  assign place = (8'(u_fifo.u_fifo.read_q) + u_properties.ahead_q) % 8'(Depth);

  `ASSERT(count_is_real, u_properties.count_q == 8'(count_o))
  `ASSERT(pointers_are_inside, 8'(u_fifo.u_fifo.read_q) < 8'(Depth) && 8'(u_fifo.u_fifo.write_q) < 8'(Depth))
  `ASSERT(followed_is_in_memory, !u_properties.following_q ||
          u_fifo.u_fifo.memory_q[place[PointerWidth-1:0]] == u_properties.followed_q)
endmodule
