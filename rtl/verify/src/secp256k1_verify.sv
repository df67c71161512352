// Verifies signatures of secp256k1, ECDSA and BIP340: checks of range and encoding, then one or more engines, each with
// its own multiplier.
//
// Results come in any order, with the signature's tag and the first broken rule, 0 if none.

`include "assertions.svh"
`include "registers.svh"

module secp256k1_verify
  import secp256k1_pkg::*;
#(
    parameter int unsigned Engines  = 1,
    parameter int unsigned TagWidth = 8
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  logic                      valid_i,
    output logic                      ready_o,
    input  logic       [TagWidth-1:0] tag_i,
    input  signature_t                signature_i,
    output logic                      valid_o,
    input  logic                      ready_i,
    output logic       [TagWidth-1:0] tag_o,
    output logic       [         5:0] rule_o,
    // Per engine: a product begins.
    output logic       [ Engines-1:0] busy_o
);
  `PARAMETER_CHECK(engines, Engines > 0, "secp256k1_verify: Engines must be at least 1")
  `PARAMETER_CHECK(tag, TagWidth > 0 && TagWidth % 8 == 0, "secp256k1_verify: TagWidth must be a multiple of 8")

  localparam int unsigned EngineWidth = Engines > 1 ? $clog2(Engines) : 1;
  localparam int unsigned Ports = Engines + 1;

  logic work_valid, work_ready;
  work_t work;
  logic [TagWidth-1:0] tag;
  logic [Ports-1:0] result_valid, result_ready;
  logic [Ports-1:0][TagWidth+7:0] result;
  logic [5:0] rule;
  secp256k1_check #(
      .TagWidth(TagWidth)
  ) u_check (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .tag_i,
      .signature_i,
      .work_valid_o(work_valid),
      .work_ready_i(work_ready),
      .work_o      (work),
      .rule_valid_o(result_valid[Engines]),
      .rule_ready_i(result_ready[Engines]),
      .rule_o      (rule),
      .tag_o       (tag)
  );
  assign result[Engines] = {tag, 2'b0, rule};

  // Round robin over the engines.
  logic [EngineWidth-1:0] engine_q;
  logic [Engines-1:0] engine_ready;
  assign work_ready = engine_ready[engine_q];
  `FFE(engine_q, 32'(engine_q) == Engines - 1 ? '0 : engine_q + 1'b1, work_valid && work_ready, '0)
  for (genvar engine = 0; engine < Engines; engine++) begin : gen_engine
    assign result[engine][7:6] = '0;
    secp256k1_engine #(
        .TagWidth(TagWidth)
    ) u_engine (
        .clk_i,
        .rst_ni,
        .valid_i(work_valid && 32'(engine_q) == engine),
        .ready_o(engine_ready[engine]),
        .tag_i  (tag),
        .work_i (work),
        .valid_o(result_valid[engine]),
        .ready_i(result_ready[engine]),
        .tag_o  (result[engine][8+:TagWidth]),
        .rule_o (result[engine][5:0]),
        .busy_o (busy_o[engine])
    );
  end

  logic [1:0] unused_padding;
  logic [TagWidth/8:0] unused_keep;
  logic unused_last;
  logic [$clog2(Ports)-1:0] unused_port;
  stream_arbiter #(
      .DataWidth(TagWidth + 8),
      .Ports(Ports)
  ) u_results (
      .clk_i,
      .rst_ni,
      .valid_i(result_valid),
      .ready_o(result_ready),
      .data_i (result),
      .keep_i ('1),
      .last_i ('1),
      .valid_o,
      .ready_i,
      .data_o ({tag_o, unused_padding, rule_o}),
      .keep_o (unused_keep),
      .last_o (unused_last),
      .port_o (unused_port)
  );

endmodule
