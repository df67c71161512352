// Merkle roots of verify frames: the claimed root waits here until merkle_root has computed the leaves' root.

`include "assertions.svh"
`include "registers.svh"

module verify_roots
  import verify_frame_pkg::*;
(
    input  logic     clk_i,
    input  logic     rst_ni,
    // Message without its header: the root, then the leaves.
    input  logic     valid_i,
    output logic     ready_o,
    input  part_t    part_i,
    input  tag_t     tag_i,
    output logic     valid_o,
    input  logic     ready_i,
    output verdict_t verdict_o
);
  localparam int unsigned RootParts = 4;
  localparam int unsigned Trees = 4;
  // A node takes 30 cycles, while its 32 bytes arrive in 4: a pipeline would be mostly empty, as a frame has room for
  // only 52 leaves.
  localparam int unsigned RoundsPerCycle = 8;
  localparam int unsigned Levels = 6;

  // Parts of the root; the last one goes on with the tag.
  logic [2:0] at_q;
  logic is_root, ends_root, leaf_ready, claim_ready, accept;
  logic [191:0] root_q;
  assign is_root = at_q < 3'(RootParts);
  assign ends_root = at_q == 3'(RootParts - 1);
  assign ready_o = is_root ? !ends_root || claim_ready : leaf_ready;
  assign accept = valid_i && ready_o;
  `FFE(at_q, part_i.last ? '0 : is_root ? at_q + 1'b1 : at_q, accept, '0)
  `FFNE(root_q, {part_i.data, root_q[191:64]}, accept && is_root && !ends_root)

  logic claim_valid;
  logic [255:0] claim;
  tag_t tag;
  logic [$clog2(Trees+2)-1:0] unused_count;
  // One more than there are trees in flight, as a root arrives before its leaves.
  fifo #(
      .Width(256 + $bits(tag_t)),
      .Depth(Trees + 1)
  ) u_claims (
      .clk_i,
      .rst_ni,
      .valid_i(accept && ends_root),
      .ready_o(claim_ready),
      .data_i ({part_i.data, root_q, tag_i}),
      .valid_o(claim_valid),
      .ready_i(valid_o && ready_i),
      .data_o ({claim, tag}),
      .count_o(unused_count)
  );

  logic pair_valid, pair_ready, pair_last;
  logic [511:0] pair;
  logic [ 63:0] pair_keep;
  stream_widen #(
      .DataWidth(64),
      .WideWidth(512)
  ) u_pairs (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && !is_root),
      .ready_o(leaf_ready),
      .data_i (part_i.data),
      .keep_i (part_i.keep),
      .last_i (part_i.last),
      .valid_o(pair_valid),
      .ready_i(pair_ready),
      .data_o (pair),
      .keep_o (pair_keep),
      .last_o (pair_last)
  );

  logic repeated;
  logic [255:0] root;
  merkle_root #(
      .Pipelined     (1'b0),
      .RoundsPerStage(RoundsPerCycle),
      .Levels        (Levels),
      .Trees         (Trees)
  ) u_root (
      .clk_i,
      .rst_ni,
      .valid_i   (pair_valid),
      .ready_o   (pair_ready),
      .data_i    (pair),
      .single_i  (!pair_keep[63]),
      .last_i    (pair_last),
      .valid_o,
      .ready_i,
      .root_o    (root),
      .repeated_o(repeated)
  );
  logic unused_keep;
  assign unused_keep = ^pair_keep;

  always_comb begin
    verdict_o = '{tag: tag, reserved: '0, rule: protocol_pkg::RuleNone};
    if (repeated) verdict_o.rule = protocol_pkg::RuleMerkleRepeated;
    else if (root != claim) verdict_o.rule = protocol_pkg::RuleMerkleRoot;
  end
  `ASSERT(roots_have_claims, !valid_o || claim_valid)
endmodule
