// Roots of Bitcoin's Merkle trees from streams of leaves, and whether two adjacent nodes are equal (CVE-2012-2459).
//
// Nodes of all levels, and of up to `Trees` trees, share one hash unit. Each level stores a left node until its right
// one arrives. The pair then enters the hash at once, with priority over leaves, so pairs never queue: a result makes
// at most one pair. The last node of a level without a right sibling is paired with itself. Roots leave in the order of
// their trees.
//
// A tree of n leaves takes n - 1 cycles of a pipelined hash, plus one for each level that ends with such a pair; while
// the last nodes of a tree pass through the hash level by level, the leaves of the next trees enter.

`include "assertions.svh"
`include "registers.svh"

module merkle_root #(
    // See sha256d.
    parameter bit Pipelined = 1'b1,
    parameter int unsigned RoundsPerStage = 1,
    // Up to 2^Levels leaves.
    parameter int unsigned Levels = 24,
    parameter int unsigned Trees = 4
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    // Leaves: two of 32 bytes per word, the first in its lower half; only one in the last word of a tree with an odd
    // number of leaves.
    input  logic         valid_i,
    output logic         ready_o,
    input  logic [511:0] data_i,
    input  logic         single_i,  // the word holds one leaf
    input  logic         last_i,    // of the tree
    output logic         valid_o,
    input  logic         ready_i,
    output logic [255:0] root_o,
    output logic         repeated_o
);
  `PARAMETER_CHECK(levels, Levels > 0 && Levels <= 32, "merkle_root: Levels must be from 1 to 32")
  `PARAMETER_CHECK(trees, Trees > 0 && Trees <= 16, "merkle_root: Trees must be from 1 to 16")
  localparam int unsigned TreeWidth = Trees > 1 ? $clog2(Trees) : 1;
  localparam int unsigned LevelWidth = $clog2(Levels + 1);

  typedef logic [TreeWidth-1:0] tree_t;
  // Node of a tree: its level, and whether it is the level's first or last node.
  typedef struct packed {
    tree_t                 tree;
    logic [LevelWidth-1:0] level;
    logic                  first;
    logic                  last;
  } node_t;

  function automatic tree_t next(input tree_t tree);
    return 32'(tree) == Trees - 1 ? '0 : tree + 1'b1;
  endfunction

  // Output of the hash, and the same a cycle later.
  logic hashed, done_q;
  logic [255:0] hashed_digest, digest_q;
  node_t hashed_node, done_node_q;

  // Leaves enter when no pair does.
  logic hash_valid, hash_ready, pair_valid_q, leaf_enters, pair_enters;
  logic [255:0] left, right, pair_left_q, pair_right_q;
  logic is_alone, pair_alone_q;
  node_t node, pair_q, leaf;
  logic begins_q;
  tree_t entering_q, leaving_q;
  logic [$clog2(Trees+1)-1:0] trees_q;

  // The root of a tree of one leaf is that leaf, without a hash; roots have a single write port.
  logic has_place, sole;
  assign sole = begins_q && single_i && last_i;
  assign has_place = !begins_q || 32'(trees_q) < Trees;
  assign ready_o = has_place && !pair_valid_q && (sole ? !done_q : hash_ready);
  assign leaf_enters = valid_i && ready_o && !sole;
  assign pair_enters = pair_valid_q && hash_ready;
  assign leaf = '{tree: entering_q, level: LevelWidth'(1), first: begins_q, last: last_i};
  `FFE(begins_q, last_i, valid_i && ready_o, 1'b1)
  `FFE(entering_q, next(entering_q), valid_i && ready_o && last_i, '0)

  assign hash_valid = leaf_enters || pair_valid_q;
  assign node       = pair_valid_q ? pair_q : leaf;
  assign is_alone   = pair_valid_q ? pair_alone_q : single_i;
  assign left       = pair_valid_q ? pair_left_q : data_i[255:0];
  assign right      = is_alone ? left : pair_valid_q ? pair_right_q : data_i[511:256];

  sha256d #(
      .Pipelined     (Pipelined),
      .Headers       (1'b0),
      .RoundsPerStage(RoundsPerStage),
      .TagWidth      ($bits(node_t))
  ) u_hash (
      .clk_i,
      .rst_ni,
      .valid_i  (hash_valid),
      .ready_o  (hash_ready),
      .header_i (1'b0),
      .message_i({right, left}),
      .tag_i    (node),
      .valid_o  (hashed),
      .digest_o (hashed_digest),
      .tag_o    (hashed_node)
  );

  // Output of the hash: the root, a right node, a node without right sibling, or a left node, which waits.
  localparam int unsigned Places = Trees << LevelWidth;
  localparam int unsigned PlaceWidth = $clog2(Places);
  (* ram_style = "distributed" *) logic [256:0] left_q[Places];
  logic [Places-1:0] waits_q;
  logic [PlaceWidth-1:0] hashed_place, place;
  logic waits_here_q, waits_past, is_root, is_right, is_pair, left_first;
  logic [255:0] waiting;
  assign hashed_place = PlaceWidth'({hashed_node.tree, hashed_node.level});
  assign place = PlaceWidth'({done_node_q.tree, done_node_q.level});
  // Looks up a cycle ahead whether a left node waits there, with the previous node's change forwarded.
  assign waits_past = done_q && !is_root && place == hashed_place;
  `FF(done_q, hashed, 1'b0)
  `FFN(digest_q, hashed_digest)
  `FFN(done_node_q, hashed_node)
  `FFN(waits_here_q, waits_past ? !is_pair : waits_q[hashed_place])
  assign {left_first, waiting} = left_q[place];
  assign is_root = done_q && done_node_q.first && done_node_q.last;
  assign is_right = done_q && waits_here_q;
  assign is_pair = is_right || (done_q && done_node_q.last && !is_root);
  always_ff @(posedge clk_i) begin
    if (done_q) left_q[place] <= {done_node_q.first, digest_q};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waits_q <= '0;
    else if (done_q && !is_root) waits_q[place] <= !is_pair;
  end
  `FF(pair_valid_q, is_pair || (pair_valid_q && !pair_enters), 1'b0)
  always_ff @(posedge clk_i) begin
    if (is_pair) begin
      pair_left_q  <= is_right ? waiting : digest_q;
      pair_right_q <= digest_q;
      pair_alone_q <= !is_right;
      pair_q <= '{
          tree: done_node_q.tree,
          level: done_node_q.level + 1'b1,
          first: is_right && left_first,
          last: done_node_q.last
      };
    end
  end

  // Equal nodes, a cycle after the hash. Of two consecutive nodes, none belongs to a tree that has ended, as its root
  // passes through the hash first. Parts are compared first, and combined a cycle later.
  localparam int unsigned Parts = 8;
  logic [Parts-1:0] same, same_q;
  logic  compared_q;
  tree_t compared_tree_q;
  for (genvar part = 0; part < Parts; part++) begin : gen_same
    equal #(
        .Width(256 / Parts)
    ) u_same (
        .a_i    (left[part*(256/Parts)+:256/Parts]),
        .b_i    (right[part*(256/Parts)+:256/Parts]),
        .equal_o(same[part])
    );
  end
  `FF(compared_q, hash_valid && hash_ready && !is_alone, 1'b0)
  `FFN(same_q, same)
  `FFN(compared_tree_q, node.tree)

  // Trees, in order of arrival.
  logic [Trees-1:0] ended_q, repeated_q;
  (* ram_style = "distributed" *) logic [255:0] root_q[Trees];
  logic leaves, begins;
  assign begins = valid_i && ready_o && begins_q;
  assign leaves = valid_o && ready_i;
  assign valid_o = ended_q[leaving_q];
  assign root_o = root_q[leaving_q];
  assign repeated_o = repeated_q[leaving_q];
  `FFE(leaving_q, next(leaving_q), leaves, '0)
  `FFE(trees_q, begins ? trees_q + 1'b1 : trees_q - 1'b1, begins != leaves, '0)
  logic sole_enters;
  assign sole_enters = valid_i && ready_o && sole;
  always_ff @(posedge clk_i) begin
    if (is_root || sole_enters) root_q[is_root?done_node_q.tree : entering_q] <= is_root ? digest_q : data_i[255:0];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ended_q <= '0;
      repeated_q <= '0;
    end else begin
      if (leaves) ended_q[leaving_q] <= 1'b0;
      if (begins) repeated_q[entering_q] <= 1'b0;
      if (compared_q && &same_q) repeated_q[compared_tree_q] <= 1'b1;
      if (is_root) ended_q[done_node_q.tree] <= 1'b1;
      if (sole_enters) ended_q[entering_q] <= 1'b1;
    end
  end

  `ASSUME(one_leaf_is_last, !valid_i || !single_i || last_i)
  `ASSERT(pairs_have_room, !is_pair || !pair_valid_q || pair_enters)
  `ASSERT(levels, !is_pair || 32'(done_node_q.level) < Levels)
endmodule
