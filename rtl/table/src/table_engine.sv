// Hash table core: reads, compares, expires, decides, selects and writes. Accepts one operation per cycle, in any mix
// and on any keys.
//
// # Key placement
//
// The table has two halves, and each key maps to one bucket of eight ways in each half. If both buckets are full, the
// key goes to the stash, a few entries in registers. A separate OpMove later moves it to one of its buckets: into a
// free way, or in place of another key, which then goes to the stash. Every step is a single decision in a single
// cycle, so a key is always in exactly one place.
//
// # Stages
//
//     0  operation registers address the memories        3  decide which entry is hit, written or freed
//     1  memories read; compare with the stash           4  select the old value and the entry to write
//     2  compare with the buckets, expire                5  write; the result is at the port
//
// # Forwarding instead of stalling
//
// An operation reads the memories in stage 0. That read misses the decisions of the two previous cycles and those made
// until the operation reaches its own decision. Each operation is therefore compared with the five before it: key,
// bucket, class and expiry, none of which depends on a decision. The five decisions then correct four flags per way,
// never the wide entries. An operation that may need a value still in flight carries it along. An OpMove puts a
// different key into the stash, which earlier comparisons did not cover: two empty cycles follow a move (`MoveGap`),
// after which that key is compared as a stored entry.

`include "assertions.svh"
`include "registers.svh"

module table_engine
  import table_pkg::*;
#(
    parameter int unsigned KeyWidth   = 128,
    parameter int unsigned ValueWidth = 64,
    parameter int unsigned TimeWidth  = 32,
    parameter int unsigned TagWidth   = 8,
    parameter int unsigned AddrWidth  = 9,    // bucket address within the memory of its half
    parameter int unsigned Ways       = 8,
    parameter int unsigned Stash      = 16,
    // Classes of value blocks. 1: values are inline, and there are no blocks to allocate or free.
    parameter int unsigned Classes    = 1,
    localparam int unsigned ClassWidth = Classes > 1 ? $clog2(Classes) : 1,
    localparam int unsigned SlotWidth  = $clog2(Stash),
    localparam int unsigned StashCountWidth = $clog2(Stash + 1),
    localparam int unsigned EntryWidth = 2 + TimeWidth + ValueWidth + KeyWidth
) (
    input  logic clk_i,
    input  logic rst_ni,

    // Operation, in stage 0. There is no backpressure.
    input  logic                           valid_i,
    input  op_e                            op_i,
    input  logic [   KeyWidth-1:0]         key_i,
    input  logic [ ValueWidth-1:0]         value_i,
    input  logic                           expires_i,
    input  logic [  TimeWidth-1:0]         expiry_i,   // first second in which the entry no longer exists
    input  logic [  TimeWidth-1:0]         now_i,      // time of the operation; must never decrease
    input  logic [   TagWidth-1:0]         tag_i,
    input  logic [  SlotWidth-1:0]         slot_i,     // OpMove: stash slot
    input  logic [            1:0][AddrWidth-1:0] addr_i,

    // Memories: data two cycles after the address, from before any write in the same cycle.
    output logic [1:0][AddrWidth-1:0]          read_addr_o,
    input  logic [1:0][Ways-1:0][EntryWidth-1:0] read_data_i,
    output logic [1:0][Ways-1:0]               write_o,
    output logic [1:0][AddrWidth-1:0]          write_addr_o,
    output logic [EntryWidth-1:0]              write_data_o,

    // Result, in stage 5. There is no backpressure.
    output logic                  done_o,      // an operation leaves the pipeline, with or without a result
    output logic                  valid_o,
    output status_e               status_o,
    output logic [ValueWidth-1:0] value_o,     // the key's value; for OpDelete the deleted one
    output logic [  TagWidth-1:0] tag_o,
    output op_e                   op_o,
    output logic                  found_o,     // the key had a value, live or expired: given_o, if there are classes

    // Value blocks. The uppermost bits of a value are its class. An allocated block replaces the bits between the class
    // and the length, see table_values.
    input  logic [Classes-1:0]                 avail_i,     // stage 2: a block is free for stage 3 if 4 takes none
    input  logic [Classes-1:0]                 more_i,      // stage 2: a block is free even if it does
    output logic [Classes-1:0]                 take_o,      // stage 4: takes block_i
    input  logic [ValueWidth-1:0]              block_i,     // stage 4: the value of an operation that takes a block
    output logic                               reuse_o,     // stage 4: reuses the block of old_o
    output logic [ValueWidth-1:0]              old_o,       // stage 4: the value being replaced
    output logic [ValueWidth-1:0]              new_o,       // stage 4: the operation's value, unmodified
    output logic                               give_o,      // stage 5: frees the block of given_o
    output logic [ValueWidth-1:0]              given_o,

    // Stash.
    output logic                  move_valid_o,
    input  logic                  move_ready_i,
    output logic [KeyWidth-1:0]   move_key_o,
    output logic [ClassWidth-1:0] move_class_o,  // the value itself stays in the stash until the decision
    output logic                  move_expires_o,
    output logic [TimeWidth-1:0]  move_expiry_o,
    output logic [SlotWidth-1:0]  move_slot_o,
    output logic [StashCountWidth-1:0] stash_used_o,
    // The decision now in stage 5 added or removed an entry.
    output logic                  added_o,
    output logic                  removed_o
);

  // Five operations under way leave at least one way of a bucket untouched, for a move to write.
  `PARAMETER_CHECK(ways, Ways >= 8 && Ways == 2 ** $clog2(Ways),
                   "table_engine: Ways must be a power of two, at least 8")
  `PARAMETER_CHECK(stash, Stash >= 4 && Stash == 2 ** SlotWidth,
                   "table_engine: Stash must be a power of two, at least 4")
  `PARAMETER_CHECK(classes, ValueWidth > ClassWidth, "table_engine: ValueWidth must be greater than ClassWidth")

  localparam int unsigned WayWidth = $clog2(Ways);
  localparam int unsigned WayCountWidth = $clog2(Ways + 1);

  typedef struct packed {
    logic                  used;
    logic                  expires;
    logic [TimeWidth-1:0]  expiry;
    logic [ValueWidth-1:0] value;
    logic [KeyWidth-1:0]   key;
  } entry_t;

  typedef struct packed {
    op_e                           op;
    logic [KeyWidth-1:0]           key;
    logic [ValueWidth-1:0]         value;
    logic                          expires;
    logic [TimeWidth-1:0]          expiry;
    logic [TimeWidth-1:0]          now;
    logic [TagWidth-1:0]           tag;
    logic [SlotWidth-1:0]          slot;
    logic [1:0][AddrWidth-1:0]     addr;
  } operation_t;

  // What the stash offers for a move.
  typedef struct packed {
    logic                  expires;
    logic [TimeWidth-1:0]  expiry;
    logic [ClassWidth-1:0] value_class;
    logic [KeyWidth-1:0]   key;
  } offer_t;

  // All that a decision needs to know about a way.
  typedef struct packed {
    logic used;        // holds an entry, expired or not
    logic live;        // the entry has not expired
    logic [1:0] match; // halves of the operation's key that match; combined where they are used
    logic reuses;      // its value's block has the class of the operation's value
  } flags_t;

  // Decision, as later operations need it.
  typedef struct packed {
    logic [1:0][Ways-1:0] ways;   // written; at most one
    logic [Stash-1:0]     slots;  // written; at most one
    logic                 way_used;   // the way gets a valid entry
    logic                 slot_used;  // the slot gets a valid entry
  } write_t;

  typedef struct packed {
    logic [1:0][Ways-1:0] ways;   // where the old entry is, or the new one goes
    logic [Stash-1:0]     slots;
    logic                 live;   // the key exists and has not expired
    logic                 put;    // the operation's entry was stored
    logic                 take;   // allocates a block
    logic                 reuse;  // reuses the old block
    logic                 swap;   // the way's entry moves to the slot
    logic                 full;   // no place for another key
  } decision_t;

  decision_t decision, decision4_q;

  // How an operation relates to an earlier one.
  typedef struct packed {
    logic       key;
    logic       live;      // the earlier operation's entry is live at the time of this one
    logic       class_eq;
    logic [1:0] bucket;
  } relation_t;

  function automatic logic [SlotWidth-1:0] number(input logic [Stash-1:0] one_hot);
    number = '0;
    for (int unsigned i = 0; i < Stash; i++) if (one_hot[i]) number |= SlotWidth'(i);
  endfunction

  function automatic logic [ClassWidth-1:0] class_of(input logic [ValueWidth-1:0] value);
    return Classes > 1 ? value[ValueWidth-1-:ClassWidth] : '0;
  endfunction

  function automatic logic alive(input logic expires, input logic [TimeWidth-1:0] expiry,
                                 input logic [TimeWidth-1:0] now);
    return !expires || now < expiry;
  endfunction

  // Flags of an entry that a decision wrote.
  function automatic flags_t written(input logic used, input relation_t relation);
    return
    '{used: used, live: used && relation.live, match: {2{used && relation.key}}, reuses: used && relation.class_eq}
    ;
  endfunction

  // Stages 0 to 5 of the operation itself.
  operation_t s0, s1_q, s2_q, s3_q, s4_q, s5_q;
  assign s0 = '{
      op: op_i, key: key_i, value: value_i, expires: expires_i, expiry: expiry_i, now: now_i,
      tag: tag_i, slot: slot_i, addr: addr_i
  };
  assign read_addr_o = addr_i;

  always_ff @(posedge clk_i) begin
    s1_q <= s0;
    s2_q <= s1_q;
    s3_q <= s2_q;
    s4_q <= s3_q;
    s5_q <= s4_q;
  end

  // Compares the operations in stages 0 to 2, one cycle ahead, with the earlier ones whose decisions they did not read.
  localparam int unsigned Pairs = 5;
  localparam int unsigned LaterStage[Pairs] = '{0, 0, 0, 1, 2};
  localparam int unsigned EarlierStage[Pairs] = '{3, 4, 5, 3, 3};
  operation_t [5:0] stage;
  relation_t rel1_s4_q, rel1_s5_q, rel1_s6_q;  // stage 1, with those now in 4, 5 and 6
  relation_t rel2_q, rel3_q;  // stages 2 and 3, with that now in 4
  relation_t [Pairs-1:0] relation_q;
  assign stage = {s5_q, s4_q, s3_q, s2_q, s1_q, s0};
  assign {rel3_q, rel2_q, rel1_s6_q, rel1_s5_q, rel1_s4_q} = relation_q;
  for (genvar p = 0; p < Pairs; p++) begin : gen_relation
    localparam int unsigned Later = LaterStage[p];
    localparam int unsigned Earlier = EarlierStage[p];
    relation_t relation;
    equal #(
        .Width(KeyWidth)
    ) u_key (
        .a_i    (stage[Later].key),
        .b_i    (stage[Earlier].key),
        .equal_o(relation.key)
    );
    for (genvar h = 0; h < 2; h++) begin : gen_bucket
      assign relation.bucket[h] = stage[Later].addr[h] == stage[Earlier].addr[h];
    end
    assign relation.live = alive(stage[Earlier].expires, stage[Earlier].expiry, stage[Later].now);
    assign relation.class_eq = class_of(stage[Later].value) == class_of(stage[Earlier].value);
    `FFN(relation_q[p], relation)
  end

  // Stages 1 to 5 that hold an operation.
  logic [5:1] valid_q;
  `FF(valid_q, {valid_q[4:1], valid_i}, '0)

  // Decisions in stages 4 to 6, and their values.
  write_t write_d, write4_q, write5_q, write6_q;
  logic put4_q, put5_q, put6_q;  // the operation's entry was stored, with its value
  logic [ValueWidth-1:0] value4, value5_q, value6_q;

  ////////////////////////////////////////////////////////////////////////
  // Stages 0 and 1: the three decisions that the read missed.

  logic [1:0][Ways-1:0] over_d, over2_q;  // ways overwritten since the read
  flags_t [1:0][Ways-1:0] flags_d, flags2_q;
  always_comb begin
    over_d  = '0;
    flags_d = '0;
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) begin
        if (rel1_s6_q.bucket[h] && write6_q.ways[h][w]) begin
          over_d[h][w]  = 1'b1;
          flags_d[h][w] = written(write6_q.way_used, rel1_s6_q);
        end
        if (rel1_s5_q.bucket[h] && write5_q.ways[h][w]) begin
          over_d[h][w]  = 1'b1;
          flags_d[h][w] = written(write5_q.way_used, rel1_s5_q);
        end
        if (rel1_s4_q.bucket[h] && write4_q.ways[h][w]) begin
          over_d[h][w]  = 1'b1;
          flags_d[h][w] = written(write4_q.way_used, rel1_s4_q);
        end
      end
    end
  end

  // A value stored by one of them.
  logic carried2_q, pending2_q;
  logic [ValueWidth-1:0] carry2_q;
  always_ff @(posedge clk_i) begin
    over2_q    <= over_d;
    flags2_q   <= flags_d;
    carried2_q <= (put4_q && rel1_s4_q.key) || (put5_q && rel1_s5_q.key) || (put6_q && rel1_s6_q.key);
    pending2_q <= put4_q && rel1_s4_q.key;
    carry2_q   <= put5_q && rel1_s5_q.key ? value5_q : value6_q;
  end

  // The stash is compared a stage before the buckets, so that no key register drives both sets of comparators. The
  // entries are in registers for the comparison with all of them, but only with the class of their values. Accesses to
  // a single entry read it from a distributed memory.
  entry_t [Stash-1:0] stash_q;
  (* ram_style = "distributed" *) offer_t offers_q[Stash];
  (* ram_style = "distributed" *) logic [ValueWidth-1:0] slot_values_q[Stash];
  flags_t [Stash-1:0] stash2_q;
  entry_t stored3_d, stored3_q, stored3;
  flags_t stored1_q;  // stage 1, with what the operation in stage 4 may put into the stash
  logic   fills_slot;  // that operation fills the slot
  assign fills_slot = write4_q.slot_used || decision4_q.swap;

  function automatic flags_t compare(input entry_t entry, input operation_t operation, input logic [1:0] same);
    return
    '{
        used: entry.used,
        live: entry.used && alive(entry.expires, entry.expiry, operation.now),
        match: same & {2{entry.used}},
        reuses: entry.used && class_of(entry.value) == class_of(operation.value)
    }
    ;
  endfunction

  // Matching halves of the operation's key, per place.
  logic [1:0] stored_same;
  logic [Stash-1:0][1:0] slot_same;
  for (genvar k = 0; k < 2; k++) begin : gen_stash_same
    equal #(
        .Width(KeyWidth / 2)
    ) u_stored (
        .a_i    (stored3.key[k*KeyWidth/2+:KeyWidth/2]),
        .b_i    (s0.key[k*KeyWidth/2+:KeyWidth/2]),
        .equal_o(stored_same[k])
    );
    for (genvar i = 0; i < Stash; i++) begin : gen_slot
      equal #(
          .Width(KeyWidth / 2)
      ) u_slot (
          .a_i    (stash_q[i].key[k*KeyWidth/2+:KeyWidth/2]),
          .b_i    (s1_q.key[k*KeyWidth/2+:KeyWidth/2]),
          .equal_o(slot_same[i][k])
      );
    end
  end

  always_ff @(posedge clk_i) begin
    stored1_q <= compare(stored3, s0, stored_same);
    for (int unsigned i = 0; i < Stash; i++) begin
      if (write4_q.slots[i]) stash2_q[i] <= fills_slot ? stored1_q : '0;
      else stash2_q[i] <= compare(stash_q[i], s1_q, slot_same[i]);
    end
  end

  ////////////////////////////////////////////////////////////////////////
  // Stage 2: compare and expire, for the decision in stage 3.

  entry_t [1:0][Ways-1:0] read2;
  assign read2 = read_data_i;
  logic [1:0][Ways-1:0][1:0] way_same;
  for (genvar h = 0; h < 2; h++) begin : gen_half_same
    for (genvar w = 0; w < Ways; w++) begin : gen_way
      for (genvar k = 0; k < 2; k++) begin : gen_part
        equal #(
            .Width(KeyWidth / 2)
        ) u_way (
            .a_i    (read2[h][w].key[k*KeyWidth/2+:KeyWidth/2]),
            .b_i    (s2_q.key[k*KeyWidth/2+:KeyWidth/2]),
            .equal_o(way_same[h][w][k])
        );
      end
    end
  end

  logic [1:0][Ways-1:0] over3_d, over3_q, free3_q;
  logic [Stash-1:0] moved3_q;  // slot of a move, one-hot
  flags_t [1:0][Ways-1:0] flags3_d, flags3_q;
  flags_t [Stash-1:0] stash3_d, stash3_q;
  logic prefer3_d, prefer3_q;
  logic [1:0][WayCountWidth-1:0] used_count;
  always_comb begin
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) begin
        over3_d[h][w]  = over2_q[h][w];
        flags3_d[h][w] = over2_q[h][w] ? flags2_q[h][w] : compare(read2[h][w], s2_q, way_same[h][w]);
        if (rel2_q.bucket[h] && write4_q.ways[h][w]) begin
          over3_d[h][w]  = 1'b1;
          flags3_d[h][w] = written(write4_q.way_used, rel2_q);
        end
      end
    end
    for (int unsigned i = 0; i < Stash; i++) begin
      stash3_d[i] = write4_q.slots[i] ? written(write4_q.slot_used, rel2_q) : stash2_q[i];
    end
    // Prefer the half with more room as read. Stale counts affect only the balance.
    used_count = '0;
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) used_count[h] += WayCountWidth'(read2[h][w].used);
    end
    prefer3_d = used_count[1] < used_count[0];
  end

  // Only the value of a read entry goes on: its key and time have been compared. The value that matched as read is
  // selected in the next cycle, before the decision; later values are carried. For a move, it is the value of the entry
  // that may be evicted.
  logic [1:0][Ways-1:0][ValueWidth-1:0] value3_q;
  logic slot_matches3_q;
  logic [SlotWidth-1:0] slot_match3_q;

  // Entry that may go into the stash: the operation's own or, for a move, the one that it may evict. Any entry that was
  // not written since the read will do, so the victim is drawn before the read.
  logic [7:0] random_q;
  logic [1:0][Ways-1:0] draw2_q, victim3_q, select3_q;
  logic moves2;
  assign moves2 = s2_q.op == OpMove;
  always_comb begin
    stored3_d = '{used: 1'b1, expires: s2_q.expires, expiry: s2_q.expiry, value: '0, key: s2_q.key};
    if (moves2) stored3_d = '0;
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) stored3_d |= {EntryWidth{draw2_q[h][w]}} & read2[h][w];
    end
  end
  logic moves3;
  logic [ValueWidth-1:0] way_value3;
  assign moves3 = s3_q.op == OpMove;
  always_comb begin
    way_value3 = '0;
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) begin
        way_value3 |= {ValueWidth{select3_q[h][w]}} & value3_q[h][w];
      end
    end
    stored3 = stored3_q;
    stored3.value = moves3 ? way_value3 : s3_q.value;
  end

  logic carried3_q, pending3_q;
  logic [ValueWidth-1:0] carry3_q;
  logic [Stash-1:0] slot_match2;
  for (genvar i = 0; i < Stash; i++) begin : gen_slot_match
    assign slot_match2[i] = &stash2_q[i].match;
  end
  always_ff @(posedge clk_i) begin
    over3_q <= over3_d;
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) begin
        // An expired entry of another key that is still being written could not free its block.
        free3_q[h][w] <= !flags3_d[h][w].used || (!flags3_d[h][w].live && !over3_d[h][w]);
      end
    end
    moved3_q   <= Stash'(1) << s2_q.slot;
    flags3_q   <= flags3_d;
    stash3_q   <= stash3_d;
    prefer3_q  <= prefer3_d;
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) begin
        value3_q[h][w]  <= read2[h][w].value;
        draw2_q[h][w]   <= s1_q.op == OpMove && {h[0], WayWidth'(w)} == random_q[WayWidth:0];
        select3_q[h][w] <= draw2_q[h][w] || (&way_same[h][w] && read2[h][w].used && !over3_d[h][w]);
      end
    end
    slot_matches3_q <= |slot_match2;
    slot_match3_q   <= number(slot_match2);
    victim3_q  <= draw2_q;
    stored3_q  <= stored3_d;
    carried3_q <= carried2_q || (put4_q && rel2_q.key);
    pending3_q <= put4_q && rel2_q.key;
    carry3_q   <= pending2_q ? value5_q : carry2_q;
  end

  ////////////////////////////////////////////////////////////////////////
  // Stage 3: the decision.

  // Places that the last decision wrote, and places that hold an entry, including by that decision.
  logic [1:0][Ways-1:0] rewritten, used3;
  logic [Stash-1:0] slot_used3;
  always_comb begin
    for (int unsigned h = 0; h < 2; h++) begin
      rewritten[h] = write4_q.ways[h] & {Ways{rel3_q.bucket[h]}};
      for (int unsigned w = 0; w < Ways; w++) used3[h][w] = rewritten[h][w] ? write4_q.way_used : flags3_q[h][w].used;
    end
    for (int unsigned i = 0; i < Stash; i++) slot_used3[i] = write4_q.slots[i] ? write4_q.slot_used : stash3_q[i].used;
  end

  // busy: a move of the stash entry is in flight. fresh: nothing has written the entry since that move started.
  logic [Stash-1:0] busy_q, fresh_q;
  logic [Stash-1:0] waiting;  // holds an entry, with no move in flight

  logic found;
  logic [1:0][Ways-1:0] way_kept, way_live, way_match, way_free;
  logic [Stash-1:0] slot_kept, slot_live, slot_match, slot_free, slot_move;
  always_comb begin
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) begin
        // The key was here and still is, or the last decision put it here.
        way_kept[h][w]  = &flags3_q[h][w].match && !rewritten[h][w];
        way_live[h][w]  = way_kept[h][w] && flags3_q[h][w].live;
        way_match[h][w] = way_kept[h][w] || (rel3_q.key && write4_q.way_used && write4_q.ways[h][w]);
        // A place that the last decision wrote counts as taken, even if it was freed. This keeps the search out of the
        // loop.
        way_free[h][w]  = free3_q[h][w] && !rewritten[h][w];
      end
    end
    for (int unsigned i = 0; i < Stash; i++) begin
      slot_kept[i]  = &stash3_q[i].match && !write4_q.slots[i];
      slot_live[i]  = slot_kept[i] && stash3_q[i].live;
      slot_match[i] = slot_kept[i] || (rel3_q.key && write4_q.slot_used && write4_q.slots[i]);
      slot_free[i]  = !stash3_q[i].live && !write4_q.slots[i];
      slot_move[i]  = moved3_q[i] && fresh_q[i] && !write4_q.slots[i];
    end
  end

  logic [1:0][Ways-1:0] first_way;
  logic [Stash-1:0] first_slot;
  for (genvar h = 0; h < 2; h++) begin : gen_first
    find_first #(
        .Width(Ways)
    ) u_way (
        .word_i (way_free[h]),
        .first_o(first_way[h])
    );
  end
  find_first #(
      .Width(Stash)
  ) u_slot (
      .word_i (slot_free),
      .first_o(first_slot)
  );

  // A value fits where a block of its class is, or anywhere if a block is available. Evaluated for each place in
  // parallel with the search.
  logic has_block, inserts3, updates3, last_again;
  logic [1:0][Ways-1:0] way_reuses, way_fits, way_again;
  logic [Stash-1:0] slot_reuses, slot_fits, slot_again;
  if (Classes > 1) begin : gen_has_block
    logic avail_q, more_q;
    always_ff @(posedge clk_i) begin
      avail_q <= avail_i[class_of(s2_q.value)];
      more_q  <= more_i[class_of(s2_q.value)];
    end
    assign has_block = decision4_q.take && rel3_q.class_eq ? more_q : avail_q;
  end else begin : gen_no_blocks
    logic unused_avail;
    assign unused_avail = ^{avail_i, more_i};
    assign has_block = 1'b1;
  end
  always_comb begin
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) way_reuses[h][w] = flags3_q[h][w].reuses;
    end
    for (int unsigned i = 0; i < Stash; i++) slot_reuses[i] = stash3_q[i].reuses;
    way_fits  = has_block ? '1 : way_reuses;
    slot_fits = has_block ? '1 : slot_reuses;
  end

  // Places where the key was and still is, and where the new value fits. Each one alone proves that the key was found
  // (and for an update, is live), so there is no wait for an OR over all places. The last decision's place counts only
  // if that decision stored the same key. Such a place is not free either, so the fit may be the one before that
  // decision.
  assign inserts3 = s3_q.op == OpInsert;
  assign updates3 = s3_q.op == OpUpdate;
  assign last_again = rel3_q.key && (has_block || rel3_q.class_eq) && (inserts3 || (updates3 && rel3_q.live));
  always_comb begin
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) begin
        way_again[h][w] = way_kept[h][w] && way_fits[h][w] && (inserts3 || (updates3 && flags3_q[h][w].live));
      end
    end
    for (int unsigned i = 0; i < Stash; i++) begin
      slot_again[i] = slot_kept[i] && slot_fits[i] && (inserts3 || (updates3 && stash3_q[i].live));
    end
  end

  logic room, half;
  assign room = |way_free;
  assign half = |way_free[prefer3_q] ? prefer3_q : !prefer3_q;

  // Whether the first free place has a block of this class, found by a parallel reduction rather than after the first
  // place is known.
  logic [1:0] first_way_reuses;
  logic first_slot_reuses, reuses_free;
  for (genvar h = 0; h < 2; h++) begin : gen_first_reuses
    priority_mux #(
        .Width(Ways)
    ) u_way (
        .select_i(way_free[h]),
        .data_i  (way_reuses[h]),
        .data_o  (first_way_reuses[h])
    );
  end
  priority_mux #(
      .Width(Stash)
  ) u_slot_reuses (
      .select_i(slot_free),
      .data_i  (slot_reuses),
      .data_o  (first_slot_reuses)
  );
  assign reuses_free = room ? first_way_reuses[half] : first_slot_reuses;

  always_comb begin
    automatic logic [1:0][Ways-1:0] free_way, victim;

    found = |way_kept || |slot_kept || (rel3_q.key && put4_q);

    for (int unsigned h = 0; h < 2; h++) free_way[h] = half == h[0] ? first_way[h] : '0;

    victim = victim3_q & ~over3_q & ~rewritten;

    decision = '0;
    decision.live = |way_live || |slot_live || (rel3_q.key && put4_q && rel3_q.live);
    decision.full = !(room || |slot_free);
    unique case (s3_q.op)
      OpInsert, OpUpdate: begin
        decision.ways  = way_again | {2 * Ways{last_again && write4_q.way_used}} & write4_q.ways |
            (inserts3 && !found ? free_way & way_fits : '0);
        decision.slots = slot_again | {Stash{last_again && write4_q.slot_used}} & write4_q.slots |
            (inserts3 && !found && !room ? first_slot & slot_fits : '0);
        decision.put   = |way_again || |slot_again || (last_again && put4_q) ||
            (inserts3 && !found && (has_block ? room || |slot_free : reuses_free));
        decision.reuse = Classes > 1 && (|(way_again & way_reuses) || |(slot_again & slot_reuses) ||
            (last_again && put4_q && rel3_q.class_eq) || (inserts3 && !found && reuses_free));
        decision.take  = Classes > 1 && decision.put && !decision.reuse;
      end

      OpDelete: begin
        // Also removes an expired entry, but reports it as not found.
        decision.ways  = way_match;
        decision.slots = slot_match;
      end

      OpMove: begin
        // If no way is available, the entry stays in its slot.
        if (room || |victim) decision.slots = slot_move;
        else decision.slots = slot_move & slot_free;
        if (|(slot_move & ~slot_free) && (room || |victim)) begin
          decision.ways = room ? free_way : victim;
          decision.swap = !room;
          decision.put  = 1'b1;
        end
      end

      default: ;
    endcase

    if (!valid_q[3]) decision = '0;

    write_d.ways      = decision.ways;
    write_d.slots     = decision.slots;
    write_d.way_used  = decision.put;
    write_d.slot_used = decision.put && s3_q.op != OpMove;
  end

  `FF(decision4_q, decision, '0)
  `FF(write4_q, write_d, '0)
  `FF(write5_q, write4_q, '0)
  `FF(write6_q, write5_q, '0)
  assign put4_q = decision4_q.put;
  `FF(put5_q, put4_q, 1'b0)
  `FF(put6_q, put5_q, 1'b0)

  // The value of the operation's key, as read or stored since, except by the previous decision. For a move, it is in
  // the slot.
  logic pending4_q;
  logic [ValueWidth-1:0] matched3, carry4_q;
  always_comb begin
    matched3 = moves3 ? '0 : way_value3;
    matched3 |= {ValueWidth{slot_matches3_q}} & slot_values_q[slot_match3_q];
    if (carried3_q) matched3 = pending3_q ? value5_q : carry3_q;
  end

  entry_t stored4_q;
  always_ff @(posedge clk_i) begin
    carry4_q   <= matched3;
    pending4_q <= put4_q && rel3_q.key;
    stored4_q  <= stored3;
  end

  ////////////////////////////////////////////////////////////////////////
  // Stage 4: old value, new entry.

  // Places that hold an entry, and whether one holds the operation's key.
  logic [      1:0][Ways-1:0] used4_q;
  logic [Stash-1:0]           slot_used4_q;
  logic                       found4_q;
  always_ff @(posedge clk_i) begin
    found4_q <= found;
    used4_q      <= used3;
    slot_used4_q <= slot_used3;
  end

  // Whether the written or freed place held an entry. A move that stores an entry clears its slot.
  logic old_used4, moves4, give4;
  assign moves4 = s4_q.op == OpMove;
  assign old_used4 = |(decision4_q.ways & used4_q) ||
      (|(decision4_q.slots & slot_used4_q) && !(moves4 && decision4_q.put));
  assign give4 = old_used4 && !decision4_q.swap && !decision4_q.reuse;
  `FF(added_o, decision4_q.put && !old_used4 && !moves4, 1'b0)
  `FF(removed_o, moves4 ? give4 : !decision4_q.put && old_used4, 1'b0)

  entry_t entry5_d, entry5_q;
  logic [ValueWidth-1:0] known_value, old_value, new_value;
  assign known_value = pending4_q ? value5_q : carry4_q;

  // Replacing an expired entry with another key frees the expired entry's block.
  if (Classes > 1) begin : gen_expired
    // Values at the free place of each half and of the stash, read in parallel with the decision between them.
    logic [1:0][ValueWidth-1:0] way_value, way_value_q;
    logic [ValueWidth-1:0] expired_value;
    logic [ SlotWidth-1:0] first_slot_q;
    logic room_q, half_q;
    always_comb begin
      way_value = '0;
      for (int unsigned h = 0; h < 2; h++) begin
        for (int unsigned w = 0; w < Ways; w++) way_value[h] |= {ValueWidth{first_way[h][w]}} & value3_q[h][w];
      end
    end
    always_ff @(posedge clk_i) begin
      way_value_q <= way_value;
      first_slot_q <= number(first_slot);
      room_q      <= room;
      half_q      <= half;
    end
    assign expired_value = room_q ? way_value_q[half_q] : slot_values_q[first_slot_q];
    assign old_value = (moves4 ? decision4_q.put : !found4_q) ? expired_value : known_value;
    assign new_value = block_i;

    `ASSERT(written_value_is_not_given,
            !(slot_writes5_q && decision4_q.put && !found4_q && !room_q && first_slot_q == slot5_q) || moves4)
  end else begin : gen_inline
    assign old_value = known_value;
    assign new_value = s4_q.value;
    logic unused_block;
    assign unused_block = ^block_i;
  end
  assign value4   = moves4 ? known_value : new_value;
  assign entry5_d = '{used: decision4_q.put, expires: s4_q.expires, expiry: s4_q.expiry, value: value4, key: s4_q.key};

  assign reuse_o = decision4_q.reuse;
  assign old_o   = old_value;
  assign new_o   = s4_q.value;
  always_comb begin
    take_o = '0;
    take_o[class_of(s4_q.value)] = decision4_q.take;
  end

  // Status of an operation that stored or found nothing.
  logic puts4, hit4;
  status_e status4, status5_q;
  assign puts4 = s4_q.op inside {OpInsert, OpUpdate};
  assign hit4  = decision4_q.live && (!puts4 || decision4_q.put);
  always_comb begin
    status4 = StatusOk;
    if (s4_q.op != OpInsert && !decision4_q.live) status4 = StatusNotFound;
    else if (puts4 && !decision4_q.put) status4 = decision4_q.full && !found4_q ? StatusFull : StatusNoRoom;
  end

  logic valid5_q, give5_q, found5_q;
  logic [ValueWidth-1:0] result5_q, given5_q;
  always_ff @(posedge clk_i) begin
    entry5_q <= entry5_d;
    value5_q <= value4;
    value6_q <= value5_q;
    given5_q <= old_value;
    found5_q <= found4_q;
    status5_q <= status4;
    result5_q <= decision4_q.put ? new_value : hit4 ? old_value : '0;
  end
  `FF(valid5_q, valid_q[4] && s4_q.op != OpMove, 1'b0)
  `FF(give5_q, give4, 1'b0)

  ////////////////////////////////////////////////////////////////////////
  // Stage 5: write and result.

  assign write_o      = write5_q.ways;
  assign write_addr_o = s5_q.addr;
  assign write_data_o = entry5_q;
  assign done_o       = valid_q[5];
  assign valid_o      = valid5_q;
  assign status_o     = status5_q;
  assign value_o      = result5_q;
  assign tag_o        = s5_q.tag;
  assign op_o         = s5_q.op;
  assign found_o      = found5_q;
  assign give_o       = give5_q;
  assign given_o      = given5_q;

  ////////////////////////////////////////////////////////////////////////
  // The stash: registers are written at the end of stage 4, memories at the end of stage 5.

  logic move_starts;
  logic [Stash-1:0] next_place_q, slot_used;
  assign move_starts = move_valid_o && move_ready_i;

  // The memories are written a cycle later because the block is known late. Nobody reads a slot's value in the two
  // cycles after the decision to write it, and a slot being offered is bypassed. Its class is already known.
  logic slot_writes5_q;
  logic [SlotWidth-1:0] slot5_q;
  logic [ValueWidth-1:0] slot_value5_q;
  offer_t offer5_q;
  `FF(slot_writes5_q, |write4_q.slots, 1'b0)
  always_ff @(posedge clk_i) begin
    slot5_q       <= number(write4_q.slots);
    slot_value5_q <= Classes > 1 && !moves4 ? block_i : stored4_q.value;
    offer5_q      <= '{stored4_q.expires, stored4_q.expiry, class_of(stored4_q.value), stored4_q.key};
    if (slot_writes5_q) begin
      offers_q[slot5_q]      <= offer5_q;
      slot_values_q[slot5_q] <= slot_value5_q;
    end
  end

  for (genvar i = 0; i < Stash; i++) begin : gen_slot
    logic used_q;
    logic [EntryWidth-2:0] store_q;
    `FFE(used_q, fills_slot, write4_q.slots[i], 1'b0)
    `FFNE(store_q, stored4_q[EntryWidth-2:0], write4_q.slots[i])
    assign stash_q[i] = {used_q, store_q};
    assign slot_used[i] = used_q;

    logic starts, decides;
    assign starts  = move_starts && next_place_q[i];
    assign decides = valid_q[3] && s3_q.op == OpMove && moved3_q[i];
    `FFE(busy_q[i], starts, starts || decides, 1'b0)
    `FFE(fresh_q[i], !write4_q.slots[i], starts || write4_q.slots[i], 1'b0)
    assign waiting[i] = used_q && !busy_q[i];
  end
  // Selects the victim: any key will do, but not always the same one.
  `FF(random_q, {random_q[6:0], random_q[7] ^ random_q[5] ^ random_q[4] ^ random_q[3]}, 8'd1)

  // The next slot to move, round robin, as a number and one-hot. It is offered from a register, unless it is being
  // written. The entry may disappear while it is offered: moving an empty slot does nothing.
  logic [SlotWidth-1:0] next_q;
  logic next_waits, goes_on, offer_q;
  offer_t offered_q;
  assign next_waits = |(waiting & next_place_q);
  assign goes_on = !next_waits || move_starts;
  `FF(offer_q, !goes_on && (write4_q.slots & next_place_q) == '0, 1'b0)
  `FFE(next_q, next_q + 1'b1, goes_on, '0)
  `FFE(next_place_q, {next_place_q[Stash-2:0], next_place_q[Stash-1]}, goes_on, Stash'(1))
  always_ff @(posedge clk_i) offered_q <= slot_writes5_q && slot5_q == next_q ? offer5_q : offers_q[next_q];
  assign move_valid_o   = offer_q;
  assign move_slot_o    = next_q;
  assign move_key_o     = offered_q.key;
  assign move_class_o   = offered_q.value_class;
  assign move_expires_o = offered_q.expires;
  assign move_expiry_o  = offered_q.expiry;

  logic unused_fields;
  assign unused_fields = ^{stored3_q.value, stored4_q.used};

  `FFE(stash_used_o, fills_slot ? stash_used_o + 1'b1 : stash_used_o - 1'b1,
       |write4_q.slots && fills_slot != |(write4_q.slots & slot_used), '0)

  ////////////////////////////////////////////////////////////////////////
  // Invariants.

  logic [1:0][Ways-1:0] way_matches;
  always_comb begin
    for (int unsigned h = 0; h < 2; h++) begin
      for (int unsigned w = 0; w < Ways; w++) way_matches[h][w] = &flags3_q[h][w].match;
    end
  end
  `ASSERT(a_key_is_in_one_place, !valid_q[3] || s3_q.op == OpMove || $onehot0({way_match, slot_match}))
  `ASSERT(what_is_found_matches, !valid_q[3] || s3_q.op == OpMove || found == |{way_match, slot_match})
  `ASSERT(matched_value_is_selected, !valid_q[3] || carried3_q || select3_q == (victim3_q | way_matches))
  // `number` needs a one-hot input.
  `ASSERT(one_slot_matches, !valid_q[2] || $onehot0(slot_match2))
  `ASSERT(written_value_is_not_read,
          !(slot_writes5_q && valid_q[3] && |slot_kept && !carried3_q && slot_match3_q == slot5_q))
  `ASSERT(stash_is_counted, 32'(stash_used_o) == $countones(slot_used))
  `ASSERT(one_place_is_written, $onehot0(decision.ways) && $onehot0(decision.slots))
  `ASSERT(time_does_not_go_back, !(valid_i && valid_q[1]) || now_i >= s1_q.now)

endmodule
