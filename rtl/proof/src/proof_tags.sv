// The order of all that happens to the proof cache: lookups, announcements and fills pass one pipeline, and what an operation
// decides in its one cycle holds for all that follow.
//
// The rules are those of crates/proof: a reply is bound to the epoch of its chain, and one from the index also to the number of
// the tip; a reply is taken in only if it is as of the tip of the moment, and not while a block is being announced; keys are
// compared in full. An operation that changes tags is followed by `Gap` empty cycles (proof_cache), so that nobody reads what
// is about to change.

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
    input  op_e                          op_i,
    input  logic [SetWidth-1:0]          set_i,
    input  key_t                         key_i,
    input  tip_t                         tip_i,     // the new one; OpClaim, OpCommit: that of the reply
    input  logic [        255:0]         parent_i,  // OpExtend: the hash of the tip before
    input  logic [ LenWidth-1:0]         length_i,  // OpCommit
    input  logic [ WithWidth-1:0]        with_i,

    // Four cycles later.
    output logic                         valid_o,
    output op_e                          op_o,
    output logic [ WithWidth-1:0]        with_o,
    output key_t                         key_o,
    // OpLookup: the reply is there; OpForget: it was; OpClaim, OpCommit: it may be, was taken in.
    output logic                         hit_o,
    output logic [SetWidth+WayWidth-1:0] place_o,   // OpLookup: where; OpClaim: where it may be put
    output logic [ LenWidth-1:0]         length_o,  // OpLookup
    output tip_t                         tip_o      // OpLookup: of the key's chain
);

  typedef struct packed {
    logic                valid;
    logic [31:0]         epoch;
    logic [31:0]         number;
    logic [LenWidth-1:0] length;
    key_t                key;
  } tag_t;

  typedef struct packed {
    logic [31:0] epoch;   // reorganisations before
    logic [31:0] number;  // announcements before, 0 before the first
  } generation_t;

  typedef struct packed {
    op_e                  op;
    logic [SetWidth-1:0]  set;
    key_t                 key;
    tip_t                 tip;
    logic [255:0]         parent;
    logic [LenWidth-1:0]  length;
    logic [WithWidth-1:0] with_;
  } operation_t;

  // Stages: 0 reads, 1 the memory's register, 2 compares, 3 decides and writes. Generations and tips change in the cycle behind stage 3 of what
  // does it; the next operation is in stage 0 then at the earliest, the gap being what it is.
  operation_t s0, s1_q, s2_q, s3_q;
  logic [3:1] valid_q;
  assign s0 = '{op: op_i, set: set_i, key: key_i, tip: tip_i, parent: parent_i, length: length_i, with_: with_i};
  `FF(valid_q, {valid_q[2:1], valid_i}, '0)
  always_ff @(posedge clk_i) begin
    s1_q <= s0;
    s2_q <= s1_q;
    s3_q <= s2_q;
  end

  ////////////////////////////////////////////////////////////////////////
  // The tags.

  logic clearing_q;
  logic [SetWidth-1:0] clear_q;
  `FFE(clear_q, clear_q + 1'b1, clearing_q, '0)
  `FFE(clearing_q, 1'b0, clear_q == SetWidth'(Sets - 1), 1'b1)
  assign ready_o = !clearing_q;

  tag_t [Ways-1:0] read1, tags2_q;
  logic [Ways-1:0][LenWidth-1:0] length3_q;
  logic [Ways-1:0]               write;
  tag_t                          write_tag;
  for (genvar w = 0; w < Ways; w++) begin : gen_way
    ram_1r1w #(
        .Width($bits(tag_t)),
        .Depth(Sets)
    ) u_tags (
        .clk_i,
        .write_i        (write[w] || clearing_q),
        .write_address_i(clearing_q ? clear_q : s3_q.set),
        .write_data_i   (clearing_q ? '0 : write_tag),
        .read_i         (1'b1),
        .read_address_i (set_i),
        .read_data_o    (read1[w])
    );
  end
  `FFN(tags2_q, read1)

  ////////////////////////////////////////////////////////////////////////
  // Stage 2: what is compared.

  // Whether the key is the operation's; and whether what is there is true as of the tip of its own chain, and for its own query.
  logic [Ways-1:0] same3_q, true3_q;
  logic [1:0] parent_is3_q;
  generation_t [1:0] generation_q;
  tip_t [1:0] tip_q;
  logic [1:0] announcing_q, known_q;
  // Whether a reply may be taken in, for either chain.
  logic [1:0] takes3_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned w = 0; w < Ways; w++) begin
      length3_q[w] <= tags2_q[w].length;
      same3_q[w] <= tags2_q[w].valid && tags2_q[w].key == s2_q.key;
      true3_q[w] <= tags2_q[w].valid && tags2_q[w].epoch == generation_q[tags2_q[w].key[4]].epoch &&
                    (tags2_q[w].key[3:0] != QueryIndex || tags2_q[w].number == generation_q[tags2_q[w].key[4]].number);
    end
    for (int unsigned c = 0; c < 2; c++) begin
      takes3_q[c]     <= tip_q[c] == s2_q.tip && known_q[c] && !announcing_q[c];
      parent_is3_q[c] <= tip_q[c][255:0] == s2_q.parent;
    end
  end

  ////////////////////////////////////////////////////////////////////////
  // Stage 3: the decision.

  logic chain, hit, taken;
  generation_t now;
  logic [Ways-1:0] usable, victim;
  logic [WayWidth-1:0] turn_q;

  assign chain = s3_q.key[4];
  assign now   = generation_q[chain];

  always_comb begin
    usable = same3_q & true3_q;
    if (|same3_q) victim = same3_q;
    else if (!(&true3_q)) victim = ~true3_q & (true3_q + 1'b1);
    else victim = Ways'(1) << turn_q;

    hit   = s3_q.op == OpForget ? |same3_q : |usable;
    taken = takes3_q[chain];

    write     = '0;
    write_tag = '{valid: 1'b1, epoch: now.epoch, number: now.number, length: s3_q.length, key: s3_q.key};
    if (valid_q[3]) begin
      unique case (s3_q.op)
        OpForget: begin
          write = same3_q;
          write_tag.valid = 1'b0;
        end
        OpClaim: begin
          hit = taken;
          if (taken) write = victim;
          write_tag.valid = 1'b0;
        end
        OpCommit: begin
          hit = taken;
          if (taken) write = Ways'(1) << s3_q.with_[WayWidth-1:0];
        end
        default: ;
      endcase
    end
  end

  for (genvar c = 0; c < 2; c++) begin : gen_chain
    logic here, builds_on;
    assign here    = valid_q[3] && chain == c[0];
    assign builds_on = s3_q.op == OpExtend && known_q[c] && parent_is3_q[c];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        generation_q[c] <= '0;
        announcing_q[c] <= 1'b0;
      end else if (here) begin
        if (s3_q.op == OpForget) announcing_q[c] <= 1'b1;
        if (s3_q.op == OpExtend || s3_q.op == OpReorganise) begin
          announcing_q[c] <= 1'b0;
          // Numbers are compared for being equal only; 0 stays what it is before the first.
          generation_q[c].number <= &generation_q[c].number ? 32'd1 : generation_q[c].number + 1'b1;
          if (!builds_on) generation_q[c].epoch <= generation_q[c].epoch + 1'b1;
        end
      end
    end
    // Its number is not 0 any more.
    `FFE(known_q[c], 1'b1, here && (s3_q.op == OpExtend || s3_q.op == OpReorganise), 1'b0)
    `FFNE(tip_q[c], s3_q.tip, here && (s3_q.op == OpExtend || s3_q.op == OpReorganise))
  end
  `FFE(turn_q, turn_q + 1'b1, |write && s3_q.op == OpClaim, '0)

  // One-hot to number.
  logic [Ways-1:0] chosen;
  logic [WayWidth-1:0] way;
  logic [LenWidth-1:0] length;
  assign chosen = s3_q.op == OpClaim ? victim : usable;
  always_comb begin
    way    = '0;
    length = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (chosen[w]) begin
        way |= WayWidth'(w);
        length |= length3_q[w];
      end
    end
  end

  `FF(valid_o, valid_q[3], 1'b0)
  always_ff @(posedge clk_i) begin
    op_o     <= s3_q.op;
    with_o   <= s3_q.with_;
    key_o    <= s3_q.key;
    hit_o    <= hit;
    place_o  <= {s3_q.set, way};
    length_o <= length;
    tip_o    <= tip_q[chain];
  end

  `ASSERT(a_key_has_one_place, !valid_q[3] || $onehot0(same3_q))

endmodule
