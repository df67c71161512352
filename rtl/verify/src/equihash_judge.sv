// Verdict on a header: the first broken rule in the order of crates/verify: length, target, hash, solution.
//
// Compares the hash with the target one byte per cycle.

`include "registers.svh"

module equihash_judge
  import equihash_pkg::*;
#(
    parameter int unsigned TagWidth = 1
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    // All in the same order: header to judge; its hash; the rule broken in its tree; its first duplicate index.
    input  logic                   order_valid_i,
    output logic                   order_ready_o,
    input  logic    [TagWidth-1:0] order_tag_i,
    input  logic                   order_good_i,
    input  logic                   order_hashed_i,
    input  logic    [        31:0] order_bits_i,
    input  logic                   hash_valid_i,
    output logic                   hash_ready_o,
    input  logic    [       255:0] hash_i,
    input  logic                   solution_valid_i,
    output logic                   solution_ready_o,
    input  broken_t                broken_i,
    input  broken_t                twice_i,
    input  logic                   nonzero_i,
    output logic                   valid_o,
    input  logic                   ready_i,
    output logic    [        63:0] mask_o,
    output logic    [TagWidth-1:0] tag_o
);
  // Target in compact form: a length in bytes, a sign, and the first three bytes.
  logic [2:0][7:0] digits;
  logic [2:0] counts;
  logic [7:0] length;
  logic is_target, too_large;
  assign digits = {1'b0, order_bits_i[22:0]};
  assign length = order_bits_i[31:24];
  always_comb begin
    counts = '0;
    too_large = 1'b0;
    for (int unsigned digit = 0; digit < 3; digit++) begin
      // Its position from the right; a negative one does not count.
      if (digits[digit] != '0 && 32'(length) + digit >= 3) begin
        counts[digit] = 1'b1;
        if (32'(length) + digit >= 3 + 32) too_large = 1'b1;
      end
    end
  end
  assign is_target = !order_bits_i[23] && counts != '0 && !too_large;

  // Byte by byte from the highest, until they differ.
  logic all_there, compares, compared_q, decided_q, above_q;
  logic [4:0] place_q;
  logic [7:0] ours, theirs;
  assign all_there = order_valid_i && (!order_hashed_i || hash_valid_i) && (!order_good_i || solution_valid_i);
  assign compares = all_there && order_hashed_i && order_good_i && !compared_q;
  assign ours = hash_i[8*place_q+:8];
  always_comb begin
    theirs = '0;
    for (int unsigned digit = 0; digit < 3; digit++) begin
      if (32'(place_q) + 3 == 32'(length) + digit) theirs = digits[digit];
    end
  end
  `FF(place_q, compares ? place_q - 5'd1 : 5'd31, 5'd31)
  `FF(compared_q, (compares && place_q == '0) || (compared_q && !order_ready_o), 1'b0)
  `FFE(decided_q, !order_ready_o && (decided_q || ours != theirs), compares || order_ready_o, 1'b0)
  `FFE(above_q, decided_q ? above_q : ours > theirs, compares, 1'b0)

  logic judges;
  // The rule broken first; within one subtree, the tree's rule takes precedence.
  logic twice_first;
  logic [2:0] rule;
  assign twice_first = twice_i.valid && (!broken_i.valid || twice_i.place < broken_i.place);
  assign rule = twice_first ? twice_i.rule : broken_i.rule;
  assign judges = all_there && !compares;
  assign order_ready_o = judges && (!valid_o || ready_i);
  assign hash_ready_o = order_ready_o && order_hashed_i;
  assign solution_ready_o = order_ready_o && order_good_i;

  logic [63:0] mask;
  always_comb begin
    mask = '0;
    if (!order_good_i) mask[protocol_pkg::RuleHeaderSolutionLength] = 1'b1;
    else if (order_hashed_i && !is_target) mask[protocol_pkg::RuleHeaderTarget] = 1'b1;
    else if (order_hashed_i && above_q) mask[protocol_pkg::RuleHeaderDifficulty] = 1'b1;
    else if (broken_i.valid || twice_i.valid) mask[6'(rule)] = 1'b1;
    else if (nonzero_i) mask[protocol_pkg::RuleEquihashRoot] = 1'b1;
  end
  `FF(valid_o, order_ready_o || (valid_o && !ready_i), 1'b0)
  `FFNE(mask_o, mask, order_ready_o)
  `FFNE(tag_o, order_tag_i, order_ready_o)
endmodule
