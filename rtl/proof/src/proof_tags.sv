// Serialises everything that happens to the proof cache: lookups, announcements and fills pass through one pipeline,
// and the decision that an operation makes in its one cycle holds for all later ones.
//
// The rules are those of crates/proof: a reply is bound to the epoch of its chain, and one from the index also to the
// number of the tip; a reply is cached only if it refers to the current tip, and not while a block is being announced;
// keys are compared in full. An operation that changes tags is followed by `Gap` empty cycles (proof_cache), so that no
// operation reads tags that are about to change.

`include "assertions.svh"
`include "registers.svh"

module proof_tags
  import proof_pkg::*;
#(
    parameter int unsigned Sets      = 256,
    parameter int unsigned Ways      = 4,
    parameter int unsigned LenWidth  = 11,
    parameter int unsigned WithWidth = 1,
    localparam int unsigned SetWidth = $clog2(Sets),
    localparam int unsigned WayWidth = $clog2(Ways)
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic ready_o,  // all tags are cleared

    input  logic                         valid_i,
    input  logic [SetWidth-1:0]          set_i,
    // One cycle later: the chain of the operation's key.
    input  logic                         chain_i,
    // Two cycles later.
    input  op_e                          op_i,
    input  key_t                         key_i,
    input  tip_t                         tip_i,     // new tip; OpClaim, OpCommit: the reply's tip
    input  logic [        255:0]         parent_i,  // OpExtend: hash of the previous tip
    input  logic [ LenWidth-1:0]         length_i,  // OpCommit
    input  logic [ WithWidth-1:0]        with_i,

    // Four cycles later.
    output logic                         valid_o,
    output op_e                          op_o,
    output logic [ WithWidth-1:0]        with_o,
    output key_t                         key_o,
    // OpLookup: hit; OpForget: the reply was cached; OpClaim: may be cached; OpCommit: cached.
    output logic                         hit_o,
    output logic [SetWidth+WayWidth-1:0] place_o,   // OpLookup: the reply's place; OpClaim: the place to fill
    output logic [ LenWidth-1:0]         length_o,  // OpLookup
    output tip_t                         tip_o      // OpLookup: tip of the key's chain
);
  // Keys, tips and parents are compared in this many parts, which the decision combines.
  localparam int unsigned Parts = 4;

  typedef struct packed {
    logic                valid;
    logic [31:0]         epoch;
    logic [31:0]         number;
    logic [LenWidth-1:0] length;
    key_t                key;
  } tag_t;

  typedef struct packed {
    logic [31:0] epoch;   // number of earlier reorganisations
    logic [31:0] number;  // number of earlier announcements; 0 before the first
  } generation_t;

  // Stages: 0 read, 1 memory register, 2 compare, 3 decide, 4 output and write. Tags, generations and chain state
  // change after stage 4 of the operation that changes them; because of the gap, the next operation is then in stage 0
  // at the earliest.
  logic [4:1] valid_q;
  logic [SetWidth-1:0] set1_q, set2_q, set3_q;
  op_e op3_q;
  key_t key3_q;
  tip_t new_tip3_q;
  logic [LenWidth-1:0] length_i3_q;
  logic [WithWidth-1:0] with3_q;
  `FF(valid_q, {valid_q[3:1], valid_i}, '0)
  always_ff @(posedge clk_i) begin
    {set1_q, set2_q, set3_q} <= {set_i, set1_q, set2_q};
    {op3_q, key3_q, new_tip3_q, length_i3_q, with3_q} <= {op_i, key_i, tip_i, length_i, with_i};
  end

  ////////////////////////////////////////////////////////////////////////
  // Tags.

  logic clearing_q;
  logic [SetWidth-1:0] clear_q;
  `FFE(clear_q, clear_q + 1'b1, clearing_q, '0)
  `FFE(clearing_q, 1'b0, clear_q == SetWidth'(Sets - 1), 1'b1)

  tag_t [Ways-1:0] read1, tags2_q;
  logic [    Ways-1:0][LenWidth-1:0] length3_q;
  logic [    Ways-1:0]               write4_q;
  logic [SetWidth-1:0]               write_set4_q;
  tag_t                              write_tag;
  for (genvar w = 0; w < Ways; w++) begin : gen_way
    ram_1r1w #(
        .Width($bits(tag_t)),
        .Depth(Sets)
    ) u_tags (
        .clk_i,
        .write_i        (write4_q[w]),
        .write_address_i(write_set4_q),
        .write_data_i   (write_tag),
        .read_i         (1'b1),
        .read_address_i (set_i),
        .read_data_o    (read1[w])
    );
  end
  `FFN(tags2_q, read1)

  // Tips of both chains, and the tip of the operation's chain.
  (* ram_style = "distributed" *) tip_t tips_q[2];
  tip_t tip2_q, tip3_q;
  logic tip_changes;
  always_ff @(posedge clk_i) begin
    if (tip_changes) tips_q[key3_q[4]] <= new_tip3_q;
    tip2_q <= tips_q[chain_i];
    tip3_q <= tip2_q;
  end

  ////////////////////////////////////////////////////////////////////////
  // Stage 2: compare.

  // Whether the key matches the operation's; and whether the entry is valid as of its own chain's tip, and for its own
  // query.
  logic [Ways-1:0][Parts-1:0] key_is3_q;
  logic [Ways-1:0] true3_q;
  logic [Parts-1:0] tip_is3_q, parent_is3_q;
  generation_t [1:0] generation_q;
  logic [1:0] announcing_q, known_q;
  // Replies may be cached.
  logic takes3_q;
  localparam int unsigned KeyPart = $bits(key_t) / Parts;
  localparam int unsigned TipPart = $bits(tip_t) / Parts;
  localparam int unsigned ParentPart = $bits(parent_i) / Parts;
  logic [Ways-1:0][Parts-1:0] same_key;
  logic [Parts-1:0] same_tip, same_parent;
  for (genvar p = 0; p < Parts; p++) begin : gen_same
    for (genvar w = 0; w < Ways; w++) begin : gen_way
      equal #(
          .Width(KeyPart)
      ) u_key (
          .a_i    (tags2_q[w].key[p*KeyPart+:KeyPart]),
          .b_i    (key_i[p*KeyPart+:KeyPart]),
          .equal_o(same_key[w][p])
      );
    end
    equal #(
        .Width(TipPart)
    ) u_tip (
        .a_i    (tip2_q[p*TipPart+:TipPart]),
        .b_i    (tip_i[p*TipPart+:TipPart]),
        .equal_o(same_tip[p])
    );
    equal #(
        .Width(ParentPart)
    ) u_parent (
        .a_i    (tip2_q[p*ParentPart+:ParentPart]),
        .b_i    (parent_i[p*ParentPart+:ParentPart]),
        .equal_o(same_parent[p])
    );
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned w = 0; w < Ways; w++) begin
      length3_q[w] <= tags2_q[w].length;
      true3_q[w] <= tags2_q[w].valid && tags2_q[w].epoch == generation_q[tags2_q[w].key[4]].epoch &&
                    (tags2_q[w].key[3:0] != QueryIndex || tags2_q[w].number == generation_q[tags2_q[w].key[4]].number);
      key_is3_q[w] <= same_key[w] & {Parts{tags2_q[w].valid}};
    end
    tip_is3_q    <= same_tip;
    parent_is3_q <= same_parent;
    takes3_q <= known_q[key_i[4]] && !announcing_q[key_i[4]];
  end

  ////////////////////////////////////////////////////////////////////////
  // Stage 3: decide.

  logic chain, hit, taken;
  logic [Ways-1:0] same, usable, untrue, victim, write;
  logic [WayWidth-1:0] turn_q;

  assign chain = key3_q[4];
  assign taken = takes3_q && &tip_is3_q;
  assign tip_changes = valid_q[3] && (op3_q == OpExtend || op3_q == OpReorganise);

  find_first #(
      .Width(Ways)
  ) u_untrue (
      .word_i (~true3_q),
      .first_o(untrue)
  );

  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) same[w] = &key_is3_q[w];
    usable = same & true3_q;
    if (|same) victim = same;
    else if (|untrue) victim = untrue;
    else victim = Ways'(1) << turn_q;

    hit = op3_q == OpForget ? |same : |usable;
    write = '0;
    if (valid_q[3]) begin
      unique case (op3_q)
        OpForget: write = same;
        OpClaim: begin
          hit = taken;
          if (taken) write = victim;
        end
        OpCommit: begin
          hit = taken;
          if (taken) write = Ways'(1) << with3_q[WayWidth-1:0];
        end
        default:  ;
      endcase
    end
  end

  // One-hot to binary.
  logic [Ways-1:0] chosen;
  logic [WayWidth-1:0] way;
  logic [LenWidth-1:0] length;
  assign chosen = op3_q == OpClaim ? victim : usable;
  always_comb begin
    way    = '0;
    length = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (chosen[w]) way |= WayWidth'(w);
      // For a lookup, so without the victim of a claim.
      if (usable[w]) length |= length3_q[w];
    end
  end

  always_ff @(posedge clk_i) begin
    op_o     <= op3_q;
    with_o   <= with3_q;
    key_o    <= key3_q;
    hit_o    <= hit;
    place_o  <= {set3_q, way};
    length_o <= length;
    tip_o    <= tip3_q;
  end
  assign valid_o = valid_q[4];

  ////////////////////////////////////////////////////////////////////////
  // Stage 4: state changes. Clearing the memory only needs to reset the valid bits.

  generation_t now4_q;
  logic [LenWidth-1:0] length_i4_q;
  logic commits4_q, builds_on4_q;
  `FF(write4_q, clearing_q ? '1 : write, '0)
  // By then, the last clearing write is also done.
  `FF(ready_o, !clearing_q, 1'b0)
  always_ff @(posedge clk_i) begin
    write_set4_q <= clearing_q ? clear_q : set3_q;
    commits4_q   <= !clearing_q && op3_q == OpCommit;
    now4_q       <= generation_q[chain];
    length_i4_q  <= length_i3_q;
    builds_on4_q <= op3_q == OpExtend && known_q[chain] && &parent_is3_q;
  end
  assign write_tag = '{
          valid: commits4_q,
          epoch: now4_q.epoch,
          number: now4_q.number,
          length: length_i4_q,
          key: key_o
      };
  for (genvar c = 0; c < 2; c++) begin : gen_chain
    logic forgets4_q, advances4_q;
    `FF(forgets4_q, valid_q[3] && chain == c[0] && op3_q == OpForget, 1'b0)
    `FF(advances4_q, tip_changes && chain == c[0], 1'b0)
    `FFE(announcing_q[c], forgets4_q, forgets4_q || advances4_q, 1'b0)
    // Numbers are only compared for equality; 0 remains reserved for a chain before its first announcement.
    `FFE(generation_q[c].number, &generation_q[c].number ? 32'd1 : generation_q[c].number + 1'b1, advances4_q, '0)
    `FFE(generation_q[c].epoch, generation_q[c].epoch + 1'b1, advances4_q && !builds_on4_q, '0)
    // Its number is now nonzero.
    `FFE(known_q[c], 1'b1, advances4_q, 1'b0)
  end
  `FFE(turn_q, turn_q + 1'b1, valid_o && hit_o && op_o == OpClaim, '0)

  `ASSERT(a_key_has_one_place, !valid_q[3] || $onehot0(same))

endmodule
