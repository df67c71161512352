// Joins the two halves of a subtree, one pair per cycle: checks that they agree in the bits of their level, and that
// the half with the lower first index comes first. Latency 1 cycle. The first rule broken within a half takes
// precedence over those of the whole.
//
// The bits that must agree are zero in the XOR if they do, so they are not kept: nodes get narrower with each level.

`include "registers.svh"

module equihash_node
  import equihash_pkg::*;
#(
    parameter int unsigned Width = 200,
    parameter int unsigned Bits = 20,
    parameter int unsigned IndexWidth = 21,
    // Height of the joined subtree, from 1 to `Levels`.
    parameter int unsigned Height = 1,
    parameter int unsigned Levels = 9
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    input  logic                       valid_i,
    input  logic    [        Width-1:0] left_i,
    input  logic    [        Width-1:0] right_i,
    input  logic    [   IndexWidth-1:0] left_index_i,
    input  logic    [   IndexWidth-1:0] right_index_i,
    input  broken_t                    left_broken_i,
    input  broken_t                    right_broken_i,
    output logic                       valid_o,
    output logic    [   Width-Bits-1:0] node_o,
    output logic    [   IndexWidth-1:0] index_o,
    output broken_t                    broken_o
);
  // Number of the subtree within its level; every solution has the same number of them.
  localparam int unsigned Nodes = 1 << (Levels - Height);
  logic [MostLevels-1:0] number_q;
  `FFE(number_q, number_q == MostLevels'(Nodes - 1) ? '0 : number_q + 1'b1, valid_i, '0)
  place_t place;
  assign place.leaf = MostLevels'((32'(number_q) + 1) * (1 << Height) - 1);
  assign place.height = 4'(Height);

  logic [Bits-1:0] differs;
  broken_t broken;
  assign differs = left_i[Width-1-:Bits] ^ right_i[Width-1-:Bits];
  always_comb begin
    broken = '{valid: 1'b0, rule: '0, place: place};
    if (left_broken_i.valid) broken = left_broken_i;
    else if (right_broken_i.valid) broken = right_broken_i;
    else if (differs != '0) broken = '{valid: 1'b1, rule: 3'(protocol_pkg::RuleEquihashCollision), place: place};
    else if (right_index_i < left_index_i)
      broken = '{valid: 1'b1, rule: 3'(protocol_pkg::RuleEquihashOrder), place: place};
  end
  `FF(valid_o, valid_i, 1'b0)
  always_ff @(posedge clk_i) begin
    node_o   <= left_i[Width-Bits-1:0] ^ right_i[Width-Bits-1:0];
    index_o  <= left_index_i;
    broken_o <= broken;
  end
endmodule
