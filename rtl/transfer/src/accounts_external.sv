// Accounts in external memory, in front of the store controller's pipeline and beside it: account_directory and
// balance_store in one. Operations enter here, and enter the pipeline once the buckets of their accounts are on chip.
//
// The pipeline takes operations in order, one per cycle as long as no more are in flight than there are lines. The
// lines must cover the latency of one memory read and one write.
//
// The memory has a row of four accounts for each bucket of each half, 2 * 2^AddrWidth rows in all. An id has one bucket
// in each half, chosen by keyed hashes. The ports are [half][port], see account_lines. The memory is cleared after
// reset.

`include "assertions.svh"
`include "registers.svh"

module accounts_external
  import transfer_pkg::*;
#(
    parameter int unsigned AddrWidth = 20,
    parameter int unsigned Lines = 64,
    localparam int unsigned NumberWidth = $clog2(Lines),
    // Within each half: a line is {port, number}; a slot adds the half and the way.
    localparam int unsigned LineWidth = NumberWidth + 1,
    localparam int unsigned SlotWidth = LineWidth + 3
) (
    input  logic                           clk_i,
    input  logic                           rst_ni,
    input  logic     [127:0]               secret_i,
    input  logic                           valid_i,
    output logic                           ready_o,
    input  operation_t                     operation_i,
    // The pipeline's cycle 1: it takes an operation.
    output logic                           valid_o,
    input  logic                           ready_i,
    output operation_t                     operation_o,
    // Cycle 4: as in account_directory. Slots refer to lines.
    input  logic                           compares_i,
    output logic     [  1:0]               found_o,
    output logic     [  1:0][SlotWidth-1:0] slot_o,
    output logic                           has_room_o,
    output logic     [SlotWidth-1:0]       room_o,
    // Cycle 5: as in balance_store.
    input  logic     [  1:0][SlotWidth-1:0] read_slot_i,
    output balance_t [  1:0][1:0]          balance_o,
    output logic     [  1:0][1:0]          newer_o,
    // Cycle 8: writes, and whether the source is a new account.
    input  logic                           create_i,
    input  logic     [  1:0]               write_i,
    input  logic     [  1:0][SlotWidth-1:0] write_slot_i,
    input  id_t      [  1:0]               write_id_i,
    input  balance_t [  1:0]               write_balance_i,
    input  logic     [  1:0]               write_newer_i,
    // Cycle 9: an operation releases its accounts.
    input  logic                           done_i,

    output logic     [1:0][1:0]                  mem_read_valid_o,
    input  logic     [1:0][1:0]                  mem_read_ready_i,
    output logic     [1:0][1:0][  AddrWidth-1:0] mem_read_addr_o,
    output logic     [1:0][1:0][NumberWidth-1:0] mem_read_line_o,
    input  logic     [1:0][1:0]                  mem_data_valid_i,
    input  logic     [1:0][1:0][NumberWidth-1:0] mem_data_line_i,
    input  bucket_t  [1:0][1:0]                  mem_data_i,
    output logic     [1:0][1:0]                  mem_write_valid_o,
    input  logic     [1:0][1:0]                  mem_write_ready_i,
    output logic     [1:0][1:0][  AddrWidth-1:0] mem_write_addr_o,
    output logic     [1:0][1:0][       AccountWays-1:0] mem_write_ways_o,
    output account_t [1:0][1:0]                  mem_write_data_o,
    input  logic     [1:0][1:0]                  mem_written_i
);
  `PARAMETER_CHECK(addr, AddrWidth >= 2 && AddrWidth <= 28, "accounts_external: AddrWidth must be from 2 to 28")
  // Only a TRANSFER has a second account; a new command must be handled here.
  `CONSTANT_CHECK(commands, protocol_pkg::CommandCodes == 4,
                  "accounts_external: the protocol has commands that are not told of here")

  localparam int unsigned TagWidth = 32 - AddrWidth;
  localparam int unsigned SecretWidth = TagWidth + AddrWidth - 1;
  // Operations that wait for their lines, and all that hold lines: the former, one at the pipeline's entrance, two
  // behind it, and nine in the pipeline.
  localparam int unsigned Waiting = Lines;
  localparam int unsigned Operations = Waiting + 12;

  typedef logic [AddrWidth-1:0] addr_t;
  typedef logic [LineWidth-1:0] line_t;
  // [half][lookup]: lookup 0 is the source, 1 the destination.
  typedef line_t [1:0][1:0] lines_t;

  ////////////////////////////////////////////////////////////////////////
  // Hashes, then the lines that hold the buckets, or will.

  logic clearing;
  logic [1:0] cleared, may_take;
  logic hashed_valid_q, second_valid_q, third_valid, third_valid_q, waiting_ready, waiting_room, leaves;
  logic moves, moves_q, operation_moves_q, accept, accept_q;
  logic [1:0] half_accept_q;
  logic [1:0][1:0] lookup_moves_q;
  operation_t hashed_q, second_q, third_q;
  id_t [1:0] id;
  addr_t [1:0][1:0] bucket, bucket_q;
  // Commands other than TRANSFER have one account and look it up twice.
  assign id = {operation_i.command == Transfer ? operation_i.destination : operation_i.source, operation_i.source};
  for (genvar half = 0; half < 2; half++) begin : gen_hash
    for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_lookup
      toeplitz_hash #(
          .DataWidth(TagWidth),
          .HashWidth(AddrWidth)
      ) u_hash (
          .secret_i(secret_i[64*half+:SecretWidth]),
          .data_i  (id[lookup][31:AddrWidth]),
          .rest_i  (id[lookup][AddrWidth-1:0]),
          .hash_o  (bucket[half][lookup])
      );
    end
  end
  // Three cycles in account_lines. `moves` is computed a cycle ahead because it enables all of their registers.
  assign third_valid = moves_q ? second_valid_q : third_valid_q;
  assign accept = third_valid && &may_take && waiting_room;
  assign moves = !third_valid || accept;
  `FF(moves_q, moves, 1'b1)
  `FF(accept_q, accept, 1'b0)
  // Copies for operations and for the lines of each half, which are too many and too far apart for one register.
  // Without `keep`, synthesis merges equal registers.
  (* keep *) `FF(operation_moves_q, moves, 1'b1)
  for (genvar half = 0; half < 2; half++) begin : gen_half_moves
    (* keep *) `FF(half_accept_q[half], accept, 1'b0)
    for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_lookup
      (* keep *) `FF(lookup_moves_q[half][lookup], moves, 1'b1)
    end
  end
  assign leaves = !hashed_valid_q || moves_q;
  assign ready_o = leaves && &cleared && !clearing;
  `FFE(hashed_valid_q, valid_i && ready_o, leaves, 1'b0)
  `FFNE(hashed_q, operation_i, leaves)
  `FFNE(bucket_q, bucket, leaves)
  `FFE(second_valid_q, hashed_valid_q, moves_q, 1'b0)
  `FFNE(second_q, hashed_q, operation_moves_q)
  `FF(third_valid_q, third_valid, 1'b0)
  `FFNE(third_q, second_q, operation_moves_q)

  // The first operation waits at the pipeline's entrance until its lines are filled. The ones behind it have already
  // left the queue, whose memory is too slow to select the lines to check.
  logic waiting_valid, next_valid, next_ready, door_valid_q, enters;
  logic [1:0][1:0] filled_q;
  operation_t waiting, next;
  lines_t line, waiting_line, next_line;
  logic [1:0][2*Lines-1:0] filled;
  logic [$clog2(Waiting+1)-1:0] waits;
  fifo #(
      .Width($bits(operation_t) + $bits(lines_t)),
      .Depth(Waiting)
  ) u_waiting (
      .clk_i,
      .rst_ni,
      .valid_i(accept_q && (waiting_valid || !next_ready)),
      .ready_o(waiting_ready),
      .data_i ({third_q, line}),
      .valid_o(waiting_valid),
      .ready_i(next_ready),
      .data_o ({waiting, waiting_line}),
      .count_o(waits)
  );
  assign waiting_room = 32'(waits) < Waiting - 1;
  `ASSERT(waiting_has_room, !accept_q || waiting_ready)
  skid #(
      .Width($bits(operation_t) + $bits(lines_t))
  ) u_next (
      .clk_i,
      .rst_ni,
      .valid_i(waiting_valid || accept_q),
      .ready_o(next_ready),
      .data_i (waiting_valid ? {waiting, waiting_line} : {third_q, line}),
      .valid_o(next_valid),
      .ready_i(enters),
      .data_o ({next, next_line})
  );
  lines_t line_q[1:3];
  assign valid_o = door_valid_q && &filled_q;
  assign enters = !door_valid_q || (valid_o && ready_i);
  `FFE(door_valid_q, next_valid, enters, 1'b0)
  `FFNE(operation_o, next, enters)
  `FFNE(line_q[1], next_line, enters)
  for (genvar half = 0; half < 2; half++) begin : gen_filled
    for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_lookup
      // A line stays filled while an operation waits for it.
      `FFN(filled_q[half][lookup],
           enters ? filled[half][next_line[half][lookup]] : filled[half][line_q[1][half][lookup]])
    end
  end
  for (genvar cycle = 2; cycle <= 3; cycle++) begin : gen_line
    `FFN(line_q[cycle], line_q[cycle-1])
  end

  ////////////////////////////////////////////////////////////////////////
  // Lines of both halves. Two bits that only writes change mark the newer bank, so all of them are written after reset.

  logic [SlotWidth:0] clear_q;
  logic [1:0] write, write_newer;
  logic [1:0][SlotWidth-1:0] write_slot;
  assign clearing = !clear_q[SlotWidth];
  `FFE(clear_q, clear_q + 1'b1, clearing, '0)
  assign write = clearing ? '1 : write_i;
  assign write_slot = clearing ? {2{clear_q[SlotWidth-1:0]}} : write_slot_i;
  assign write_newer = clearing ? '0 : write_newer_i;

  bucket_t [1:0][1:0] row;
  logic [1:0][1:0][AccountWays-1:0] changed, changed_now;
  for (genvar half = 0; half < 2; half++) begin : gen_half
    logic [1:0] writes;
    assign writes = {
      write_i[1] && write_slot_i[1][SlotWidth-1] == 1'(half), write_i[0] && write_slot_i[0][SlotWidth-1] == 1'(half)
    };
    account_lines #(
        .Lines     (Lines),
        .AddrWidth (AddrWidth),
        .Operations(Operations)
    ) u_lines (
        .clk_i,
        .rst_ni,
        .ready_o          (cleared[half]),
        .bucket_i         (bucket_q[half]),
        .move_i           (lookup_moves_q[half]),
        .third_i          (third_valid_q),
        .may_take_o       (may_take[half]),
        .take_i           (half_accept_q[half]),
        .line_o           (line[half]),
        .filled_o         (filled[half]),
        .read_line_i      (line_q[1][half]),
        .bucket_o         (row[half]),
        .changed_o        (changed[half]),
        .changed_now_o    (changed_now[half]),
        .clear_i          (clearing),
        .clear_place_i    (clear_q[SlotWidth-2:0]),
        .write_i          (writes),
        .write_place_i    ({write_slot_i[1][SlotWidth-2:0], write_slot_i[0][SlotWidth-2:0]}),
        .write_id_i,
        .write_balance_i,
        .write_newer_i,
        .release_i        (done_i),
        .mem_read_valid_o (mem_read_valid_o[half]),
        .mem_read_ready_i (mem_read_ready_i[half]),
        .mem_read_addr_o  (mem_read_addr_o[half]),
        .mem_read_line_o  (mem_read_line_o[half]),
        .mem_data_valid_i (mem_data_valid_i[half]),
        .mem_data_line_i  (mem_data_line_i[half]),
        .mem_data_i       (mem_data_i[half]),
        .mem_write_valid_o(mem_write_valid_o[half]),
        .mem_write_ready_i(mem_write_ready_i[half]),
        .mem_write_addr_o (mem_write_addr_o[half]),
        .mem_write_ways_o (mem_write_ways_o[half]),
        .mem_write_data_o (mem_write_data_o[half]),
        .mem_written_i    (mem_written_i[half])
    );
  end

  ////////////////////////////////////////////////////////////////////////
  // Cycles 1 to 4: compare. A place that was free when read and has changed since holds a new account, whose id is
  // stored here.

  typedef struct packed {
    logic used;
    id_t  id;
  } entry_t;
  // [lookup][half]
  entry_t [1:0][1:0][AccountWays-1:0] entry;
  id_t [1:0][1:0][AccountWays-1:0] created, created_q;
  logic [1:0][1:0][AccountWays-1:0] hit;
  line_t [1:0][1:0] index;
  bucket_t [1:0][1:0] row_q, row_qq;
  logic [1:0][1:0][AccountWays-1:0] changed_q;
  id_t [1:0] id_q[2:3];
  `FFN(id_q[2], {operation_o.command == Transfer ? operation_o.destination : operation_o.source, operation_o.source})
  `FFN(id_q[3], id_q[2])
  `FFN(row_q, row)
  `FFN(row_qq, row_q)
  `FFN(changed_q, changed)
  `FFN(created_q, created)
  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_lookup
    for (genvar half = 0; half < 2; half++) begin : gen_half
      for (genvar way = 0; way < AccountWays; way++) begin : gen_way
        ram_1r1w #(
            .Width($bits(id_t)),
            .Depth(2 * Lines)
        ) u_created (
            .clk_i,
            .write_i        (create_i && write_slot_i[0][SlotWidth-1-:3] == {1'(half), 2'(way)}),
            .write_address_i(write_slot_i[0][LineWidth-1:0]),
            .write_data_i   (write_id_i[0]),
            .read_i         (1'b1),
            .read_address_i (line_q[1][half][lookup]),
            .read_data_o    (created[lookup][half][way])
        );
        assign entry[lookup][half][way].used = row_q[half][lookup][way].used || changed_q[half][lookup][way];
        assign entry[lookup][half][way].id = row_q[half][lookup][way].used ? row_q[half][lookup][way].id :
            created_q[lookup][half][way];
      end
      assign index[lookup][half] = line_q[3][half][lookup];
    end
  end
  account_match #(
      .TagWidth  ($bits(id_t)),
      .IndexWidth(LineWidth)
  ) u_match (
      .clk_i,
      .tag_i  (id_q[3]),
      .index_i(index),
      .entry_i(entry),
      .found_o,
      .slot_o,
      .hit_o  (hit),
      .has_room_o,
      .room_o
  );
  `ASSERT(one_slot_an_account, !compares_i || ($onehot0(hit[0]) && $onehot0(hit[1])))

  ////////////////////////////////////////////////////////////////////////
  // Cycles 4 and 5: balances. An unchanged balance comes from the memory's row, for both banks.

  balance_t [1:0] kept, kept_q;
  logic [1:0] has_changed, has_changed_q;
  balance_t [1:0][1:0] balance;
  always_comb begin
    kept = '0;
    has_changed = '0;
    for (int lookup = 0; lookup < 2; lookup++) begin
      for (int half = 0; half < 2; half++) begin
        for (int way = 0; way < int'(AccountWays); way++) begin
          kept[lookup] |= row_qq[half][lookup][way].balance & {$bits(balance_t) {hit[lookup][half][way]}};
        end
        has_changed[lookup] |= |(changed_now[half][lookup] & hit[lookup][half]);
      end
    end
  end
  `FFN(kept_q, kept)
  `FFN(has_changed_q, has_changed)
  balance_store #(
      .SlotWidth(SlotWidth)
  ) u_balances (
      .clk_i,
      .read_slot_i,
      .balance_o      (balance),
      .newer_o,
      .write_i        (write),
      .write_slot_i   (write_slot),
      .write_balance_i,
      .write_newer_i  (write_newer)
  );
  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_balance
    assign balance_o[lookup] = has_changed_q[lookup] ? balance[lookup] : {2{kept_q[lookup]}};
  end
endmodule
