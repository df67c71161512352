// Third stage: executes operations in order, one per cycle, even if each uses the accounts of the previous one.
//
// The twin of crates/ledger/src/engine.rs, for compact frames. An accepted operation advances in every cycle and never
// stalls; it is accepted only if there is room for its result. Cycle 1 is the cycle of acceptance.
//
//   1 hash, read the directory          4 slots, read balances     7 execute
//   2 its memory; read the window       5 memory                   8 write all, read the ring
//   3 compare                           6 select the balances      9 memory   10 compare with the first; queue result
//
// The balances of operations in cycles 8 to 10 were not yet in memory when the operation in cycle 6 read; the same
// holds for cycle 8 as seen from cycle 7. Both are forwarded from there. CREATE changes the directory: no operation is
// accepted after it until it has written, 8 cycles.
//
// With External, the accounts are in a memory at the mem ports, of any latency. An operation then reaches cycle 1 once
// its accounts are on chip, see accounts_external; the window and its index stay on chip.

`include "assertions.svh"
`include "registers.svh"

module store_controller
  import transfer_pkg::*;
#(
    // Accounts: 8 slots per index. Window: 8 entries per index; 2 to 3 of them should be in use.
    parameter int unsigned AccountIndexWidth = 8,
    parameter int unsigned WindowBits = 10,
    parameter int unsigned WindowIndexWidth = 10,
    parameter bit External = 1'b0,
    // With External: lines of each of the four memory ports.
    parameter int unsigned Lines = 64,
    localparam int unsigned LimitWidth = AccountIndexWidth + 4,
    localparam int unsigned LineWidth = $clog2(Lines)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // Random bits unknown to clients; constant after reset.
    input  logic       [127:0]   secret_i,
    // Maximum number of accounts.
    input  logic       [LimitWidth-1:0] limit_i,
    // Advances time for remembered operations, see dedup_window.
    input  logic                 retry_tick_i,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  operation_t           operation_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output answer_t              result_o,

    // With External: two ports to each half of the memory, [half][port]. Reads are answered in any order; each port's
    // writes are acknowledged in order. No row is read and written at the same time, on any port. Idle without
    // External.
    output logic     [1:0][1:0]                        mem_read_valid_o,
    input  logic     [1:0][1:0]                        mem_read_ready_i,
    output logic     [1:0][1:0][AccountIndexWidth-1:0] mem_read_addr_o,
    output logic     [1:0][1:0][        LineWidth-1:0] mem_read_line_o,
    input  logic     [1:0][1:0]                        mem_data_valid_i,
    input  logic     [1:0][1:0][        LineWidth-1:0] mem_data_line_i,
    input  bucket_t  [1:0][1:0]                        mem_data_i,
    output logic     [1:0][1:0]                        mem_write_valid_o,
    input  logic     [1:0][1:0]                        mem_write_ready_i,
    output logic     [1:0][1:0][AccountIndexWidth-1:0] mem_write_addr_o,
    output logic     [1:0][1:0][             AccountWays-1:0] mem_write_ways_o,
    output account_t [1:0][1:0]                        mem_write_data_o,
    input  logic     [1:0][1:0]                        mem_written_i
);
  `PARAMETER_CHECK(clear, External || WindowIndexWidth >= AccountIndexWidth,
                   "store_controller: WindowIndexWidth is too small")
  // CREATE creates, TRANSFER reads and writes a destination, and only REFER is not remembered. A new command must be
  // handled here.
  `CONSTANT_CHECK(commands, protocol_pkg::CommandCodes == 4,
                  "store_controller: the protocol has commands that are not told of here")

  // Results in flight: 10 cycles in the pipeline, one in the queue, and some slack for the receiver.
  localparam int unsigned Results = 16;
  localparam int unsigned First = 2;
  localparam int unsigned Last = 10;

  // On-chip place of an account: in the tables, or in the lines of external memory.
  localparam int unsigned SlotWidth = External ? LineWidth + 4 : AccountIndexWidth + 3;
  typedef logic [SlotWidth-1:0] slot_t;

  // The memories are cleared after reset.
  logic clear_q;
  logic [WindowIndexWidth-1:0] clear_index_q;
  `FF(clear_q, clear_q && clear_index_q != '1, 1'b1)
  `FF(clear_index_q, clear_index_q + WindowIndexWidth'(1), '0)

  // Operations in flight.
  logic begins, ready, taken, given, has_room_for_result_q;
  operation_t entering;
  logic [$clog2(Results+1)-1:0] under_way_q;
  logic creating, creating_later, creating_later_q;
  logic valid_q[First:Last];
  operation_t operation_q[First:Last];
  assign taken = begins && ready;
  assign given = valid_o && ready_i;
  // Computed a cycle ahead because much depends on it; assumes that this cycle accepts an operation.
  `FF(has_room_for_result_q, !clear_q && 32'(under_way_q) < Results - 1, 1'b0)
  assign ready = has_room_for_result_q && !creating;
  `FFE(under_way_q, taken ? under_way_q + 1'b1 : under_way_q - 1'b1, taken != given, '0)
  // Computed a cycle ahead, except for the first stage.
  always_comb begin
    creating_later = 1'b0;
    for (int cycle = First; cycle <= 7; cycle++) begin
      creating_later |= valid_q[cycle] && operation_q[cycle].command == Create;
    end
  end
  `FF(creating_later_q, creating_later, 1'b0)
  assign creating = creating_later_q || (valid_q[First] && operation_q[First].command == Create);
  `FF(valid_q[First], taken, 1'b0)
  `FFN(operation_q[First], entering)
  for (genvar cycle = First + 1; cycle <= Last; cycle++) begin : gen_operation
    `FF(valid_q[cycle], valid_q[cycle-1], 1'b0)
    `FFN(operation_q[cycle], operation_q[cycle-1])
  end

  // Cycles 1 to 5: accounts. Which earlier operations use the same ones? [own account][other's account]
  logic [1:0] exists, exists_q[5:6];
  slot_t [1:0] slot, slot_q[5:8];
  slot_t [1:0] found_slot;
  slot_t room;
  logic has_room, has_room_q[5:6];
  logic creates_q;
  // A new account is written as both source and destination, so that both banks of its balance are set. Its old
  // contents are ignored, so balances are read at the found slot, which is known earlier.
  assign slot = operation_q[4].command == Create && !exists[0] ? {2{room}} : found_slot;
  `FFN(exists_q[5], exists)
  `FFN(slot_q[5], slot)
  `FFN(has_room_q[5], has_room)
  `FFN(exists_q[6], exists_q[5])
  `FFN(has_room_q[6], has_room_q[5])
  for (genvar cycle = 6; cycle <= 8; cycle++) begin : gen_slot
    `FFN(slot_q[cycle], slot_q[cycle-1])
  end

  balance_t [1:0][1:0] stored, stored_q;
  logic [1:0][1:0] stored_newer, stored_newer_q;
  logic [1:0] writes_q[8:10];
  balance_t [1:0] after_q[8:10];
  logic [1:0] newer_q[8:10];
  if (External) begin : gen_external
    accounts_external #(
        .AddrWidth(AccountIndexWidth),
        .Lines    (Lines)
    ) u_accounts (
        .clk_i,
        .rst_ni,
        .secret_i,
        .valid_i,
        .ready_o,
        .operation_i,
        .valid_o        (begins),
        .ready_i        (ready),
        .operation_o    (entering),
        .compares_i     (valid_q[4]),
        .found_o        (exists),
        .slot_o         (found_slot),
        .has_room_o     (has_room),
        .room_o         (room),
        .read_slot_i    (found_slot),
        .balance_o      (stored),
        .newer_o        (stored_newer),
        .create_i       (creates_q),
        .write_i        (writes_q[8]),
        .write_slot_i   (slot_q[8]),
        .write_id_i     ({operation_q[8].destination, operation_q[8].source}),
        .write_balance_i(after_q[8]),
        .write_newer_i  (newer_q[8]),
        .done_i         (valid_q[9]),
        .mem_read_valid_o,
        .mem_read_ready_i,
        .mem_read_addr_o,
        .mem_read_line_o,
        .mem_data_valid_i,
        .mem_data_line_i,
        .mem_data_i,
        .mem_write_valid_o,
        .mem_write_ready_i,
        .mem_write_addr_o,
        .mem_write_ways_o,
        .mem_write_data_o,
        .mem_written_i
    );
  end else begin : gen_onchip
    assign begins = valid_i;
    assign ready_o = ready;
    assign entering = operation_i;
    account_directory #(
        .IndexWidth(AccountIndexWidth)
    ) u_directory (
        .clk_i,
        .rst_ni,
        .secret_i,
        .id_i         ({entering.destination, entering.source}),
        .found_o      (exists),
        .slot_o       (found_slot),
        .has_room_o   (has_room),
        .room_o       (room),
        .write_i      (creates_q),
        .write_slot_i (slot_q[8][0]),
        .write_id_i   (operation_q[8].source),
        .clear_i      (clear_q),
        .clear_index_i(clear_index_q[AccountIndexWidth-1:0])
    );
    balance_store #(
        .SlotWidth(SlotWidth)
    ) u_balances (
        .clk_i,
        .read_slot_i    (found_slot),
        .balance_o      (stored),
        .newer_o        (stored_newer),
        .write_i        (writes_q[8]),
        .write_slot_i   (slot_q[8]),
        .write_balance_i(after_q[8]),
        .write_newer_i  (newer_q[8])
    );
    assign {mem_read_valid_o, mem_read_addr_o, mem_read_line_o} = '0;
    assign {mem_write_valid_o, mem_write_addr_o, mem_write_ways_o, mem_write_data_o} = '0;
    logic unused_memory;
    assign unused_memory = ^{mem_read_ready_i, mem_data_valid_i, mem_data_line_i, mem_data_i} ^
        ^{mem_write_ready_i, mem_written_i};
  end
  `FFN(stored_q, stored)
  `FFN(stored_newer_q, stored_newer)

  slot_t [1:0] slot_later_q[9:9];
  `FFN(slot_later_q[9], slot_q[8])
  // An account that does not exist has no slot, so it matches no other.
  logic [1:0][1:0] same[1:4], same_q[1:4];
  for (genvar side = 0; side < 2; side++) begin : gen_side
    for (genvar other = 0; other < 2; other++) begin : gen_other
      for (genvar behind = 1; behind <= 3; behind++) begin : gen_behind
        assign same[behind][side][other] = exists_q[5][side] && slot_q[5][side] == slot_q[5+behind][other];
      end
      assign same[4][side][other] = exists_q[5][side] && slot_q[5][side] == slot_later_q[9][other];
    end
  end
  for (genvar behind = 1; behind <= 4; behind++) begin : gen_same
    `FFN(same_q[behind], same[behind])
  end

  // Cycle 6: the balances before the operation, without the effect of the immediately preceding one. `newer` holds the
  // bits of both banks.
  typedef struct packed {
    balance_t balance;
    logic [1:0] newer;
  } held_t;
  held_t [1:0] held, held_q;
  for (genvar side = 0; side < 2; side++) begin : gen_held
    logic [4:2][1:0] forward;
    for (genvar other = 0; other < 2; other++) begin : gen_other
      assign forward[2][other] = same_q[2][side][other] && writes_q[8][other];
      assign forward[3][other] = same_q[3][side][other] && writes_q[9][other] && !(|forward[2]);
      assign forward[4][other] = same_q[4][side][other] && writes_q[10][other] && !(|forward[2]) && !(|forward[3]);
    end
    always_comb begin
      held[side].newer = stored_newer_q[side];
      held[side].balance = stored_newer_q[side][0] == stored_newer_q[side][1] ? stored_q[side][0] : stored_q[side][1];
      if (|forward) held[side] = '0;
      for (int behind = 2; behind <= 4; behind++) begin
        for (int other = 0; other < 2; other++) begin
          if (forward[behind][other]) begin
            held[side].balance |= after_q[6+behind][other];
            held[side].newer |= newer_after(1'(other), newer_q[6+behind][other]);
          end
        end
      end
      if (!exists_q[6][side] || (side == 1 && operation_q[6].command == Create)) held[side].balance = '0;
    end
  end

  // Bits of both banks after a write to one of them.
  function automatic logic [1:0] newer_after(logic bank, logic written);
    return bank ? {written, !written} : {written, written};
  endfunction
  `FFN(held_q, held)

  // Also cycle 6: refusals that do not depend on the balances. A CREATE is alone in the pipeline, so the number of
  // accounts is stable.
  status_e refusal, refusal_q;
  logic [LimitWidth-1:0] accounts_q;
  logic refused_q, journalled_q;
  always_comb begin
    refusal = operation_q[6].refusal;
    if (refusal == StatusOk) begin
      if (operation_q[6].command == Create) begin
        if (exists_q[6][0]) refusal = StatusAccountExists;
        else if (!has_room_q[6] || accounts_q >= limit_i) refusal = StatusTableFull;
      end else begin
        if (!exists_q[6][0]) refusal = StatusSourceUnknown;
        else if (operation_q[6].command == Transfer && !exists_q[6][1]) refusal = StatusDestinationUnknown;
      end
    end
  end
  `FFN(refusal_q, refusal)
  `FFN(refused_q, refusal != StatusOk)
  `FFN(journalled_q, valid_q[6] && operation_q[6].refusal == StatusOk && operation_q[6].command != Refer)

  // Cycle 7: execute. The previous operation decided in its cycle 7 which of its balances to forward.
  logic [1:0][1:0] forward_last_q;
  held_t [1:0] operand;
  balance_t source_after, destination_after;
  logic is_transfer, creates, found, window_has_room, fresh, commit, underflow, overflows;
  logic [1:0] writes;
  status_e status;
  balance_t addend_q;
  assign is_transfer = operation_q[7].command == Transfer;
  assign creates = operation_q[7].command == Create;
  `FFN(addend_q, {64{operation_q[6].command == Transfer}} ^ 64'(operation_q[6].amount))
  for (genvar side = 0; side < 2; side++) begin : gen_operand
    always_comb begin
      operand[side] = held_q[side];
      for (int other = 0; other < 2; other++) begin
        if (forward_last_q[side][other]) begin
          operand[side] = '{balance: after_q[8][other], newer: newer_after(1'(other), newer_q[8][other])};
        end
      end
    end
    for (genvar other = 0; other < 2; other++) begin : gen_forward
      `FF(forward_last_q[side][other], same_q[1][side][other] && writes[other], 1'b0)
    end
  end
  balance_sums u_sums (
      .command_i    (operation_q[7].command),
      .amount_i     (operation_q[7].amount),
      .addend_i     (addend_q),
      .source_i     (operand[0].balance),
      .destination_i(operand[1].balance),
      .source_o     (source_after),
      .destination_o(destination_after),
      .underflow_o  (underflow),
      .overflow_o   (overflows)
  );

  assign status = refused_q ? refusal_q : underflow ? StatusInsufficientBalance : overflows ? StatusOverflow : StatusOk;
  assign fresh = journalled_q && !found && window_has_room;
  assign commit = fresh && !refused_q && !underflow && !overflows;
  assign writes = {commit && (is_transfer || creates), commit};

  `FF(writes_q[8], writes, '0)
  // No balance check refuses these.
  `FF(creates_q, creates && fresh && !refused_q, 1'b0)
  `FFE(accounts_q, accounts_q + 1'b1, creates_q, '0)
  `FFN(after_q[8][0], source_after)
  `FFN(after_q[8][1], destination_after)
  // After the write, bank 0 is newer if the bits agree, bank 1 if they differ. A new account gets both bits.
  `FFN(newer_q[8][0], operand[0].newer[1] && !creates)
  `FFN(newer_q[8][1], !operand[1].newer[0] && !creates)
  for (genvar cycle = 9; cycle <= 10; cycle++) begin : gen_after
    `FF(writes_q[cycle], writes_q[cycle-1], '0)
    `FFN(after_q[cycle], after_q[cycle-1])
    `FFN(newer_q[cycle], newer_q[cycle-1])
  end

  // Cycle 8: the result of executing; cycle 10: the remembered one.
  result_t result, result_q[9:10], first_result;
  answer_t answer;
  logic wide_q, balance_wide_q, first_wide;
  logic first_same;
  balance_t balance_q;
  status_e status_q;
  logic changes_q, found_q[8:10], busy_q;
  `FFN(balance_q, operand[0].balance)
  `FFN(status_q, status)
  `FFN(changes_q, commit)
  `FFN(found_q[8], journalled_q && found)
  `FFN(busy_q, journalled_q && !found && !window_has_room)
  assign result.status = busy_q ? StatusBusy : status_q;
  // An operation refused by its form alone reports no balance.
  assign result.value = changes_q ? after_q[8][0] : busy_q || operation_q[8].refusal != StatusOk ? '0 : balance_q;
  `FFN(result_q[9], result)
  `FFN(result_q[10], result_q[9])
  `FFN(wide_q, |result_q[9].value[63:32])
  `FFN(found_q[9], found_q[8])
  `FFN(found_q[10], found_q[9])
  balance_t balance_later_q[9:10];
  `FFN(balance_later_q[9], balance_q)
  `FFN(balance_later_q[10], balance_later_q[9])
  `FFN(balance_wide_q, |balance_later_q[9][63:32])

  function automatic content_t content_of(operation_t operation);
    return '{command: operation.command, destination: operation.destination, amount: operation.amount};
  endfunction

  dedup_window #(
      .WindowBits(WindowBits),
      .IndexWidth(WindowIndexWidth)
  ) u_window (
      .clk_i,
      .rst_ni,
      .secret_i,
      .clear_i       (clear_q),
      .clear_index_i (clear_index_q),
      .tick_i        (retry_tick_i),
      .insert_i       (taken && entering.refusal == StatusOk && entering.command != Refer),
      .source_i      (entering.source),
      .transaction_i (entering.transaction),
      .found_o       (found),
      .has_room_o    (window_has_room),
      .fresh_i       (fresh),
      .content_i     (content_of(operation_q[8])),
      .result_i      (result),
      .first_same_o  (first_same),
      .first_result_o(first_result),
      .first_wide_o (first_wide)
  );

  always_comb begin
    answer = {wide_q, result_q[10]};
    if (found_q[10]) begin
      answer = first_same ? {first_wide, first_result} : '{
          wide: balance_wide_q,
          status: StatusTransactionIdReused,
          value: balance_later_q[10]
      };
    end
  end

  logic queue_ready;
  logic [$clog2(Results+1)-1:0] queued;
  fifo #(
      .Width($bits(answer_t)),
      .Depth(Results)
  ) u_results (
      .clk_i,
      .rst_ni,
      .valid_i(valid_q[10]),
      .ready_o(queue_ready),
      .data_i (answer),
      .valid_o,
      .ready_i,
      .data_o (result_o),
      .count_o(queued)
  );

  `ASSERT(results_have_room, !valid_q[10] || queue_ready)
  `ASSERT(under_way_is_counted, under_way_q >= queued)
endmodule
