// Hash table with its buckets in on-chip memory: one operation per cycle, in any mix, with results in order.
//
// Latency from request to result: 6 cycles, two of them for the memory, plus those of the hash (keyed 6, Lookup3 14,
// multiplicative 18). The table clears itself after reset, one bucket per cycle, and then accepts requests. The secrets
// must not change while the table holds entries. now_i must never decrease; it is sampled when an operation is
// accepted.

`include "assertions.svh"
`include "registers.svh"

module table_onchip
  import table_pkg::*;
#(
    parameter int unsigned KeyBytes   = 16,
    parameter int unsigned ValueWidth = 64,
    parameter int unsigned TimeWidth  = 32,
    parameter int unsigned TagWidth   = 8,
    parameter int unsigned Buckets    = 512,  // in each of the two halves
    parameter int unsigned Ways       = 8,
    parameter int unsigned Stash      = 16,
    parameter int unsigned Function   = 0,    // see table_hash
    parameter int unsigned Classes    = 1,
    localparam int unsigned CountWidth = $clog2(2 * Ways * Buckets + Stash + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic [     3:0][63:0] secrets_i,
    input  logic [ TimeWidth-1:0] now_i,

    input  logic                  request_valid_i,
    output logic                  request_ready_o,
    input  op_e                   request_op_i,
    input  logic [8*KeyBytes-1:0] request_key_i,
    input  logic [ValueWidth-1:0] request_value_i,
    input  logic [ TimeWidth-1:0] request_expiry_i,  // first second in which the entry no longer exists; 0: never
    input  logic [  TagWidth-1:0] request_tag_i,

    output logic                  result_valid_o,
    input  logic                  result_ready_i,
    output status_e               result_status_o,
    output logic [ValueWidth-1:0] result_value_o,
    output logic [  TagWidth-1:0] result_tag_o,

    // Value blocks, see table_engine.
    input  logic [   Classes-1:0] avail_i,
    input  logic [   Classes-1:0] more_i,
    output logic [   Classes-1:0] take_o,
    input  logic [ValueWidth-1:0] block_i,
    output logic                  reuse_o,
    output logic [ValueWidth-1:0] old_o,
    output logic [ValueWidth-1:0] new_o,
    output logic                  give_o,
    output logic [ValueWidth-1:0] given_o,

    // An operation is decided, and its result follows in the same cycle or later; its key had a value, live or expired:
    // given_o.
    output logic                  decided_o,
    output logic                  found_o,

    output logic [CountWidth-1:0] count_o  // entries, including expired ones not yet overwritten
);

  `PARAMETER_CHECK(buckets, Buckets >= 2 && Buckets == 2 ** $clog2(Buckets),
                   "table_onchip: Buckets must be a power of two, at least 2")

  localparam int unsigned KeyWidth = 8 * KeyBytes;
  localparam int unsigned AddrWidth = $clog2(Buckets);
  localparam int unsigned EntryWidth = 2 + TimeWidth + ValueWidth + KeyWidth;
  localparam int unsigned ClassWidth = Classes > 1 ? $clog2(Classes) : 1;
  localparam int unsigned SlotWidth = $clog2(Stash);
  localparam int unsigned StashCountWidth = $clog2(Stash + 1);
  // Enough for all operations in flight without a stall, and a few more for a client that pauses.
  localparam int unsigned Outstanding = 32;

  typedef struct packed {
    op_e                   op;
    logic [KeyWidth-1:0]   key;
    logic [ValueWidth-1:0] value;
    logic                  expires;
    logic [TimeWidth-1:0]  expiry;
    logic [TimeWidth-1:0]  now;
    logic [TagWidth-1:0]   tag;
    logic [SlotWidth-1:0]  slot;
  } operation_t;

  logic [1:0] ram_ready;
  logic enter, choose_move, move_valid, move_ready, decided_valid;
  operation_t request, move, hashed;
  logic hashed_valid;
  logic [63:0] hash;
  logic [StashCountWidth-1:0] stash_used;
  logic added, removed;
  op_e decided_op;

  // See table_hash.
  logic [KeyWidth-1:0] request_key;
  assign request_key = Function == 0 ? request_key_i ^ KeyWidth'(secrets_i[1:0]) : request_key_i;
  assign request = '{
          op: request_op_i,
          key: request_key,
          value: request_value_i,
          expires: request_expiry_i != '0,
          expiry: request_expiry_i,
          now: now_i,
          tag: request_tag_i,
          slot: '0
      };

  table_control #(
      .Outstanding(Outstanding),
      .Stash      (Stash),
      .Slots      (2 * Ways * Buckets)
  ) u_control (
      .clk_i,
      .rst_ni,
      .enable_i    (&ram_ready),
      .request_valid_i,
      .request_ready_o,
      .request_op_i,
      .move_valid_i(move_valid),
      .move_ready_o(move_ready),
      .enter_o     (enter),
      .choose_move_o(choose_move),
      .inserted_i  (decided_valid && decided_op == OpInsert),
      .retired_i   (result_valid_o && result_ready_i),
      .stash_used_i(stash_used),
      .added_i     (added),
      .removed_i   (removed),
      .count_o
  );

  // Registered, because the choice drives all bits of an operation.
  operation_t entering_q;
  logic entered_q;
  `FF(entered_q, enter, 1'b0)
  `FFN(entering_q, choose_move ? move : request)
  table_hash #(
      .Function (Function),
      .KeyBytes (KeyBytes),
      .WithWidth($bits(operation_t))
  ) u_hash (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .valid_i(entered_q),
      .key_i  (entering_q.key),
      .with_i (entering_q),
      .valid_o(hashed_valid),
      .hash_o (hash),
      .with_o (hashed)
  );

  logic [1:0][AddrWidth-1:0] addr, read_addr, write_addr;
  logic [1:0][Ways-1:0][EntryWidth-1:0] read_data;
  logic [1:0][Ways-1:0] write;
  logic [EntryWidth-1:0] write_data;
  assign addr = {hash[31-:AddrWidth], hash[63-:AddrWidth]};

  logic unused_hash;
  assign unused_hash = ^hash;

  logic [ClassWidth-1:0] move_class;
  logic unused_done;
  status_e decided_status;
  logic [ValueWidth-1:0] decided_value;
  logic [TagWidth-1:0] decided_tag;

  table_engine #(
      .KeyWidth  (KeyWidth),
      .ValueWidth(ValueWidth),
      .TimeWidth (TimeWidth),
      .TagWidth  (TagWidth),
      .AddrWidth (AddrWidth),
      .Ways      (Ways),
      .Stash     (Stash),
      .Classes   (Classes)
  ) u_engine (
      .clk_i,
      .rst_ni,
      .valid_i       (hashed_valid),
      .op_i          (hashed.op),
      .key_i         (hashed.key),
      .value_i       (hashed.value),
      .expires_i     (hashed.expires),
      .expiry_i      (hashed.expiry),
      .now_i         (hashed.now),
      .tag_i         (hashed.tag),
      .slot_i        (hashed.slot),
      .addr_i        (addr),
      .read_addr_o   (read_addr),
      .read_data_i   (read_data),
      .write_o       (write),
      .write_addr_o  (write_addr),
      .write_data_o  (write_data),
      .done_o        (unused_done),
      .valid_o       (decided_valid),
      .status_o      (decided_status),
      .value_o       (decided_value),
      .tag_o         (decided_tag),
      .op_o          (decided_op),
      .found_o,
      .avail_i,
      .more_i,
      .take_o,
      .block_i,
      .reuse_o,
      .old_o,
      .new_o,
      .give_o,
      .given_o,
      .move_valid_o  (move_valid),
      .move_ready_i  (move_ready),
      .move_key_o    (move.key),
      .move_class_o  (move_class),
      .move_expires_o(move.expires),
      .move_expiry_o (move.expiry),
      .move_slot_o   (move.slot),
      .stash_used_o  (stash_used),
      .added_o       (added),
      .removed_o     (removed)
  );
  assign move.op  = OpMove;
  assign move.now = now_i;
  assign move.tag = '0;
  // The value is in the stash: only the class is used here.
  always_comb begin
    move.value = request_value_i;
    if (Classes > 1) move.value[ValueWidth-1-:ClassWidth] = move_class;
  end

  for (genvar h = 0; h < 2; h++) begin : gen_half
    table_ram #(
        .Ways      (Ways),
        .EntryWidth(EntryWidth),
        .Buckets   (Buckets)
    ) u_ram (
        .clk_i,
        .rst_ni,
        .ready_o     (ram_ready[h]),
        .read_addr_i (read_addr[h]),
        .read_data_o (read_data[h]),
        .write_i     (write[h]),
        .write_addr_i(write_addr[h]),
        .write_data_i(write_data)
    );
  end

  assign decided_o = decided_valid;

  logic fifo_ready;
  logic [$clog2(Outstanding+1)-1:0] unused_count;
  fall_through_fifo #(
      .Width($bits(status_e) + ValueWidth + TagWidth),
      .Depth(Outstanding)
  ) u_results (
      .clk_i,
      .rst_ni,
      .valid_i(decided_valid),
      .ready_o(fifo_ready),
      .data_i ({decided_status, decided_value, decided_tag}),
      .valid_o(result_valid_o),
      .ready_i(result_ready_i),
      .data_o ({result_status_o, result_value_o, result_tag_o}),
      .count_o(unused_count)
  );
  `ASSERT(results_have_room, !decided_valid || fifo_ready)

endmodule
