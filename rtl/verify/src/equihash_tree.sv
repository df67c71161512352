// XOR tree: leaves arrive in order, and each subtree is checked with its last leaf. Stores only one left half per
// level.

`include "assertions.svh"
`include "registers.svh"

module equihash_tree
  import equihash_pkg::*;
#(
    parameter int unsigned EquihashN = 200,
    parameter int unsigned EquihashK = 9,
    parameter int unsigned Lanes = 1,
    localparam int unsigned Bits = collision_bits(EquihashN, EquihashK),
    localparam int unsigned IndexWidth = index_width(EquihashN, EquihashK)
) (
    input  logic                                   clk_i,
    input  logic                                   rst_ni,
    input  logic                                   valid_i,
    input  logic    [Lanes-1:0][             EquihashN-1:0] leaf_i,  // the first one highest
    input  logic    [Lanes-1:0][    IndexWidth-1:0] index_i,
    // Once per solution; nonzero: the XOR of all leaves is not zero.
    output logic                                   valid_o,
    output broken_t                                broken_o,
    output logic                                   nonzero_o
);
  `PARAMETER_CHECK(lanes, Lanes == 1 || Lanes == 2, "equihash_tree: Lanes must be 1 or 2")

  // Level by level; the remaining bits of a node are the lower ones.
  logic [EquihashK:0] valid;
  logic [EquihashK:0][EquihashN-1:0] node;
  logic [EquihashK:0][IndexWidth-1:0] index;
  broken_t [EquihashK:0] broken;
  assign valid[0]  = valid_i;
  assign node[0]   = leaf_i[Lanes-1];
  assign index[0]  = index_i[Lanes-1];
  assign broken[0] = '0;
  for (genvar height = 1; height <= EquihashK; height++) begin : gen_level
    localparam int unsigned Width = EquihashN - (height - 1) * Bits;
    if (height == 1 && Lanes == 2) begin : gen_pair
      equihash_node #(
          .Width     (Width),
          .Bits      (Bits),
          .IndexWidth(IndexWidth),
          .Height    (height),
          .Levels    (EquihashK)
      ) u_node (
          .clk_i,
          .rst_ni,
          .valid_i       (valid[0]),
          .left_i        (node[0]),
          .right_i       (leaf_i[0]),
          .left_index_i  (index[0]),
          .right_index_i (index_i[0]),
          .left_broken_i ('0),
          .right_broken_i('0),
          .valid_o       (valid[height]),
          .node_o        (node[height][Width-Bits-1:0]),
          .index_o       (index[height]),
          .broken_o      (broken[height])
      );
    end else begin : gen_one
      equihash_level #(
          .Width     (Width),
          .Bits      (Bits),
          .IndexWidth(IndexWidth),
          .Height    (height),
          .Levels    (EquihashK)
      ) u_level (
          .clk_i,
          .rst_ni,
          .valid_i (valid[height-1]),
          .node_i  (node[height-1][Width-1:0]),
          .index_i (index[height-1]),
          .broken_i(broken[height-1]),
          .valid_o (valid[height]),
          .node_o  (node[height][Width-Bits-1:0]),
          .index_o (index[height]),
          .broken_o(broken[height])
      );
    end
    assign node[height][EquihashN-1:Width-Bits] = '0;
  end
  assign valid_o   = valid[EquihashK];
  assign broken_o  = broken[EquihashK];
  assign nonzero_o = node[EquihashK] != '0;
  logic unused_bits;
  assign unused_bits = ^{node, index[EquihashK]};
endmodule
