// Queue of `Depth` words in block RAM, plus three in its output stages: for wide words, or many. The output is a
// register because block RAM is slow to read, and `ready_i` does not reach back to the memory, whose blocks are spread
// over the whole device.
//
// Latency 3 cycles, full throughput at any depth from 2. `ready_o` and `valid_o` are registers: a full memory accepts
// nothing, even in a cycle in which a word leaves it.

`include "assertions.svh"
`include "registers.svh"

module ram_fifo #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o
);
  `PARAMETER_CHECK(width, Width > 0, "ram_fifo: Width must be at least 1")
  `PARAMETER_CHECK(depth, Depth > 0, "ram_fifo: Depth must be at least 1")

  // Whether the memory holds words, and whether one is at its output and may advance.
  logic [$clog2(Depth > 1 ? Depth : 2)-1:0] write, read;
  logic [$clog2(Depth+1)-1:0] unused_count;
  logic holds, told_q, told_ready, moves;
  logic [Width-1:0] told;
  assign moves = !told_q || told_ready;
  fifo_control #(
      .Depth(Depth)
  ) u_control (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .valid_o(holds),
      .ready_i(moves),
      .write_o(write),
      .read_o (read),
      .count_o(unused_count)
  );
  `FFE(told_q, holds, moves, 1'b0)

  // A word is read in a later cycle than it is written in.
  ram_1r1w #(
      .Width(Width),
      .Depth(Depth)
  ) u_memory (
      .clk_i,
      .write_i        (ready_o),
      .write_address_i(write),
      .write_data_i   (data_i),
      .read_i         (holds && moves),
      .read_address_i (read),
      .read_data_o    (told)
  );
  skid #(
      .Width(Width)
  ) u_out (
      .clk_i,
      .rst_ni,
      .valid_i(told_q),
      .ready_o(told_ready),
      .data_i (told),
      .valid_o,
      .ready_i,
      .data_o
  );

  `ASSERT(written_is_not_read, !(holds && moves && ready_o && read == write))
endmodule
