// Verifies headers with Equihash solutions: `Lanes` leaves per cycle, one header after the other without a gap.
//
//   header -> equihash_input -> words -> equihash_indices -> equihash_leaves -> equihash_tree --+
//                    |                      +--------> equihash_duplicates ---------------------+-> equihash_judge
//                    +-> words -> sha256_stream ------------------------------------------------+        -> verdict
//
// From the first index on nothing stalls, so at most `Messages` headers without a verdict are accepted, and all queues
// have room for that many.

`include "assertions.svh"
`include "registers.svh"

module equihash
  import equihash_pkg::*;
#(
    parameter int unsigned EquihashN = 200,
    parameter int unsigned EquihashK = 9,
    parameter int unsigned Lanes = 1,
    // See blake2b_pipeline and sha256_iterative.
    parameter int unsigned StepsPerStage = 1,
    parameter int unsigned RoundsPerCycle = 4 * Lanes,
    // Bytes of a header up to and including the nonce.
    parameter int unsigned InputBytes = 140,
    parameter int unsigned Messages = 8,
    parameter int unsigned TagWidth = 1
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    // Words of a header, see equihash_input.
    input  logic                valid_i,
    output logic                ready_o,
    input  logic [       511:0] data_i,
    input  logic                last_i,
    input  logic [        15:0] length_i,
    input  logic [        63:0] personalisation_i,
    input  logic                solution_only_i,
    input  logic [TagWidth-1:0] tag_i,
    // Result mask of the verify frame, in the order of the headers.
    output logic                valid_o,
    input  logic                ready_i,
    output logic [        63:0] mask_o,
    output logic [TagWidth-1:0] tag_o
);
  `PARAMETER_CHECK(legal, legal(EquihashN, EquihashK), "equihash: EquihashN and EquihashK are not a legal pair")
  `PARAMETER_CHECK(messages, Messages > 0, "equihash: Messages must be at least 1")
  localparam int unsigned IndexWidth = index_width(EquihashN, EquihashK);
  localparam int unsigned Before = InputBytes % 128;
  localparam int unsigned Offset = (InputBytes + prefix_bytes(EquihashN, EquihashK)) % 64;
  // Room for the words of a header and the first ones of the next.
  localparam int unsigned Depth = 32;
  localparam int unsigned CountWidth = $clog2(Messages + 1);

  // Headers without a verdict.
  logic begins, leaves, first_q, order_ready;
  logic [CountWidth-1:0] messages_q;
  assign begins = valid_i && ready_o && first_q;
  assign leaves = valid_o && ready_i;
  `FFE(first_q, last_i, valid_i && ready_o, 1'b1)
  `FFE(messages_q, begins ? messages_q + 1'b1 : messages_q - 1'b1, begins != leaves, '0)

  logic hash_valid, hash_ready, solution_valid, solution_ready, order_valid, order_good, order_hashed;
  logic leaf_valid;
  logic [63:0] hash_keep;
  logic [TagWidth-1:0] order_tag;
  logic [31:0] order_bits;
  blake2b_pkg::state_t leaf_state;
  logic [8*Before-1:0] leaf_before;
  equihash_input #(
      .EquihashN         (EquihashN),
      .EquihashK         (EquihashK),
      .InputBytes(InputBytes),
      .TagWidth  (TagWidth)
  ) u_input (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i,
      .last_i,
      .length_i,
      .personalisation_i,
      .solution_only_i,
      .tag_i,
      .has_place_i     (32'(messages_q) < Messages),
      .hash_valid_o    (hash_valid),
      .hash_ready_i    (hash_ready),
      .hash_keep_o     (hash_keep),
      .solution_valid_o(solution_valid),
      .solution_ready_i(solution_ready),
      .order_valid_o   (order_valid),
      .order_tag_o     (order_tag),
      .order_good_o    (order_good),
      .order_hashed_o  (order_hashed),
      .order_bits_o    (order_bits),
      .leaf_valid_o    (leaf_valid),
      .leaf_state_o    (leaf_state),
      .leaf_before_o   (leaf_before)
  );

  // Hash of the whole header.
  logic word_valid, word_ready, word_last, digest_valid, digest_ready, hashed_valid, hashed_ready;
  logic [511:0] word;
  logic [ 63:0] word_keep;
  logic [255:0] digest, hashed;
  logic [CountWidth-1:0] unused_hashed;
  ram_fifo #(
      .Width(512 + 64 + 1),
      .Depth(Depth)
  ) u_words (
      .clk_i,
      .rst_ni,
      .valid_i(hash_valid),
      .ready_o(hash_ready),
      .data_i ({last_i, hash_keep, data_i}),
      .valid_o(word_valid),
      .ready_i(word_ready),
      .data_o ({word_last, word_keep, word})
  );
  sha256_stream #(
      .RoundsPerCycle(RoundsPerCycle)
  ) u_hash (
      .clk_i,
      .rst_ni,
      .valid_i (word_valid),
      .ready_o (word_ready),
      .data_i  (word),
      .keep_i  (word_keep),
      .last_i  (word_last),
      .valid_o (digest_valid),
      .ready_i (digest_ready),
      .digest_o(digest)
  );
  fifo #(
      .Width(256),
      .Depth(Messages)
  ) u_digests (
      .clk_i,
      .rst_ni,
      .valid_i(digest_valid),
      .ready_o(digest_ready),
      .data_i (digest),
      .valid_o(hashed_valid),
      .ready_i(hashed_ready),
      .data_o (hashed),
      .count_o(unused_hashed)
  );

  // Indices of each header, once its first block is hashed.
  logic part_valid, part_ready, index_valid, index_last, header_valid, header_ready, leaving_valid, leaving_ready;
  logic [511:0] part;
  logic [Lanes-1:0][IndexWidth-1:0] index;
  blake2b_pkg::state_t header_state, leaving_state;
  logic [8*Before-1:0] header_before;
  logic [CountWidth-1:0] unused_headers, unused_leaving;
  logic ends, leaf_last, leaf_leaves;
  ram_fifo #(
      .Width(512),
      .Depth(Depth)
  ) u_solution (
      .clk_i,
      .rst_ni,
      .valid_i(solution_valid),
      .ready_o(solution_ready),
      .data_i (data_i),
      .valid_o(part_valid),
      .ready_i(part_ready),
      .data_o (part)
  );
  equihash_indices #(
      .Levels    (EquihashK),
      .IndexWidth(IndexWidth),
      .Offset    (Offset),
      .Lanes     (Lanes)
  ) u_indices (
      .clk_i,
      .rst_ni,
      .valid_i(part_valid),
      .ready_o(part_ready),
      .data_i (part),
      .valid_o(index_valid),
      .ready_i(header_valid),
      .index_o(index),
      .last_o (index_last)
  );
  assign ends = index_valid && header_valid && index_last;
  fifo #(
      .Width(512 + 8 * Before),
      .Depth(Messages)
  ) u_headers (
      .clk_i,
      .rst_ni,
      .valid_i(leaf_valid),
      .ready_o(header_ready),
      .data_i ({leaf_before, leaf_state}),
      .valid_o(header_valid),
      .ready_i(ends),
      .data_o ({header_before, header_state}),
      .count_o(unused_headers)
  );
  fifo #(
      .Width(512),
      .Depth(Messages)
  ) u_leaving (
      .clk_i,
      .rst_ni,
      .valid_i(leaf_valid),
      .ready_o(leaving_ready),
      .data_i (leaf_state),
      .valid_o(leaving_valid),
      .ready_i(leaf_leaves && leaf_last),
      .data_o (leaving_state),
      .count_o(unused_leaving)
  );
  `ASSERT(headers_have_room, !leaf_valid || (header_ready && leaving_ready))
  `ASSERT(leaves_have_headers, !leaf_leaves || leaving_valid)

  logic [Lanes-1:0][ EquihashN-1:0] leaf;
  logic [Lanes-1:0][IndexWidth-1:0] leaf_index;
  equihash_leaves #(
      .EquihashN            (EquihashN),
      .EquihashK            (EquihashK),
      .Lanes        (Lanes),
      .StepsPerStage(StepsPerStage),
      .Before       (Before),
      .Hashed       (InputBytes + 4)
  ) u_leaves (
      .clk_i,
      .rst_ni,
      .valid_i        (index_valid && header_valid),
      .index_i        (index),
      .last_i         (index_last),
      .state_i        (header_state),
      .before_i       (header_before),
      .leaving_state_i(leaving_state),
      .valid_o        (leaf_leaves),
      .leaf_o         (leaf),
      .index_o        (leaf_index),
      .last_o         (leaf_last)
  );

  // Rules that the trees found broken.
  logic tree_valid, tree_ready, nonzero, broken_valid, broken_nonzero;
  broken_t tree_broken, broken;
  logic [CountWidth-1:0] unused_broken;
  equihash_tree #(
      .EquihashN    (EquihashN),
      .EquihashK    (EquihashK),
      .Lanes(Lanes)
  ) u_tree (
      .clk_i,
      .rst_ni,
      .valid_i  (leaf_leaves),
      .leaf_i   (leaf),
      .index_i  (leaf_index),
      .valid_o  (tree_valid),
      .broken_o (tree_broken),
      .nonzero_o(nonzero)
  );
  logic judged;
  fifo #(
      .Width($bits(broken_t) + 1),
      .Depth(Messages)
  ) u_broken (
      .clk_i,
      .rst_ni,
      .valid_i(tree_valid),
      .ready_o(tree_ready),
      .data_i ({nonzero, tree_broken}),
      .valid_o(broken_valid),
      .ready_i(judged),
      .data_o ({broken_nonzero, broken}),
      .count_o(unused_broken)
  );
  `ASSERT(broken_have_room, !tree_valid || tree_ready)

  // Each sorter takes one index per cycle, so with two lanes two sorters alternate between headers.
  logic [Lanes-1:0] twice_valid;
  broken_t [Lanes-1:0] twice;
  logic sorts_q, judges_q;
  `FFE(sorts_q, Lanes == 2 && !sorts_q, ends, 1'b0)
  `FFE(judges_q, Lanes == 2 && !judges_q, judged, 1'b0)
  for (genvar sorter = 0; sorter < Lanes; sorter++) begin : gen_sorter
    logic enters, sorted_valid, twice_ready;
    logic [IndexWidth-1:0] sorted;
    broken_t sorted_broken;
    logic found;
    logic [CountWidth-1:0] unused_found;
    assign enters = index_valid && header_valid && (Lanes == 1 || sorts_q == sorter);
    if (Lanes == 1) begin : gen_one
      assign sorted_valid = enters;
      assign sorted = index;
    end else begin : gen_two
      // Indices arrive two per cycle and leave one per cycle: at most half of the pairs wait.
      logic pair_valid, pair_room, second_q;
      logic [1:0][IndexWidth-1:0] pair;
      logic [$clog2((1<<EquihashK)/4+3)-1:0] unused_pairs;
      fifo #(
          .Width(2 * IndexWidth),
          .Depth((1 << EquihashK) / 4 + 2)
      ) u_pairs (
          .clk_i,
          .rst_ni,
          .valid_i(enters),
          .ready_o(pair_room),
          .data_i (index),
          .valid_o(pair_valid),
          .ready_i(second_q),
          .data_o (pair),
          .count_o(unused_pairs)
      );
      `FFE(second_q, !second_q, pair_valid, 1'b0)
      assign sorted_valid = pair_valid;
      assign sorted = second_q ? pair[0] : pair[1];
      `ASSERT(pairs_have_room, !enters || pair_room)
    end
    equihash_duplicates #(
        .Levels    (EquihashK),
        .IndexWidth(IndexWidth)
    ) u_duplicates (
        .clk_i,
        .rst_ni,
        .valid_i (sorted_valid),
        .index_i (sorted),
        .valid_o (found),
        .broken_o(sorted_broken)
    );
    fifo #(
        .Width($bits(broken_t)),
        .Depth(Messages)
    ) u_twice (
        .clk_i,
        .rst_ni,
        .valid_i(found),
        .ready_o(twice_ready),
        .data_i (sorted_broken),
        .valid_o(twice_valid[sorter]),
        .ready_i(judged && (Lanes == 1 || judges_q == sorter)),
        .data_o (twice[sorter]),
        .count_o(unused_found)
    );
    `ASSERT(found_have_room, !found || twice_ready)
  end

  // Verdicts.
  logic judging_valid, judging_ready, judging_good, judging_hashed;
  logic [TagWidth-1:0] judging_tag;
  logic [31:0] judging_bits;
  logic [CountWidth-1:0] unused_orders;
  logic twice_there;
  broken_t twice_found;
  assign {twice_there, twice_found} = judges_q ? {twice_valid[Lanes-1], twice[Lanes-1]} : {twice_valid[0], twice[0]};
  fifo #(
      .Width(TagWidth + 2 + 32),
      .Depth(Messages)
  ) u_orders (
      .clk_i,
      .rst_ni,
      .valid_i(order_valid),
      .ready_o(order_ready),
      .data_i ({order_tag, order_good, order_hashed, order_bits}),
      .valid_o(judging_valid),
      .ready_i(judging_ready),
      .data_o ({judging_tag, judging_good, judging_hashed, judging_bits}),
      .count_o(unused_orders)
  );
  `ASSERT(orders_have_room, !order_valid || order_ready)
  equihash_judge #(
      .TagWidth(TagWidth)
  ) u_judge (
      .clk_i,
      .rst_ni,
      .order_valid_i   (judging_valid),
      .order_ready_o   (judging_ready),
      .order_tag_i     (judging_tag),
      .order_good_i    (judging_good),
      .order_hashed_i  (judging_hashed),
      .order_bits_i    (judging_bits),
      .hash_valid_i    (hashed_valid),
      .hash_ready_o    (hashed_ready),
      .hash_i          (hashed),
      .solution_valid_i(broken_valid && twice_there),
      .solution_ready_o(judged),
      .broken_i        (broken),
      .twice_i         (twice_found),
      .nonzero_i       (broken_nonzero),
      .valid_o,
      .ready_i,
      .mask_o,
      .tag_o
  );
endmodule
