// Hash table with its buckets in external memory; otherwise like table_onchip. Accepts one operation per cycle as long
// as no more are in flight than there are lines, so `Lines` must cover the memory's latency.
//
// Each half has its own memory port, see table_lines. The table clears the memory after reset.

`include "assertions.svh"
`include "registers.svh"

module table_external
  import table_pkg::*;
#(
    parameter int unsigned KeyBytes   = 16,
    parameter int unsigned ValueWidth = 64,
    parameter int unsigned TimeWidth  = 32,
    parameter int unsigned TagWidth   = 8,
    parameter int unsigned Buckets    = 1048576,  // in each of the two halves
    parameter int unsigned Ways       = 8,
    parameter int unsigned Stash      = 16,
    parameter int unsigned Lines      = 64,
    parameter int unsigned Function   = 0,        // see table_hash
    localparam int unsigned AddrWidth  = $clog2(Buckets),
    localparam int unsigned LineWidth  = $clog2(Lines),
    localparam int unsigned EntryWidth = 2 + TimeWidth + ValueWidth + 8 * KeyBytes,
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
    input  logic [ TimeWidth-1:0] request_expiry_i,
    input  logic [  TagWidth-1:0] request_tag_i,

    output logic                  result_valid_o,
    input  logic                  result_ready_i,
    output status_e               result_status_o,
    output logic [ValueWidth-1:0] result_value_o,
    output logic [  TagWidth-1:0] result_tag_o,

    output logic [1:0]                           mem_read_valid_o,
    input  logic [1:0]                           mem_read_ready_i,
    output logic [1:0][AddrWidth-1:0]            mem_read_addr_o,
    output logic [1:0][LineWidth-1:0]            mem_read_line_o,
    input  logic [1:0]                           mem_data_valid_i,
    input  logic [1:0][LineWidth-1:0]            mem_data_line_i,
    input  logic [1:0][Ways-1:0][EntryWidth-1:0] mem_data_i,
    output logic [1:0]                           mem_write_valid_o,
    input  logic [1:0]                           mem_write_ready_i,
    output logic [1:0][AddrWidth-1:0]            mem_write_addr_o,
    output logic [1:0][Ways-1:0]                 mem_write_ways_o,
    output logic [1:0][EntryWidth-1:0]           mem_write_data_o,
    input  logic [1:0]                           mem_written_i,

    output logic [CountWidth-1:0] count_o
);

  `PARAMETER_CHECK(buckets, Buckets >= 2 && Buckets == 2 ** $clog2(Buckets),
                   "table_external: Buckets must be a power of two, at least 2")

  localparam int unsigned KeyWidth = 8 * KeyBytes;
  localparam int unsigned SlotWidth = $clog2(Stash);
  localparam int unsigned StashCountWidth = $clog2(Stash + 1);
  localparam int unsigned Outstanding = Lines;
  localparam int unsigned MoveGap = 2;

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

  typedef logic [1:0][AddrWidth-1:0] buckets_t;
  typedef logic [1:0][LineWidth-1:0] lines_t;

  logic [1:0] cleared;
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

  // Operations that hold a line or will: at least three fewer than there are lines, and two fewer again for those that
  // enter while the count is updated and compared.
  logic [1:0] lines_room, released, released_q;
  logic entered_q;
  `FF(released_q, released, '0)
  logic [1:0][LineWidth:0] holding_q;
  for (genvar h = 0; h < 2; h++) begin : gen_holding
    `FFE(holding_q[h], entered_q ? holding_q[h] + 1'b1 : holding_q[h] - 1'b1, entered_q != released_q[h], '0)
    assign lines_room[h] = 32'(holding_q[h]) < Lines - 5;
  end

  // The gap after a move is inserted where operations enter the engine, not here.
  table_control #(
      .Outstanding(Outstanding),
      .Stash      (Stash),
      .Slots      (2 * Ways * Buckets),
      .MoveGap    (0)
  ) u_control (
      .clk_i,
      .rst_ni,
      .enable_i    (&cleared && &lines_room),
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

  buckets_t bucket;
  assign bucket = {hash[31-:AddrWidth], hash[63-:AddrWidth]};
  logic unused_hash;
  assign unused_hash = ^hash;

  // The operation waits for its line numbers, then in the queue for their contents.
  logic [1:0] found_q;
  operation_t hashed_q, found_operation_q;
  buckets_t bucket_q, found_bucket_q;
  `FF(found_q, {found_q[0], hashed_valid}, '0)
  always_ff @(posedge clk_i) begin
    hashed_q          <= hashed;
    bucket_q          <= bucket;
    found_operation_q <= hashed_q;
    found_bucket_q    <= bucket_q;
  end

  typedef struct packed {
    operation_t operation;
    buckets_t   bucket;
    lines_t     line;
  } issue_t;
  lines_t line;
  issue_t waiting, next, issued;
  logic waiting_valid, waiting_ready, queue_ready;
  logic [LineWidth:0] unused_waiting;
  fall_through_fifo #(
      .Width($bits(issue_t)),
      .Depth(Lines)
  ) u_waiting (
      .clk_i,
      .rst_ni,
      .valid_i(found_q[1]),
      .ready_o(queue_ready),
      .data_i ({found_operation_q, found_bucket_q, line}),
      .valid_o(waiting_valid),
      .ready_i(waiting_ready),
      .data_o (waiting),
      .count_o(unused_waiting)
  );

  // Issue to the engine in order, once both lines are filled. This is computed for the next operation into a register,
  // or as the lines arrive, because the queue's memory is slow to deliver the line numbers.
  logic next_valid, next_ready, issued_valid, issue;
  logic [1:0] there_q;
  stage #(
      .Width($bits(issue_t))
  ) u_next (
      .clk_i,
      .rst_ni,
      .valid_i(waiting_valid),
      .ready_o(waiting_ready),
      .data_i (waiting),
      .valid_o(next_valid),
      .ready_i(next_ready),
      .data_o (next)
  );
  stage #(
      .Width($bits(issue_t))
  ) u_issued (
      .clk_i,
      .rst_ni,
      .valid_i(next_valid),
      .ready_o(next_ready),
      .data_i (next),
      .valid_o(issued_valid),
      .ready_i(issue),
      .data_o (issued)
  );

  logic [1:0][Lines-1:0] filled;
  logic [1:0] write_room;
  logic [1:0] gap_q;
  assign issue = issued_valid && &there_q && &write_room && gap_q == '0;
  `FFE(gap_q, issue ? 2'(MoveGap) : gap_q - 1'b1, (issue && issued.operation.op == OpMove) || gap_q != '0, '0)

  logic done;
  status_e decided_status;
  logic [ValueWidth-1:0] decided_value;
  logic [TagWidth-1:0] decided_tag;
  buckets_t decided_bucket;
  lines_t read_line, decided_line;
  logic [1:0][Ways-1:0][EntryWidth-1:0] read_data;
  logic [1:0][Ways-1:0] write;
  logic [EntryWidth-1:0] write_data;
  logic unused_take, unused_reuse, unused_give, unused_class, unused_found;
  logic [ValueWidth-1:0] unused_old, unused_new, unused_given;

  table_engine #(
      .KeyWidth  (KeyWidth),
      .ValueWidth(ValueWidth),
      .TimeWidth (TimeWidth),
      .TagWidth  (TagWidth + $bits(buckets_t)),
      .AddrWidth (LineWidth),
      .Ways      (Ways),
      .Stash     (Stash)
  ) u_engine (
      .clk_i,
      .rst_ni,
      .valid_i       (issue),
      .op_i          (issued.operation.op),
      .key_i         (issued.operation.key),
      .value_i       (issued.operation.value),
      .expires_i     (issued.operation.expires),
      .expiry_i      (issued.operation.expiry),
      .now_i         (issued.operation.now),
      .tag_i         ({issued.operation.tag, issued.bucket}),
      .slot_i        (issued.operation.slot),
      .addr_i        (issued.line),
      .read_addr_o   (read_line),
      .read_data_i   (read_data),
      .write_o       (write),
      .write_addr_o  (decided_line),
      .write_data_o  (write_data),
      .done_o        (done),
      .valid_o       (decided_valid),
      .status_o      (decided_status),
      .value_o       (decided_value),
      .tag_o         ({decided_tag, decided_bucket}),
      .op_o          (decided_op),
      .found_o       (unused_found),
      .avail_i       (1'b1),
      .more_i        (1'b1),
      .take_o        (unused_take),
      .block_i       ('0),
      .reuse_o       (unused_reuse),
      .old_o         (unused_old),
      .new_o         (unused_new),
      .give_o        (unused_give),
      .given_o       (unused_given),
      .move_valid_o  (move_valid),
      .move_ready_i  (move_ready),
      .move_key_o    (move.key),
      .move_class_o  (unused_class),
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
  // The value is in the stash; this field is ignored.
  assign move.value = request_value_i;

  for (genvar h = 0; h < 2; h++) begin : gen_half
    table_lines #(
        .Lines     (Lines),
        .AddrWidth (AddrWidth),
        .Ways      (Ways),
        .EntryWidth(EntryWidth)
    ) u_lines (
        .clk_i,
        .rst_ni,
        .ready_o          (cleared[h]),
        .request_i        (hashed_valid),
        .bucket_i         (bucket[h]),
        .line_o           (line[h]),
        .filled_o         (filled[h]),
        .read_line_i      (read_line[h]),
        .read_data_o      (read_data[h]),
        .done_i           (done),
        .done_line_i      (decided_line[h]),
        .done_bucket_i    (decided_bucket[h]),
        .write_i          (write[h]),
        .write_data_i     (write_data),
        .write_room_o     (write_room[h]),
        .released_o       (released[h]),
        .mem_read_valid_o (mem_read_valid_o[h]),
        .mem_read_ready_i (mem_read_ready_i[h]),
        .mem_read_addr_o  (mem_read_addr_o[h]),
        .mem_read_line_o  (mem_read_line_o[h]),
        .mem_data_valid_i (mem_data_valid_i[h]),
        .mem_data_line_i  (mem_data_line_i[h]),
        .mem_data_i       (mem_data_i[h]),
        .mem_write_valid_o(mem_write_valid_o[h]),
        .mem_write_ready_i(mem_write_ready_i[h]),
        .mem_write_addr_o (mem_write_addr_o[h]),
        .mem_write_ways_o (mem_write_ways_o[h]),
        .mem_write_data_o (mem_write_data_o[h]),
        .mem_written_i    (mem_written_i[h])
    );

    logic next_comes, issued_comes;
    assign next_comes   = mem_data_valid_i[h] && mem_data_line_i[h] == next.line[h];
    assign issued_comes  = mem_data_valid_i[h] && mem_data_line_i[h] == issued.line[h];
    `FF(there_q[h], next_ready ? filled[h][next.line[h]] || next_comes : there_q[h] || issued_comes, 1'b0)
    `ASSERT(there_is_told, !issued_valid || there_q[h] == filled[h][issued.line[h]])
  end

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
  `ASSERT(operations_have_room, !found_q[1] || queue_ready)

endmodule
