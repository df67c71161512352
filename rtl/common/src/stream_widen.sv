// Gathers the words of a packet stream into words wider by an integer factor. Latency 1 cycle after the last word
// gathered; accepts a word in every cycle.

`include "assertions.svh"
`include "registers.svh"

module stream_widen #(
    parameter int unsigned DataWidth = 64,
    parameter int unsigned WideWidth = 512,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned WideKeepWidth = WideWidth / 8
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    input  logic                     valid_i,
    output logic                     ready_o,
    input  logic [    DataWidth-1:0] data_i,
    input  logic [    KeepWidth-1:0] keep_i,
    input  logic                     last_i,
    output logic                     valid_o,
    input  logic                     ready_i,
    output logic [    WideWidth-1:0] data_o,
    output logic [WideKeepWidth-1:0] keep_o,
    output logic                     last_o
);
  `PARAMETER_CHECK(width, DataWidth >= 8 && DataWidth % 8 == 0, "stream_widen: DataWidth must be a multiple of 8")
  `PARAMETER_CHECK(factor, WideWidth % DataWidth == 0, "stream_widen: WideWidth must be a multiple of DataWidth")

  localparam int unsigned Parts = WideWidth / DataWidth;
  localparam int unsigned PartWidth = Parts > 1 ? $clog2(Parts) : 1;

  logic [PartWidth-1:0] part_q;
  logic enters, completes;

  assign ready_o = !valid_o || ready_i;
  assign enters = valid_i && ready_o;
  assign completes = last_i || part_q == PartWidth'(Parts - 1);

  `FFE(valid_o, enters && completes, ready_o, 1'b0)
  `FFE(part_q, completes ? '0 : part_q + PartWidth'(1), enters, '0)
  `FFNE(last_o, last_i, enters)
  for (genvar part = 0; part < Parts; part++) begin : gen_part
    `FFNE(data_o[DataWidth*part+:DataWidth], data_i, enters && part_q == PartWidth'(part))
    // The first part starts a word and clears the other parts.
    `FFNE(keep_o[KeepWidth*part+:KeepWidth], part_q == PartWidth'(part) ? keep_i : '0,
          enters && (part_q == '0 || part_q == PartWidth'(part)))
  end
endmodule
