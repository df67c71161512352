// Queue of `Depth` words with the first word at the output; its memory is read without a clock (distributed RAM).
//
// Latency 1 cycle, full throughput at any depth from 2. `ready_o` and `valid_o` are registers: a full queue accepts
// nothing, even in a cycle in which a word leaves.

`include "assertions.svh"

module fifo #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 16,
    localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  valid_i,
    output logic                  ready_o,
    input  logic [     Width-1:0] data_i,
    output logic                  valid_o,
    input  logic                  ready_i,
    output logic [     Width-1:0] data_o,
    output logic [CountWidth-1:0] count_o
);
  `PARAMETER_CHECK(width, Width > 0, "fifo: Width must be at least 1")
  `PARAMETER_CHECK(depth, Depth > 0, "fifo: Depth must be at least 1")

  logic [$clog2(Depth > 1 ? Depth : 2)-1:0] write, read;
  fifo_control #(
      .Depth(Depth)
  ) u_control (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .valid_o,
      .ready_i,
      .write_o(write),
      .read_o (read),
      .count_o
  );

  // Keeps tools from merging this with an output register into block RAM, which is much slower to read.
  (* ram_style = "distributed" *) logic [Width-1:0] memory_q[Depth];
  assign data_o = memory_q[read];
  always_ff @(posedge clk_i) begin
    if (ready_o) memory_q[write] <= data_i;
  end
endmodule
