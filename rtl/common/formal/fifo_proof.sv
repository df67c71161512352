// Proof of fifo and, with `Pass`, of fall_through_fifo: stream_properties around it, plus invariants that link its
// pointers and memory to the tracked word.

`include "assertions.svh"

module fifo_proof #(
    parameter int unsigned Width = 4,
    parameter int unsigned Depth = 4,
    parameter bit          Pass  = 1'b0
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
  logic [$clog2(Depth+1)-1:0] count_o;
  logic [PointerWidth-1:0] read, write;
  logic [7:0] place;

  if (Pass) begin : gen_pass
    fall_through_fifo #(
        .Width(Width),
        .Depth(Depth)
    ) u_pass (
        .*
    );
    assign read     = u_pass.u_fifo.u_control.read_o;
    assign write    = u_pass.u_fifo.u_control.write_o;
    assign in_place = u_pass.u_fifo.memory_q[place[PointerWidth-1:0]];
  end else begin : gen_fifo
    fifo #(
        .Width(Width),
        .Depth(Depth)
    ) u_fifo (
        .*
    );
    assign read     = u_fifo.u_control.read_o;
    assign write    = u_fifo.u_control.write_o;
    assign in_place = u_fifo.memory_q[place[PointerWidth-1:0]];
  end
  stream_properties #(
      .Width(Width),
      .Depth(Depth),
      .Pass (Pass)
  ) u_properties (
      .*
  );

  assign place = (8'(read) + u_properties.ahead_q) % 8'(Depth);

  `ASSERT(count_is_real, u_properties.count_q == 8'(count_o))
  `ASSERT(pointers_are_inside, 8'(read) < 8'(Depth) && 8'(write) < 8'(Depth))
  `ASSERT(followed_is_in_memory, !u_properties.following_q || in_place == u_properties.followed_q)
endmodule
