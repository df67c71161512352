// One register between two sides of a stream: cuts every path except `ready`, at full throughput. Half the size of
// `skid`.
//
// Latency 1 cycle. `Width` bits of payload.

`include "assertions.svh"
`include "registers.svh"

module stage #(
    parameter int unsigned Width = 64
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
  `PARAMETER_CHECK(width, Width > 0, "stage: Width must be at least 1")

  assign ready_o = !valid_o || ready_i;

  `FFE(valid_o, valid_i, ready_o, 1'b0)
  `FFNE(data_o, data_i, ready_o)
endmodule
