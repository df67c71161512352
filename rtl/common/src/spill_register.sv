// Register slice for a packet stream: cuts every path, full throughput, latency 1 cycle.

`include "assertions.svh"

module spill_register #(
    parameter int unsigned DataWidth = 64,
    localparam int unsigned KeepWidth = DataWidth / 8
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [DataWidth-1:0] data_i,
    input  logic [KeepWidth-1:0] keep_i,
    input  logic                 last_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output logic [DataWidth-1:0] data_o,
    output logic [KeepWidth-1:0] keep_o,
    output logic                 last_o
);
  `PARAMETER_CHECK(width, DataWidth >= 8 && DataWidth % 8 == 0, "spill_register: DataWidth must be a multiple of 8")

  skid #(
      .Width(DataWidth + KeepWidth + 1)
  ) u_skid (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i({last_i, keep_i, data_i}),
      .valid_o,
      .ready_i,
      .data_o({last_o, keep_o, data_o})
  );
endmodule
