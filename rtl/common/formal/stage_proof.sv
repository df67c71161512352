// Proof of stage: stream_properties around it, plus invariants that link its register to the count.

`include "assertions.svh"

module stage_proof #(
    parameter int unsigned Width = 4
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             follow_i,
    input logic             valid_i,
    input logic [Width-1:0] data_i,
    input logic             ready_i
);
  `PROOF_RESET

  logic ready_o, valid_o;
  logic [Width-1:0] data_o;

  stage #(.Width(Width)) u_stage (.*);
  stream_properties #(
      .Width(Width),
      .Depth(1)
  ) u_properties (
      .*
  );

  `ASSERT(count_is_real, u_properties.count_q == 8'(valid_o))
endmodule
