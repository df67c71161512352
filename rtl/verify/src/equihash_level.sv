// Level of the tree whose halves arrive one after the other: a left half waits for its right one.

`include "registers.svh"

module equihash_level
  import equihash_pkg::*;
#(
    // See equihash_node.
    parameter int unsigned Width = 180,
    parameter int unsigned Bits = 20,
    parameter int unsigned IndexWidth = 21,
    parameter int unsigned Height = 2,
    parameter int unsigned Levels = 9
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    input  logic                       valid_i,
    input  logic    [        Width-1:0] node_i,
    input  logic    [   IndexWidth-1:0] index_i,
    input  broken_t                    broken_i,
    output logic                       valid_o,
    output logic    [   Width-Bits-1:0] node_o,
    output logic    [   IndexWidth-1:0] index_o,
    output broken_t                    broken_o
);
  logic waits_q;
  logic [Width-1:0] left_q;
  logic [IndexWidth-1:0] left_index_q;
  broken_t left_broken_q;
  `FFE(waits_q, !waits_q, valid_i, 1'b0)
  `FFNE(left_q, node_i, valid_i && !waits_q)
  `FFNE(left_index_q, index_i, valid_i && !waits_q)
  `FFNE(left_broken_q, broken_i, valid_i && !waits_q)

  equihash_node #(
      .Width     (Width),
      .Bits      (Bits),
      .IndexWidth(IndexWidth),
      .Height    (Height),
      .Levels    (Levels)
  ) u_node (
      .clk_i,
      .rst_ni,
      .valid_i       (valid_i && waits_q),
      .left_i        (left_q),
      .right_i       (node_i),
      .left_index_i  (left_index_q),
      .right_index_i (index_i),
      .left_broken_i (left_broken_q),
      .right_broken_i(broken_i),
      .valid_o,
      .node_o,
      .index_o,
      .broken_o
  );
endmodule
