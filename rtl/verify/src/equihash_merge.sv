// Merges the sorted indices of two halves into those of a subtree, one index per cycle, and reports an index that is in
// both. Halves arrive one after the other, left first, and never stall.
//
// While a half arrives, and after it the first index of the other, an index leaves in every cycle in which both halves
// have one. So when a pair is complete, at most one half and one index are left; the queues have that much room.

`include "assertions.svh"
`include "registers.svh"

module equihash_merge
  import equihash_pkg::*;
#(
    parameter int unsigned IndexWidth = 21,
    // Height of the subtree, from 1 to `Levels`.
    parameter int unsigned Height = 1,
    parameter int unsigned Levels = 9
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    input  logic                     valid_i,
    input  logic    [IndexWidth-1:0] index_i,
    // Of the half, with its last index.
    input  broken_t                  broken_i,
    output logic                     valid_o,
    output logic    [IndexWidth-1:0] index_o,
    output broken_t                  broken_o,
    output logic                     last_o    // last of the subtree
);
  localparam int unsigned Half = 1 << (Height - 1);
  localparam int unsigned CountWidth = Height;

  // The half that is arriving.
  logic [Height-1:0] coming_q;
  logic is_right, ends_half;
  `FFE(coming_q, coming_q + 1'b1, valid_i, '0)
  assign is_right  = coming_q[Height-1];
  assign ends_half = (32'(coming_q) & (Half - 1)) == Half - 1;

  logic [1:0] ready, valid, accept, broken_ready, broken_valid;
  logic [1:0][IndexWidth-1:0] head;
  broken_t [1:0] broken;
  logic subtree_ends;
  for (genvar half = 0; half < 2; half++) begin : gen_half
    logic enters;
    logic [$clog2(Half+3)-1:0] unused_count;
    logic [1:0] unused_broken_count;
    assign enters = valid_i && is_right == half;
    fifo #(
        .Width(IndexWidth),
        .Depth(Half + 2)
    ) u_indices (
        .clk_i,
        .rst_ni,
        .valid_i(enters),
        .ready_o(ready[half]),
        .data_i (index_i),
        .valid_o(valid[half]),
        .ready_i(accept[half]),
        .data_o (head[half]),
        .count_o(unused_count)
    );
    fifo #(
        .Width($bits(broken_t)),
        .Depth(3)
    ) u_broken (
        .clk_i,
        .rst_ni,
        .valid_i(enters && ends_half),
        .ready_o(broken_ready[half]),
        .data_i (broken_i),
        .valid_o(broken_valid[half]),
        .ready_i(subtree_ends),
        .data_o (broken[half]),
        .count_o(unused_broken_count)
    );
  end

  // Number of indices of each half that have left.
  logic [1:0][CountWidth-1:0] taken_q;
  logic [1:0] is_through;
  logic accept_any, prefers_left, same, twice_q;
  assign is_through = {32'(taken_q[1]) == Half, 32'(taken_q[0]) == Half};
  assign same = valid == 2'b11 && is_through == '0 && head[0] == head[1];
  assign prefers_left = head[0] <= head[1];
  always_comb begin
    accept = '0;
    if (is_through[0]) accept[1] = valid[1];
    else if (is_through[1]) accept[0] = valid[0];
    else if (valid == 2'b11) accept = prefers_left ? 2'b01 : 2'b10;
  end
  assign accept_any = |accept;
  assign subtree_ends = accept_any && 32'(taken_q[0]) + 32'(taken_q[1]) == 2 * Half - 1;
  for (genvar half = 0; half < 2; half++) begin : gen_taken
    `FFE(taken_q[half], subtree_ends ? '0 : taken_q[half] + CountWidth'(accept[half]), accept_any, '0)
  end
  `FFE(twice_q, !subtree_ends && (twice_q || same), accept_any, 1'b0)

  // Number of the subtree within its level; every solution has the same number of them.
  localparam int unsigned Nodes = 1 << (Levels - Height);
  logic [MostLevels-1:0] number_q;
  `FFE(number_q, number_q == MostLevels'(Nodes - 1) ? '0 : number_q + 1'b1, subtree_ends, '0)
  place_t place;
  assign place.leaf = MostLevels'((32'(number_q) + 1) * (1 << Height) - 1);
  assign place.height = 4'(Height);

  broken_t found;
  always_comb begin
    found = '{valid: 1'b0, rule: '0, place: place};
    if (broken[0].valid) found = broken[0];
    else if (broken[1].valid) found = broken[1];
    else if (twice_q || same) found = '{valid: 1'b1, rule: 3'(protocol_pkg::RuleEquihashDuplicate), place: place};
  end
  `FF(valid_o, accept_any, 1'b0)
  always_ff @(posedge clk_i) begin
    index_o  <= accept[0] ? head[0] : head[1];
    broken_o <= found;
    last_o   <= subtree_ends;
  end

  `ASSERT(indices_have_room, !valid_i || ready[is_right])
  `ASSERT(broken_have_room, !(valid_i && ends_half) || broken_ready[is_right])
  `ASSERT(broken_are_there, !subtree_ends || broken_valid == 2'b11)
endmodule
