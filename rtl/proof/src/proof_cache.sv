// Proof cache: maps the whole of a proof request to its reply, under the rules of crates/proof.
//
// - One lookup per cycle. A hit leaves as a packet, 64 bytes per cycle; a miss goes to the host, with an id if the
//   answer may be cached: up to `Misses` ids are outstanding.
// - The host answers each id once: with the reply's body, or with none_i if there is none.
// - A block is announced by an OpForget for each address that it touches, then an OpExtend; no fill is accepted between
//   the first OpForget and the OpExtend.
// - Operations take effect in the order of entry, each in one cycle. The cache clears itself after reset.
//
// A place of the cache holds a reply of up to Beats * 64 bytes: a path of twenty nodes takes 640 of them, the rest of a
// reply's body up to 296.

`include "assertions.svh"
`include "registers.svh"

module proof_cache
  import proof_pkg::*;
#(
    parameter int unsigned Sets     = 64,
    parameter int unsigned Ways     = 4,
    parameter int unsigned Beats    = 16,
    parameter int unsigned Misses   = 64,
    parameter int unsigned TagWidth = 16,
    // Replies are in a memory at the mem port, of any latency; else on chip.
    parameter bit External = 1'b0,
    localparam int unsigned LenWidth = $clog2(Beats) + 7,
    localparam int unsigned IdWidth  = $clog2(Misses),
    localparam int unsigned AddrWidth = $clog2(Sets * Ways * Beats),
    // Reply words in flight. With External, they cover the memory's latency.
    localparam int unsigned Slots = External ? 64 : 4,
    localparam int unsigned SlotWidth = $clog2(Slots)
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    // Secret words of the hash of 33-byte keys, see table_hash_keyed.
    input  logic [ 7:0][63:0]   secrets_i,

    input  logic                lookup_valid_i,
    output logic                lookup_ready_o,
    input  key_t                lookup_key_i,
    input  logic [LenWidth-1:0] lookup_room_i,  // longest reply that the client accepts
    input  logic [TagWidth-1:0] lookup_tag_i,

    output logic                reply_valid_o,
    input  logic                reply_ready_i,
    output logic [       511:0] reply_data_o,
    output logic [        63:0] reply_keep_o,
    output logic                reply_last_o,
    output logic [TagWidth-1:0] reply_tag_o,
    output logic [LenWidth-1:0] reply_length_o,
    output logic                reply_too_large_o,  // one word of undefined data: the reply would not fit

    output logic                miss_valid_o,
    input  logic                miss_ready_i,
    output key_t                miss_key_o,
    output logic [TagWidth-1:0] miss_tag_o,
    output logic                miss_fill_o,  // the host must answer with this id
    output logic [ IdWidth-1:0] miss_id_o,

    input  logic                fill_valid_i,
    output logic                fill_ready_o,
    input  logic [       511:0] fill_data_i,
    input  logic [        63:0] fill_keep_i,
    input  logic                fill_last_i,
    input  logic [ IdWidth-1:0] fill_id_i,
    input  logic                fill_none_i,

    input  logic                announce_valid_i,
    output logic                announce_ready_o,
    input  op_e                 announce_op_i,      // OpForget, OpExtend or OpReorganise
    input  key_t                announce_key_i,     // OpForget: the key; else the chain, encoded as in keys
    input  tip_t                announce_tip_i,
    input  logic [       255:0] announce_parent_i,

    output logic                filled_o,
    output logic                refused_o,

    // With External: reads, answered in any order, and writes, acknowledged in order. No address is read and written at
    // the same time. Idle without External.
    output logic                 mem_read_valid_o,
    input  logic                 mem_read_ready_i,
    output logic [AddrWidth-1:0] mem_read_addr_o,
    output logic [SlotWidth-1:0] mem_read_slot_o,
    input  logic                 mem_data_valid_i,
    input  logic [SlotWidth-1:0] mem_data_slot_i,
    input  logic [        511:0] mem_data_i,
    output logic                 mem_write_valid_o,
    input  logic                 mem_write_ready_i,
    output logic [AddrWidth-1:0] mem_write_addr_o,
    output logic [        511:0] mem_write_data_o,
    input  logic                 mem_written_i
);

  localparam int unsigned SetWidth = $clog2(Sets);
  localparam int unsigned WayWidth = $clog2(Ways);
  localparam int unsigned PlaceWidth = SetWidth + WayWidth;
  localparam int unsigned BeatWidth = $clog2(Beats);
  localparam int unsigned HashLatency = table_pkg::keyed_latency(KeyBytes);
  // Room in both queues for everything in the pipeline that may become a hit or a miss.
  localparam int unsigned QueueDepth = 64;
  localparam int unsigned CountWidth = $clog2(QueueDepth + 1);
  // Empty cycles after an operation that changes tags, until its write can be read.
  localparam int unsigned Gap = 4;

  `PARAMETER_CHECK(sets, Sets >= 2 && Sets == 2 ** SetWidth, "proof_cache: Sets must be a power of two, at least 2")
  `PARAMETER_CHECK(ways, Ways >= 2 && Ways == 2 ** WayWidth, "proof_cache: Ways must be a power of two, at least 2")
  `PARAMETER_CHECK(beats, Beats >= 2 && Beats == 2 ** BeatWidth,
                   "proof_cache: Beats must be a power of two, at least 2")
  `PARAMETER_CHECK(misses, Misses >= 2 && Misses == 2 ** IdWidth,
                   "proof_cache: Misses must be a power of two, at least 2")

  typedef struct packed {
    op_e                   op;
    key_t                  key;
    tip_t                  tip;
    logic [255:0]          parent;
    logic [LenWidth-1:0]   length;  // OpLookup: room
    logic [TagWidth-1:0]   tag;
    logic [PlaceWidth-1:0] place;
  } operation_t;

  ////////////////////////////////////////////////////////////////////////
  // Admission. A lookup gets the turn after an announcement or a step of a fill.

  logic tags_ready, free_q, lookup_room, lookup_enters;
  logic change_turn_q, change_valid, changes, change_enters;
  logic entered_q, announces_q, fills_q, announce_offered_q, fill_offered_q;
  logic fill_op_valid;
  op_e fill_op;
  operation_t entering_q;
  key_t fill_key;
  tip_t fill_tip;
  logic [LenWidth-1:0] fill_length;
  logic [PlaceWidth-1:0] fill_place;
  logic [$clog2(Gap+1)-1:0] gap_q;
  // Lookups that may still hit, or have hit and wait; the same for misses.
  logic [CountWidth-1:0] hits_q, misses_q, unused_hits, unused_misses;
  logic [2:0] unused_hit;
  logic result_valid, result_hit, found, missed, hit_left_q, miss_left_q;
  op_e result_op;

  // The highest bit means that the queue's capacity is used up.
  assign lookup_room   = !hits_q[CountWidth-1] && !misses_q[CountWidth-1];
  // A change stays offered until it enters; the gap after it is longer than the detection of the next one takes.
  assign change_valid  = announce_offered_q || fill_offered_q;
  assign changes       = change_valid && (change_turn_q || !lookup_valid_i);
  assign change_enters = free_q && changes;
  assign lookup_enters = free_q && lookup_valid_i && lookup_room && !(change_valid && change_turn_q);
  assign lookup_ready_o   = lookup_enters;
  assign announce_ready_o = announces_q;
  // A lookup without room loses its turn, so the choice, which drives all bits of an operation, does not depend on
  // room.
  `FFE(change_turn_q, !lookup_room || lookup_enters, !lookup_room || change_enters || lookup_enters, 1'b1)
  // The gap is over.
  `FF(free_q, tags_ready && !change_enters && gap_q <= 1, 1'b0)
  `FFE(gap_q, change_enters ? $bits(gap_q)'(Gap) : gap_q - 1'b1, change_enters || gap_q != '0, '0)
  `FF(announce_offered_q, announce_valid_i, 1'b0)
  `FF(fill_offered_q, fill_op_valid, 1'b0)
  `FF(entered_q, lookup_enters || change_enters, 1'b0)
  `FF(announces_q, change_enters && announce_offered_q, 1'b0)
  `FF(fills_q, change_enters && !announce_offered_q, 1'b0)

  // Selected before it is known whether it enters. Unused fields are undefined.
  always_ff @(posedge clk_i) begin
    entering_q <= '{
        op: !changes ? OpLookup : announce_offered_q ? announce_op_i : fill_op,
        key: !changes ? lookup_key_i : announce_offered_q ? announce_key_i : fill_key,
        tip: announce_offered_q ? announce_tip_i : fill_tip,
        parent: announce_parent_i,
        length: !changes ? lookup_room_i : fill_length,
        tag: lookup_tag_i,
        place: fill_place
    };
  end
  logic looked_up;
  assign looked_up = result_valid && result_op == OpLookup;
  assign found     = looked_up && result_hit;
  assign missed    = looked_up && !result_hit;
  `FF(hits_q, hits_q + CountWidth'(lookup_enters) - CountWidth'(missed) - CountWidth'(hit_left_q), '0)
  `FF(misses_q, misses_q + CountWidth'(lookup_enters) - CountWidth'(found) - CountWidth'(miss_left_q), '0)

  ////////////////////////////////////////////////////////////////////////
  // Hash and tags.

  logic [63:0] hash;
  logic [HashLatency-1:0] hashing_q;
  logic [HashLatency:0] chains_q;
  operation_t hashed;
  table_hash_keyed #(
      .KeyBytes(KeyBytes)
  ) u_hash (
      .clk_i,
      .secrets_i,
      .key_i (entering_q.key),
      .hash_o(hash)
  );
  // Reading the tags takes two cycles and needs only the hash; before that, only the chain is needed.
  delay #(
      .Width($bits(operation_t)),
      .Depth(HashLatency + 2)
  ) u_with (
      .clk_i,
      .data_i(entering_q),
      .data_o(hashed)
  );
  `FF(hashing_q, {hashing_q[HashLatency-2:0], entered_q}, '0)
  `FFN(chains_q, {chains_q[HashLatency-1:0], entering_q.key[4]})
  logic unused_hash;
  assign unused_hash = ^hash;

  key_t result_key;
  tip_t result_tip;
  logic [PlaceWidth-1:0] result_place;
  logic [LenWidth-1:0] result_length, result_room;
  logic [  TagWidth-1:0] result_tag;
  logic [PlaceWidth-1:0] unused_place;
  proof_tags #(
      .Sets     (Sets),
      .Ways     (Ways),
      .LenWidth (LenWidth),
      .WithWidth(LenWidth + TagWidth + PlaceWidth)
  ) u_tags (
      .clk_i,
      .rst_ni,
      .ready_o (tags_ready),
      .valid_i (hashing_q[HashLatency-1]),
      .set_i   (hash[63-:SetWidth]),
      .chain_i (chains_q[HashLatency]),
      .op_i    (hashed.op),
      .key_i   (hashed.key),
      .tip_i   (hashed.tip),
      .parent_i(hashed.parent),
      .length_i(hashed.length),
      .with_i  ({hashed.length, hashed.tag, hashed.place}),
      .valid_o (result_valid),
      .op_o    (result_op),
      .with_o  ({result_room, result_tag, unused_place}),
      .key_o   (result_key),
      .hit_o   (result_hit),
      .place_o (result_place),
      .length_o(result_length),
      .tip_o   (result_tip)
  );

  ////////////////////////////////////////////////////////////////////////
  // Hits.

  typedef struct packed {
    logic [PlaceWidth-1:0] place;
    logic [LenWidth-1:0]   length;
    // Position of its last byte, encoded for proof_stream.
    logic [BeatWidth-1:0]  last;
    logic                  single;
    logic [7:0]            eights;
    logic [7:0]            bytes;
    logic                  too_large;
    tip_t                  tip;
    logic [TagWidth-1:0]   tag;
  } hit_t;

  hit_t result, waiting, hit;
  logic [LenWidth-2:0] result_end;
  logic waiting_valid, waiting_ready, hit_valid, hit_ready, hits_ready, finished;
  assign result_end = (LenWidth - 1)'(result_length - 1'b1);
  always_comb begin
    result.place     = result_place;
    result.length    = result_length;
    result.last      = result_end[6+:BeatWidth];
    result.eights    = 8'hff >> (3'd7 - result_end[5:3]);
    result.bytes     = 8'hff >> (3'd7 - result_end[2:0]);
    result.too_large = result_length > result_room;
    result.single    = result.too_large || result.last == '0;
    result.tip       = result_tip;
    result.tag       = result_tag;
  end
  `FF(hit_left_q, waiting_valid && waiting_ready, 1'b0)
  fifo #(
      .Width($bits(hit_t)),
      .Depth(QueueDepth)
  ) u_hits (
      .clk_i,
      .rst_ni,
      .valid_i(found),
      .ready_o(hits_ready),
      .data_i (result),
      .valid_o(waiting_valid),
      .ready_i(waiting_ready),
      .data_o (waiting),
      .count_o(unused_hits)
  );
  // The long queue's memory is slow to read, and an output register would need an enable for hundreds of bits.
  fifo #(
      .Width($bits(hit_t)),
      .Depth(4)
  ) u_hit (
      .clk_i,
      .rst_ni,
      .valid_i(waiting_valid),
      .ready_o(waiting_ready),
      .data_i (waiting),
      .valid_o(hit_valid),
      .ready_i(hit_ready),
      .data_o (hit),
      .count_o(unused_hit)
  );

  logic read_valid, read_ready, data_valid, write_valid, write_ready, written;
  logic [AddrWidth-1:0] read_address, write_address;
  logic [SlotWidth-1:0] read_slot, data_slot;
  logic [511:0] read_data, write_data;
  if (External) begin : gen_external
    assign mem_read_valid_o = read_valid;
    assign read_ready = mem_read_ready_i;
    assign mem_read_addr_o = read_address;
    assign mem_read_slot_o = read_slot;
    assign {data_valid, data_slot, read_data} = {mem_data_valid_i, mem_data_slot_i, mem_data_i};
    assign mem_write_valid_o = write_valid;
    assign write_ready = mem_write_ready_i;
    assign mem_write_addr_o = write_address;
    assign mem_write_data_o = write_data;
    assign written = mem_written_i;
  end else begin : gen_onchip
    // The many block RAMs are far apart.
    logic [511:0] memory_data;
    logic memory_valid_q;
    logic [SlotWidth-1:0] memory_slot_q;
    ram_1r1w #(
        .Width(512),
        .Depth(Sets * Ways * Beats)
    ) u_replies (
        .clk_i,
        .write_i        (write_valid),
        .write_address_i(write_address),
        .write_data_i   (write_data),
        .read_i         (1'b1),
        .read_address_i (read_address),
        .read_data_o    (memory_data)
    );
    assign {read_ready, write_ready} = '1;
    `FF(memory_valid_q, read_valid, 1'b0)
    `FF(data_valid, memory_valid_q, 1'b0)
    `FFN(memory_slot_q, read_slot)
    `FFN(data_slot, memory_slot_q)
    `FFN(read_data, memory_data)
    `FF(written, write_valid, 1'b0)
    assign {mem_read_valid_o, mem_read_addr_o, mem_read_slot_o} = '0;
    assign {mem_write_valid_o, mem_write_addr_o, mem_write_data_o} = '0;
    logic unused_memory;
    assign unused_memory = ^{mem_read_ready_i, mem_data_valid_i, mem_data_slot_i, mem_data_i} ^
        ^{mem_write_ready_i, mem_written_i};
  end

  proof_stream #(
      .PlaceWidth(PlaceWidth),
      .Beats     (Beats),
      .TagWidth  (TagWidth),
      .Slots     (Slots)
  ) u_stream (
      .clk_i,
      .rst_ni,
      .hit_valid_i    (hit_valid),
      .hit_ready_o    (hit_ready),
      .hit_place_i    (hit.place),
      .hit_length_i   (hit.length),
      .hit_last_i     (hit.last),
      .hit_single_i   (hit.single),
      .hit_eights_i   (hit.eights),
      .hit_bytes_i    (hit.bytes),
      .hit_too_large_i(hit.too_large),
      .hit_tip_i      (hit.tip),
      .hit_tag_i      (hit.tag),
      .read_valid_o   (read_valid),
      .read_ready_i   (read_ready),
      .read_address_o (read_address),
      .read_slot_o    (read_slot),
      .data_valid_i   (data_valid),
      .data_slot_i    (data_slot),
      .data_i         (read_data),
      .finished_o     (finished),
      .valid_o        (reply_valid_o),
      .ready_i        (reply_ready_i),
      .data_o         (reply_data_o),
      .keep_o         (reply_keep_o),
      .last_o         (reply_last_o),
      .tag_o          (reply_tag_o),
      .length_o       (reply_length_o),
      .too_large_o    (reply_too_large_o)
  );

  ////////////////////////////////////////////////////////////////////////
  // Misses: each gets an id as long as one is free.

  logic [IdWidth-1:0] miss_id, fill_id_q, id;
  logic misses_ready, id_valid, id_taken, id_freed;
  assign id_taken = missed && id_valid;
  proof_numbers #(
      .Count(Misses)
  ) u_ids (
      .clk_i,
      .rst_ni,
      .valid_o   (id_valid),
      .number_o  (id),
      .taken_i   (id_taken),
      .return_i  (id_freed),
      .returned_i(fill_id_q)
  );

  localparam int unsigned MissWidth = 8 * KeyBytes + TagWidth + 1 + IdWidth;
  logic miss_valid, miss_ready;
  logic [MissWidth-1:0] miss;
  `FF(miss_left_q, miss_valid && miss_ready, 1'b0)
  fifo #(
      .Width(MissWidth),
      .Depth(QueueDepth)
  ) u_misses (
      .clk_i,
      .rst_ni,
      .valid_i(missed),
      .ready_o(misses_ready),
      .data_i ({result_key, result_tag, id_valid, id}),
      .valid_o(miss_valid),
      .ready_i(miss_ready),
      .data_o (miss),
      .count_o(unused_misses)
  );
  stage #(
      .Width(MissWidth)
  ) u_miss (
      .clk_i,
      .rst_ni,
      .valid_i(miss_valid),
      .ready_o(miss_ready),
      .data_i (miss),
      .valid_o(miss_valid_o),
      .ready_i(miss_ready_i),
      .data_o ({miss_key_o, miss_tag_o, miss_fill_o, miss_id_o})
  );

  key_t miss_key, miss_key_q;
  logic miss_read;
  ram_1r1w #(
      .Width(8 * KeyBytes),
      .Depth(Misses)
  ) u_keys (
      .clk_i,
      // The id belongs to nobody until a miss takes it.
      .write_i        (id_valid),
      .write_address_i(id),
      .write_data_i   (result_key),
      .read_i         (miss_read),
      .read_address_i (miss_id),
      .read_data_o    (miss_key)
  );
  `FFN(miss_key_q, miss_key)
  `FFNE(fill_id_q, miss_id, miss_read)

  ////////////////////////////////////////////////////////////////////////
  // Fills.

  proof_filler #(
      .PlaceWidth(PlaceWidth),
      .Beats     (Beats),
      .IdWidth   (IdWidth)
  ) u_filler (
      .clk_i,
      .rst_ni,
      .valid_i        (fill_valid_i),
      .ready_o        (fill_ready_o),
      .data_i         (fill_data_i),
      .keep_i         (fill_keep_i),
      .last_i         (fill_last_i),
      .id_i           (fill_id_i),
      .none_i         (fill_none_i),
      .miss_id_o      (miss_id),
      .miss_read_o    (miss_read),
      .miss_key_i     (miss_key_q),
      .free_o         (id_freed),
      .op_valid_o     (fill_op_valid),
      .op_ready_i     (fills_q),
      .op_o           (fill_op),
      .op_key_o       (fill_key),
      .op_tip_o       (fill_tip),
      .op_length_o    (fill_length),
      .op_place_o     (fill_place),
      .done_i         (result_valid && (result_op == OpClaim || result_op == OpCommit)),
      .done_taken_i   (result_hit),
      .done_place_i   (result_place),
      .hit_i          (found),
      .finished_i     (finished),
      .write_valid_o  (write_valid),
      .write_ready_i  (write_ready),
      .write_address_o(write_address),
      .write_data_o   (write_data),
      .written_i      (written),
      .filled_o,
      .refused_o
  );

  `ASSERT(hits_have_room, !found || hits_ready)
  `ASSERT(misses_have_room, !missed || misses_ready)
  `ASSERT(changes_stay_offered, (!announces_q || announce_valid_i) && (!fills_q || fill_op_valid))

endmodule
