// Cuts the words of a packet stream into words narrower by an integer factor, skipping parts without a byte. Latency 1
// cycle, outputs a word in every cycle.

`include "assertions.svh"
`include "registers.svh"

module stream_narrow #(
    parameter int unsigned WideWidth = 512,
    parameter int unsigned DataWidth = 64,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned WideKeepWidth = WideWidth / 8
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    input  logic                     valid_i,
    output logic                     ready_o,
    input  logic [    WideWidth-1:0] data_i,
    input  logic [WideKeepWidth-1:0] keep_i,
    input  logic                     last_i,
    output logic                     valid_o,
    input  logic                     ready_i,
    output logic [    DataWidth-1:0] data_o,
    output logic [    KeepWidth-1:0] keep_o,
    output logic                     last_o
);
  `PARAMETER_CHECK(width, DataWidth >= 8 && DataWidth % 8 == 0, "stream_narrow: DataWidth must be a multiple of 8")
  `PARAMETER_CHECK(factor, WideWidth % DataWidth == 0, "stream_narrow: WideWidth must be a multiple of DataWidth")

  // Remaining parts, the next one lowest.
  logic [WideWidth-1:0] data_q;
  logic [WideKeepWidth-1:0] keep_q, rest;
  logic last_q, ends;

  assign data_o = data_q[DataWidth-1:0];
  assign keep_o = keep_q[KeepWidth-1:0];
  assign rest = keep_q >> KeepWidth;
  assign ends = rest == '0;
  assign last_o = last_q && ends;
  assign ready_o = !valid_o || (ready_i && ends);

  `FFE(valid_o, valid_i || (valid_o && !(ready_i && ends)), ready_o || ready_i, 1'b0)
  `FFNE(data_q, ready_o ? data_i : data_q >> DataWidth, ready_o || ready_i)
  `FFNE(keep_q, ready_o ? keep_i : rest, ready_o || ready_i)
  `FFNE(last_q, last_i, ready_o)
endmodule
