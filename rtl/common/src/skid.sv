// Two registers that cut every path between two sides of a stream, `ready` included, at full throughput.
//
// Latency 1 cycle. `Width` bits of payload; for packet streams, `spill_register` wraps this.

`include "assertions.svh"
`include "registers.svh"

module skid #(
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
  `PARAMETER_CHECK(width, Width > 0, "skid: Width must be at least 1")

  // `ready_o` is a cycle late, so the second register catches the word that arrives when the output stalls.
  logic waiting_q, pop;
  logic [Width-1:0] waiting_data_q;

  assign ready_o = !waiting_q;
  assign pop  = !valid_o || ready_i;

  `FFE(valid_o, valid_i || waiting_q, pop, 1'b0)
  `FFNE(data_o, waiting_q ? waiting_data_q : data_i, pop)
  `FF(waiting_q, !pop && (waiting_q || valid_i), 1'b0)
  `FFNE(waiting_data_q, data_i, ready_o)
endmodule
