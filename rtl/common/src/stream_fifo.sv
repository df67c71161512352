// Queue for a packet stream of `Depth` words. Latency 1 cycle, full throughput from a depth of 2.

`include "assertions.svh"

module stream_fifo #(
    parameter int unsigned DataWidth = 64,
    parameter int unsigned Depth = 16,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  valid_i,
    output logic                  ready_o,
    input  logic [ DataWidth-1:0] data_i,
    input  logic [ KeepWidth-1:0] keep_i,
    input  logic                  last_i,
    output logic                  valid_o,
    input  logic                  ready_i,
    output logic [ DataWidth-1:0] data_o,
    output logic [ KeepWidth-1:0] keep_o,
    output logic                  last_o,
    output logic [CountWidth-1:0] count_o
);
  `PARAMETER_CHECK(width, DataWidth >= 8 && DataWidth % 8 == 0, "stream_fifo: DataWidth must be a multiple of 8")

  fifo #(
      .Width(DataWidth + KeepWidth + 1),
      .Depth(Depth)
  ) u_fifo (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i({last_i, keep_i, data_i}),
      .valid_o,
      .ready_i,
      .data_o({last_o, keep_o, data_o}),
      .count_o
  );
endmodule
