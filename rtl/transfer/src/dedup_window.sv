// Remembers the last 2^WindowBits journalled operations by source and transaction id, so that a retry gets the first
// answer.
//
// The rule is that of crates/ledger/src/retries.rs: no operation is evicted before its time. The timekeeper sends
// ticks; an operation is young if it came within the last `Ticks` ticks, and a ring full of young operations has no
// room for another. Without ticks, the window accepts the first 2^WindowBits operations and then nothing.
//
// A ring holds the remembered data of each operation. An index with two buckets of four ways maps source and
// transaction id to a sequence number, and thus to a place in the ring. Index entries are never removed: one whose
// sequence number is too old counts as free. Sequence numbers have 53 bits, which last two years of continuous
// operation at 125 MHz.
//
// An operation enters in cycle 1 and advances in every cycle; there are no stalls. It is compared directly with earlier
// operations that are not in the index yet. In cycle 7 found_o is valid, and fresh_i marks the operation as one to
// remember. Its result is due in cycle 8; the remembered result appears at the output in cycle 10.

`include "assertions.svh"
`include "registers.svh"

module dedup_window
  import transfer_pkg::*;
#(
    parameter int unsigned WindowBits = 10,
    parameter int unsigned IndexWidth = 10,
    localparam int unsigned Ways = 4
) (
    input  logic                        clk_i,
    input  logic                        rst_ni,
    input  logic       [         127:0] secret_i,
    input  logic                        clear_i,
    input  logic       [IndexWidth-1:0] clear_index_i,
    // Advances time: an operation is remembered for at least Ticks - 1 tick intervals.
    input  logic                        tick_i,
    // Cycle 1: an operation that may need to be remembered.
    input  logic                        insert_i,
    input  id_t                         source_i,
    input  id_t                         transaction_i,
    // Cycle 7.
    output logic                        found_o,
    output logic                        has_room_o,
    input  logic                        fresh_i,
    // Cycle 8: data to remember.
    input  content_t content_i,
    input  result_t                     result_i,
    // Cycle 10: data remembered of the operation that was found.
    output logic                        first_same_o,  // its content equals that of this operation
    output result_t                     first_result_o,
    output logic                        first_wide_o
);
  `PARAMETER_CHECK(window, WindowBits >= 5 && WindowBits <= 20, "dedup_window: WindowBits must be from 5 to 20")
  `PARAMETER_CHECK(index, IndexWidth >= 3 && IndexWidth <= 16, "dedup_window: IndexWidth must be from 3 to 16")

  localparam int unsigned TagWidth = 64 - IndexWidth;
  localparam int unsigned SecretWidth = TagWidth + IndexWidth - 1;
  localparam int unsigned SequenceWidth = 53;
  localparam int unsigned EpochWidth = SequenceWidth - WindowBits;
  // Distance to the farthest earlier operation whose index entry this operation may have missed.
  localparam int unsigned Behind = 6;
  // More ticks evict old operations closer to their time, at a register each.
  localparam int unsigned Ticks = 8;
  // Operations that may be remembered while the young ones are being counted.
  localparam int unsigned Late = 4;

  typedef logic [TagWidth-1:0] tag_t;
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [SequenceWidth-1:0] sequence_t;
  typedef logic [WindowBits-1:0] place_t;
  // Sequence number for comparing ages: index entries are less than four windows old.
  typedef logic [WindowBits+1:0] age_t;
  // Sequence number for counting young operations: at most a window.
  typedef logic [WindowBits:0] count_t;

  typedef struct packed {
    sequence_t sequence_number;
    tag_t tag;
  } entry_t;

  // Pipeline registers are numbered by the cycle in which they are read.
  logic insert_q[2:5];
  tag_t tag_q[2:8];
  index_t index_q[2:10][2];
  logic [63:0] key_q[2:8];
  logic [Behind:1] same_q[3:6];
  logic same_last_q;
  logic [2*Ways-1:0] pick_q[6:11];
  logic fresh_q[8:12];
  sequence_t sequence_q;
  place_t place_q[8:12];

  sequence_t next_q;
  logic [EpochWidth-1:0] epoch_before_q;

  // Cycles 1 to 3: the two buckets. Their memories lie far apart, so the path to them has a cycle of its own.
  index_t [1:0] index;
  entry_t [1:0][Ways-1:0] entry, entry_q;
  logic [63:0] key;
  assign key = {source_i, transaction_i};
  for (genvar half = 0; half < 2; half++) begin : gen_half
    toeplitz_hash #(
        .DataWidth(TagWidth),
        .HashWidth(IndexWidth)
    ) u_hash (
        .secret_i(secret_i[64*half+:SecretWidth]),
        .data_i  (key[63:IndexWidth]),
        .rest_i  (key[IndexWidth-1:0]),
        .hash_o  (index[half])
    );

    for (genvar way = 0; way < Ways; way++) begin : gen_way
      ram_1r1w #(
          .Width($bits(entry_t)),
          .Depth(1 << IndexWidth)
      ) u_ram (
          .clk_i,
          .write_i        (clear_i || (fresh_q[8] && pick_q[8][Ways*half+way])),
          .write_address_i(clear_i ? clear_index_i : index_q[8][half]),
          .write_data_i   (clear_i ? '0 : {sequence_q, tag_q[8]}),
          .read_i         (1'b1),
          .read_address_i (index_q[2][half]),
          .read_data_o    (entry[half][way])
      );
    end
    `FFN(index_q[2][half], index[half])
    for (genvar cycle = 3; cycle <= 10; cycle++) begin : gen_index
      `FFN(index_q[cycle][half], index_q[cycle-1][half])
    end
  end
  `FFN(entry_q, entry)
  `FF(insert_q[2], insert_i, 1'b0)
  `FF(insert_q[3], insert_q[2], 1'b0)
  `FF(insert_q[4], insert_q[3], 1'b0)
  `FF(insert_q[5], insert_q[4], 1'b0)
  `FFN(tag_q[2], key[63:IndexWidth])
  for (genvar cycle = 3; cycle <= 8; cycle++) begin : gen_tag
    `FFN(tag_q[cycle], tag_q[cycle-1])
  end

  // Cycle 2: earlier operations with the same key.
  logic [Behind:1] same;
  `FFN(key_q[2], key)
  for (genvar cycle = 3; cycle <= 8; cycle++) begin : gen_key
    `FFN(key_q[cycle], key_q[cycle-1])
  end
  for (genvar behind = 1; behind <= Behind; behind++) begin : gen_same
    equal #(
        .Width($bits(key_q[2]))
    ) u_key (
        .a_i    (key_q[2]),
        .b_i    (key_q[2+behind]),
        .equal_o(same[behind])
    );
  end
  `FFN(same_q[3], same)
  for (genvar cycle = 4; cycle <= 6; cycle++) begin : gen_same_later
    `FFN(same_q[cycle], same_q[cycle-1])
  end
  `FFN(same_last_q, same_q[6][1])

  // Cycle 3: ways written during the read.
  logic [1:0][Ways-1:0] written, written_q;
  for (genvar half = 0; half < 2; half++) begin : gen_written
    assign written[half] = pick_q[9][Ways*half+:Ways] & {Ways{fresh_q[9] && index_q[9][half] == index_q[3][half]}};
  end
  `FFN(written_q, written)

  // Cycle 4: compare. A way written during the read is neither a hit (its operation is compared directly) nor free.
  logic [1:0][Ways-1:0] hit, hit_q, room, room_q;
  logic [1:0][Behind:1] near, near_q;
  for (genvar half = 0; half < 2; half++) begin : gen_compare
    for (genvar way = 0; way < Ways; way++) begin : gen_way
      logic [EpochWidth-1:0] epoch;
      logic live, same_tag;
      equal #(
          .Width(TagWidth)
      ) u_tag (
          .a_i    (entry_q[half][way].tag),
          .b_i    (tag_q[4]),
          .equal_o(same_tag)
      );
      assign epoch = entry_q[half][way].sequence_number[SequenceWidth-1:WindowBits];
      assign live = epoch == next_q[SequenceWidth-1:WindowBits] || epoch == epoch_before_q;
      assign hit[half][way] = same_tag && live && !written_q[half][way];
      assign room[half][way] = !live && !written_q[half][way];
    end
    for (genvar behind = 1; behind <= Behind; behind++) begin : gen_near
      assign near[half][behind] = index_q[4][half] == index_q[4+behind][half];
    end
  end
  `FFN(hit_q, hit)
  `FFN(room_q, room)
  `FFN(near_q, near)
  entry_t [1:0][Ways-1:0] entry_qq;
  `FFN(entry_qq, entry_q)

  // Cycle 5: the way to write, one that no earlier operation has taken; the one of its own expired entry, if any.
  logic [1:0][Ways-1:0] taken, left, pick;
  logic half_with_more, half_to_use;
  age_t hit_age, hit_age_q[6:7];
  logic any_hit_q;
  always_comb begin
    taken = '0;
    for (int behind = 1; behind <= Behind; behind++) begin
      for (int half = 0; half < 2; half++) begin
        taken[half] |= pick_q[5+behind][Ways*half+:Ways] & {Ways{near_q[half][behind]}};
      end
    end
    left = room_q & ~taken;
    half_with_more = $countones(room_q[1]) > $countones(room_q[0]);
    half_to_use = |left[half_with_more] ? half_with_more : !half_with_more;
  end
  logic [Ways-1:0] first_left;
  find_first #(
      .Width(Ways)
  ) u_left (
      .word_i (left[half_to_use]),
      .first_o(first_left)
  );
  always_comb begin
    pick = '0;
    pick[half_to_use] = first_left;
    if (|hit_q) pick = hit_q;
    if (!insert_q[5]) pick = '0;
    hit_age = '0;
    for (int half = 0; half < 2; half++) begin
      for (int way = 0; way < Ways; way++) begin
        hit_age |= entry_qq[half][way].sequence_number[WindowBits+1:0] & {WindowBits + 2{hit_q[half][way]}};
      end
    end
  end
  `FF(pick_q[6], pick, '0)
  for (genvar cycle = 7; cycle <= 11; cycle++) begin : gen_pick
    `FF(pick_q[cycle], pick_q[cycle-1], '0)
  end
  `FFN(hit_age_q[6], hit_age)
  `FFN(hit_age_q[7], hit_age_q[6])
  `FFN(any_hit_q, |hit_q)

  // Cycle 6: whether the hit is inside the window, or on its edge, where the immediately preceding operation may still
  // push it out.
  age_t age;
  logic inside_q, on_edge_q;
  assign age = next_q[WindowBits+1:0] - hit_age_q[6];
  `FFN(inside_q, any_hit_q && age < age_t'(1 << WindowBits))
  `FFN(on_edge_q, any_hit_q && age == age_t'(1 << WindowBits))
  logic all_young_q;
  `FFN(has_room_o, |pick_q[6] && !all_young_q)

  // Cycle 6: whether an earlier operation in flight matches, except the immediately preceding one.
  logic found_before, found_before_q;
  place_t place_before, place_before_q;
  always_comb begin
    found_before = 1'b0;
    place_before = '0;
    for (int behind = 2; behind <= Behind; behind++) begin
      found_before |= same_q[6][behind] && fresh_q[6+behind];
      place_before |= place_q[6+behind] & {WindowBits{same_q[6][behind] && fresh_q[6+behind]}};
    end
  end
  `FF(found_before_q, found_before, 1'b0)
  `FFN(place_before_q, place_before)

  // Cycle 7: found, and the end of the window.
  logic found_last;
  assign found_last = same_last_q && fresh_q[8];
  assign found_o = inside_q || (on_edge_q && !fresh_q[8]) || found_before_q || found_last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      // Starts two windows in, so that the zeros of an empty index are too old.
      next_q <= sequence_t'(2 << WindowBits);
      epoch_before_q <= EpochWidth'(1);
    end else if (fresh_i) begin
      next_q <= next_q + sequence_t'(1);
      if (&next_q[WindowBits-1:0]) epoch_before_q <= next_q[SequenceWidth-1:WindowBits];
    end
  end
  `FF(fresh_q[8], fresh_i, 1'b0)
  `FFN(sequence_q, next_q)
  // The place written if the operation is fresh, else the place to read.
  place_t place;
  always_comb begin
    place = hit_age_q[7][WindowBits-1:0];
    if (found_before_q) place = place_before_q;
    if (found_last) place = place_q[8];
    if (fresh_i) place = next_q[WindowBits-1:0];
  end
  `FFN(place_q[8], place)
  for (genvar cycle = 9; cycle <= 12; cycle++) begin : gen_fresh
    `FF(fresh_q[cycle], fresh_q[cycle-1], 1'b0)
    `FFN(place_q[cycle], place_q[cycle-1])
  end

  // Next sequence number at each of the last ticks. Operations after the oldest of these ticks are young.
  count_t at_tick_q[1:Ticks];
  count_t young_q;
  `FFE(at_tick_q[1], next_q[WindowBits:0], tick_i, '0)
  for (genvar tick = 2; tick <= Ticks; tick++) begin : gen_tick
    `FFE(at_tick_q[tick], at_tick_q[tick-1], tick_i, '0)
  end
  `FF(young_q, next_q[WindowBits:0] - at_tick_q[Ticks], '0)
  `FF(all_young_q, young_q >= count_t'((1 << WindowBits) - Late), 1'b0)

  // Cycles 8 to 10: the ring.
  typedef struct packed {
    logic [2:0] status;
    balance_t value;
  } outcome_t;
  typedef struct packed {
    content_t content;
    outcome_t outcome;
  } record_t;
  record_t record, first;
  outcome_t outcome_q;
  assign record.content = content_i;
  assign record.outcome = '{status: result_i.status[2:0], value: result_i.value};
  ram_1r1w #(
      .Width($bits(record_t)),
      .Depth(1 << WindowBits)
  ) u_ring (
      .clk_i,
      .write_i        (fresh_q[8]),
      .write_address_i(place_q[8]),
      .write_data_i   (record),
      .read_i         (1'b1),
      .read_address_i (place_q[8]),
      .read_data_o    (first)
  );
  // Pairs of bits are compared at the memory's output, because the result is timing-critical.
  localparam int unsigned Pairs = ($bits(content_t) + 1) / 2;
  content_t content_q;
  logic [2*Pairs-1:0] first_content, this_content;
  logic [Pairs-1:0] same_pairs_q;
  `FFN(content_q, content_i)
  assign first_content = (2 * Pairs)'(first.content);
  assign this_content = (2 * Pairs)'(content_q);
  for (genvar pair = 0; pair < Pairs; pair++) begin : gen_pair
    `FFN(same_pairs_q[pair], first_content[2*pair+:2] == this_content[2*pair+:2])
  end
  assign first_same_o = &same_pairs_q;

  `FFN(outcome_q, first.outcome)
  `FFN(first_wide_o, |first.outcome.value[63:32])
  assign first_result_o = '{status: status_e'({3'b0, outcome_q.status}), value: outcome_q.value};

  `ASSERT(one_entry_an_operation, !insert_q[5] || $onehot0(hit_q))
  `ASSERT(fresh_is_new, !fresh_i || (!found_o && has_room_o))
  `ASSERT(nothing_young_is_forgotten, !fresh_i || next_q[WindowBits:0] - at_tick_q[Ticks] < count_t'(1 << WindowBits))
  `ASSERT(remembered_depends_on_state, !fresh_q[8] || result_i.status < status_e'(16))
endmodule
