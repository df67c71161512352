// Splits a header: its fields and the hash input before the index, the words of its solution, all words for hashing,
// and an order for the verdict. A header whose length is not the one that the parameters require, or whose length field
// says otherwise, only makes an order.

`include "assertions.svh"
`include "registers.svh"

module equihash_input
  import blake2b_pkg::*;
  import equihash_pkg::*;
#(
    parameter int unsigned EquihashN = 200,
    parameter int unsigned EquihashK = 9,
    // Bytes of a header up to and including the nonce.
    parameter int unsigned InputBytes = 140,
    parameter int unsigned TagWidth = 1,
    localparam int unsigned Before = InputBytes % 128
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    // Header, from its first byte, lowest byte first. The signals beside the word are stable for the whole header.
    input  logic                      valid_i,
    output logic                      ready_o,
    input  logic   [           511:0] data_i,
    input  logic                      last_i,
    input  logic   [            15:0] length_i,           // of the header, in bytes
    input  logic   [            63:0] personalisation_i,
    input  logic                      solution_only_i,
    input  logic   [    TagWidth-1:0] tag_i,
    // A header may begin.
    input  logic                      has_place_i,
    // Words to hash, and those with the solution.
    output logic                      hash_valid_o,
    input  logic                      hash_ready_i,
    output logic   [            63:0] hash_keep_o,
    output logic                      solution_valid_o,
    input  logic                      solution_ready_i,
    // For the verdict, once a header is complete; there is always room.
    output logic                      order_valid_o,
    output logic   [    TagWidth-1:0] order_tag_o,
    output logic                      order_good_o,       // the header has a solution
    output logic                      order_hashed_o,
    output logic   [            31:0] order_bits_o,       // target in compact form
    // Hash state before the block with the index, and the block's bytes in front of the index. There is always room.
    output logic                      leaf_valid_o,
    output state_t                    leaf_state_o,
    output logic   [    8*Before-1:0] leaf_before_o
);
  localparam int unsigned Prefix = prefix_bytes(EquihashN, EquihashK);
  localparam int unsigned HeaderBytes = InputBytes + Prefix + solution_bytes(EquihashN, EquihashK);
  localparam int unsigned Words = (HeaderBytes + 63) / 64;
  localparam int unsigned CountWidth = $clog2(Words + 1);
  localparam int unsigned PrefixWord = InputBytes / 64;
  localparam int unsigned SolutionWord = (InputBytes + Prefix) / 64;
  localparam int unsigned HeldWords = (InputBytes + 63) / 64;
  localparam int unsigned Blocks = InputBytes / 128;
  // Position of the target in a Zcash header; other headers have none.
  localparam int unsigned BitsAt = 104;
  localparam bit HasTarget = InputBytes >= BitsAt + 4;
  `PARAMETER_CHECK(input, InputBytes < 252 && Before > 0 && Before <= 124 && InputBytes % 64 + Prefix <= 64,
                   "equihash_input: the index must lie in one block and the length in one word")

  logic [CountWidth-1:0] word_q;
  logic enters, is_first, right_length, says_length, good, good_q, held_q, hashes, releases;
  assign enters   = valid_i && ready_o;
  assign is_first = word_q == '0;
  `FFE(word_q, last_i ? '0 : word_q == CountWidth'(Words) ? word_q : word_q + 1'b1, enters, '0)

  localparam logic [15:0] Length = 16'(solution_bytes(EquihashN, EquihashK));
  localparam logic [8*Prefix-1:0] Said = Prefix == 1 ? (8 * Prefix)'(Length) : (8 * Prefix)'({Length, 8'hfd});
  assign right_length = length_i == 16'(HeaderBytes);
  assign says_length  = data_i[8*(InputBytes%64)+:8*Prefix] == Said;
  assign good         = word_q == CountWidth'(PrefixWord) ? right_length && says_length : good_q;
  `FFE(good_q, !last_i && good, enters, 1'b0)

  assign hashes = right_length && !solution_only_i;
  assign ready_o = (!is_first || (has_place_i && !held_q)) && hash_ready_i && solution_ready_i;
  assign hash_valid_o = enters && hashes;
  assign hash_keep_o = last_i && HeaderBytes % 64 != 0 ? ~({64{1'b1}} << (HeaderBytes % 64)) : '1;
  assign solution_valid_o = enters && good && 32'(word_q) + 1 > SolutionWord;

  // The header is held until the blocks before the index's block are hashed.
  logic [HeldWords-1:0][511:0] header_q;
  logic [63:0] personalisation_q;
  for (genvar word = 0; word < HeldWords; word++) begin : gen_word
    `FFNE(header_q[word], data_i, enters && word_q == CountWidth'(word))
  end
  `FFNE(personalisation_q, personalisation_i, enters)
  `FF(held_q, (enters && good && word_q == CountWidth'(PrefixWord)) || (held_q && !releases), 1'b0)

  assign order_valid_o = enters && last_i;
  assign order_tag_o = tag_i;
  assign order_good_o = good;
  assign order_hashed_o = hashes;
  if (HasTarget) begin : gen_bits
    assign order_bits_o = header_q[BitsAt/64][8*(BitsAt%64)+:32];
  end else begin : gen_no_bits
    assign order_bits_o = '0;
  end

  state_t begun;
  assign begun = begin_hash(
      8'(leaves_per_hash(EquihashN) * EquihashN / 8), {32'(EquihashK), 32'(EquihashN), personalisation_q}
  );
  logic [512*HeldWords-1:0] header;
  assign header = header_q;
  assign leaf_before_o = header[1024*Blocks+:8*Before];
  assign leaf_valid_o = releases;
  if (Blocks == 1) begin : gen_block
    blake2b_iterative u_hash (
        .clk_i,
        .rst_ni,
        .valid_i(held_q),
        .state_i(begun),
        .block_i(header[1023:0]),
        .bytes_i(64'd128),
        .last_i (1'b0),
        .done_o (releases),
        .state_o(leaf_state_o)
    );
  end else begin : gen_short
    assign releases = held_q;
    assign leaf_state_o = begun;
  end
  logic unused_header;
  assign unused_header = ^header;

  `ASSUME(target_is_there, !valid_i || HasTarget || solution_only_i)
  `ASSUME(length_is_true, !valid_i || !right_length || last_i == (word_q == CountWidth'(Words - 1)))
endmodule
