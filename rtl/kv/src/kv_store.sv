// The NIC's store: executes requests on items in a memory of any latency. Requests in, verdicts and the rows of read
// items out, in order.
//
//     operations -> table_onchip, table_values -> dispatch -> kv_rows -> execution -> verdicts, rows
//     bodies -------------------------------------- | ----------------------^ |
//                                                   +-- blocks being written <+-> memory
//
// The table finds a fingerprint's block. An operation reads the block's header and key, and changes or returns an item
// only if the whole key is the same. All else is the host's. The store is a cache of the host's items: removing one is
// always right, and keeping an old one never is.
//
//     GET      reads the item
//     SET      writes its block; the item of another key with this fingerprint is no longer here
//     REPLACE  reads the old block's key and writes the new block, whose header is invalid if the key differs
//     DELETE   has freed the block already, and reads its key for the verdict
//     TOUCH    reads the item and writes its header; the table keeps its expiry, the header has the new one
//
// A write without room for its item invalidates the key's old one. A request that flushes begins another epoch: items
// of earlier ones are no longer valid, until the count wraps after 2^32.
//
// # Order
//
// Reads are requested ahead, in the table's order; an operation waits if one ahead of it still writes its block. Writes
// are done in execution, also in order, when all earlier reads have arrived. So a block that is freed and allocated
// again needs no other care. The header is written last, but reads wait for all rows of a write.

`include "assertions.svh"
`include "registers.svh"

module kv_store
  import wire_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned Buckets = 512,  // see table_onchip
    parameter int unsigned Blocks  = 256,  // of each class
    // Blocks being written. Writes of two rows every other cycle need half of the memory's latency.
    parameter int unsigned Writers = 32,
    parameter int unsigned Slots   = 64,   // see kv_rows
    localparam int unsigned BlockWidth = $clog2(Blocks),
    localparam int unsigned AddrWidth = BlockWidth + $clog2(2 * LastRows),
    localparam int unsigned SlotWidth = $clog2(Slots),
    localparam int unsigned CountWidth = $clog2(2 * 8 * Buckets + 16 + 1)
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic     [3:0][63:0]    secrets_i,          // of the table's hash
    input  logic     [31:0]         now_i,              // seconds since 1970
    input  logic     [14:0]         series_i,           // of CAS numbers: another one after each reset
    input  logic                    operation_valid_i,
    output logic                    operation_ready_o,
    input  request_t                operation_i,
    input  logic     [127:0]        fingerprint_i,
    // Keys and values of requests that have a key. Bytes after their end are ignored.
    input  logic                    body_valid_i,
    output logic                    body_ready_o,
    input  logic     [WordWidth-1:0] body_i,
    output logic                    verdict_valid_o,
    input  logic                    verdict_ready_i,
    output verdict_t                verdict_o,
    output logic                    row_valid_o,
    input  logic                    row_ready_i,
    output logic     [WordWidth-1:0] row_o,
    output logic                    row_last_o,
    output logic                    read_valid_o,
    input  logic                    read_ready_i,
    output logic     [AddrWidth-1:0] read_addr_o,
    output logic     [SlotWidth-1:0] read_slot_o,
    input  logic                    data_valid_i,
    input  logic     [SlotWidth-1:0] data_slot_i,
    input  logic     [WordWidth-1:0] data_i,
    output logic                    write_valid_o,
    input  logic                    write_ready_i,
    output logic     [AddrWidth-1:0] write_addr_o,
    output logic     [WordWidth-1:0] write_data_o,
    input  logic                    written_i,          // in the order of the writes
    output logic     [CountWidth-1:0] count_o
);
  `PARAMETER_CHECK(writers, Writers >= 2 && Writers == 2 ** $clog2(Writers),
                   "kv_store: Writers must be a power of two, at least 2")

  localparam int unsigned ValueWidth = ClassWidth + BlockWidth + BodyLengthWidth;
  // Longest body, in words; queues hold it, so that the operation at their head never waits for room.
  localparam int unsigned BodyWords = LastRows;

  typedef struct packed {
    logic [ClassWidth-1:0] kind;
    logic [BlockWidth-1:0] block;
  } place_t;
  typedef struct packed {
    place_t                     place;
    logic [BodyLengthWidth-1:0] length;
  } value_t;

  // Blocks of n rows begin at row n * Blocks, so an address needs no sum.
  function automatic logic [AddrWidth-1:0] address_of(place_t place);
    logic [AddrWidth-1:0] address;
    address = '0;
    for (int unsigned c = 0; c < Classes; c++) begin
      if (place.kind == ClassWidth'(c)) address = AddrWidth'({1'b1, place.block}) << ($clog2(FirstRows) + c);
    end
    return address;
  endfunction

  ////////////////////////////////////////////////////////////////////////
  // The table. Packets that are not requests pass beside it, in order.

  table_pkg::op_e table_op;
  always_comb begin
    unique case (operation_i.op)
      KvSet: table_op = table_pkg::OpInsert;
      KvReplace: table_op = table_pkg::OpUpdate;
      KvDelete: table_op = table_pkg::OpDelete;
      // TOUCH reads: its key may be another than that of the entry, which an update would change.
      default: table_op = table_pkg::OpGet;
    endcase
  end

  value_t asked, block, old_value, new_value, given, result_value, replaced;
  logic [Classes-1:0] avail, more, take;
  logic reuse, give, values_ready, table_ready, waiting_ready, enters, result_valid, result_ready, decided, found;
  table_pkg::status_e result_status;
  logic unused_tag;
  assign asked = '{
          place: '{kind: class_of(rows_of(operation_i.body_length)), block: '0},
          length: operation_i.body_length
      };
  assign operation_ready_o = waiting_ready && (!operation_i.taken || (table_ready && values_ready));
  assign enters = operation_valid_i && operation_ready_o;
  table_onchip #(
      .ValueWidth(ValueWidth),
      .TagWidth  (1),
      .Buckets   (Buckets),
      .Classes   (Classes)
  ) u_table (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .now_i,
      .request_valid_i (operation_valid_i && operation_i.taken && waiting_ready && values_ready),
      .request_ready_o (table_ready),
      .request_op_i    (table_op),
      .request_key_i   (fingerprint_i),
      .request_value_i (asked),
      .request_expiry_i(operation_i.expiry),
      .request_tag_i   (1'b0),
      .result_valid_o  (result_valid),
      .result_ready_i  (result_ready),
      .result_status_o (result_status),
      .result_value_o  (result_value),
      .result_tag_o    (unused_tag),
      .avail_i         (avail),
      .more_i          (more),
      .take_o          (take),
      .block_i         (block),
      .reuse_o         (reuse),
      .old_o           (old_value),
      .new_o           (new_value),
      .give_o          (give),
      .given_o         (given),
      .decided_o       (decided),
      .found_o         (found),
      .count_o
  );
  table_values #(
      .Classes    (Classes),
      .Blocks     (Blocks),
      .LengthWidth(BodyLengthWidth)
  ) u_values (
      .clk_i,
      .rst_ni,
      .ready_o(values_ready),
      .avail_o(avail),
      .more_o (more),
      .take_i (take),
      .block_o(block),
      .reuse_i(reuse),
      .old_i  (old_value),
      .new_i  (new_value),
      .give_i (give),
      .given_i(given)
  );

  // The key's value before an operation accompanies its result. Both queues have room for all operations in the table.
  localparam int unsigned Outstanding = 32;
  logic replaced_valid, replaced_ready, had;
  logic [$clog2(Outstanding+1)-1:0] unused_replaced;
  fall_through_fifo #(
      .Width(1 + ValueWidth),
      .Depth(Outstanding)
  ) u_replaced (
      .clk_i,
      .rst_ni,
      .valid_i(decided),
      .ready_o(replaced_ready),
      .data_i ({found, given}),
      .valid_o(replaced_valid),
      .ready_i(result_ready),
      .data_o ({had, replaced}),
      .count_o(unused_replaced)
  );
  `ASSERT(replaced_have_room, !decided || replaced_ready)
  `ASSERT(replaced_have_results, replaced_valid == result_valid)

  request_t waiting;
  logic waits, dispatches;
  logic [$clog2(Outstanding+1)-1:0] unused_waiting;
  fifo #(
      .Width($bits(request_t)),
      .Depth(Outstanding)
  ) u_waiting (
      .clk_i,
      .rst_ni,
      .valid_i(enters),
      .ready_o(waiting_ready),
      .data_i (operation_i),
      .valid_o(waits),
      .ready_i(dispatches),
      .data_o (waiting),
      .count_o(unused_waiting)
  );

  ////////////////////////////////////////////////////////////////////////
  // Dispatch: the reads and the writes of an operation.

  typedef enum logic [1:0] {
    WriteNothing = 2'd0,
    WriteItem    = 2'd1,
    WriteExpiry  = 2'd2,  // the header that was read, with the request's expiry if the key is the same
    WriteInvalid = 2'd3   // a header of no item
  } write_e;

  typedef struct packed {
    request_t             request;
    logic                 executes;  // without reading
    logic                 no_room;
    logic [RowsWidth-1:0] reads;     // rows; 0: none
    write_e               writes;
    logic [AddrWidth-1:0] address;   // of the block that it writes
  } work_t;

  work_t work;
  value_t read_block, write_block;
  logic is_ok, no_room, may_match;
  always_comb begin
    work = '0;
    work.request = waiting;
    work.writes = WriteNothing;
    is_ok = result_status == table_pkg::StatusOk;
    no_room = result_status == table_pkg::StatusNoRoom;
    read_block = waiting.op == KvReplace ? replaced : result_value;
    // An item shorter than the key is another's, and its block may have fewer rows.
    may_match = is_ok && read_block.length >= BodyLengthWidth'(waiting.key_length);
    if (may_match && waiting.op != KvSet) begin
      work.reads = waiting.returns_value ? rows_of(read_block.length) : rows_of(BodyLengthWidth'(waiting.key_length));
    end
    unique case (waiting.op)
      KvSet, KvReplace: begin
        work.executes = waiting.op == KvSet && is_ok;
        if (is_ok) work.writes = work.executes || may_match ? WriteItem : WriteInvalid;
        else if (no_room && had) work.writes = WriteInvalid;
        work.no_room = no_room;
      end
      KvTouch: if (may_match) work.writes = WriteExpiry;
      default: ;
    endcase
    write_block = is_ok ? result_value : replaced;
    work.address = address_of(write_block.place);
    if (!waiting.taken) begin
      work.executes = 1'b0;
      work.no_room = 1'b0;
      work.reads = '0;
      work.writes = WriteNothing;
    end
  end

  // Blocks being written, from dispatch until the memory has confirmed the last row.
  place_t places_q[Writers];
  logic [Writers-1:0] writing_q, conflicts;
  logic [$clog2(Writers)-1:0] newest_q, oldest_q;
  logic conflict, has_writer, work_ready, command_ready, begins_writing, ends_writing;
  for (genvar w = 0; w < Writers; w++) begin : gen_writer
    logic begins, ends;
    assign begins = begins_writing && newest_q == $clog2(Writers)'(w);
    assign ends = ends_writing && oldest_q == $clog2(Writers)'(w);
    `FFE(writing_q[w], begins, begins || ends, 1'b0)
    `FFNE(places_q[w], write_block.place, begins)
    equal #(
        .Width(1 + $bits(place_t))
    ) u_conflict (
        .a_i    ({writing_q[w], places_q[w]}),
        .b_i    ({1'b1, read_block.place}),
        .equal_o(conflicts[w])
    );
  end
  `FFE(newest_q, newest_q + 1'b1, begins_writing, '0)
  `FFE(oldest_q, oldest_q + 1'b1, ends_writing, '0)
  assign conflict = work.reads != '0 && |conflicts;
  assign has_writer = work.writes == WriteNothing || !writing_q[newest_q];
  assign begins_writing = dispatches && work.writes != WriteNothing;

  logic may_dispatch;
  assign may_dispatch = waits && (!waiting.taken || result_valid) && work_ready && !conflict && has_writer;
  assign dispatches = may_dispatch && (work.reads == '0 || command_ready);
  assign result_ready = dispatches && waiting.taken;

  logic row_comes, row_goes;
  logic [WordWidth-1:0] row;
  kv_rows #(
      .AddrWidth(AddrWidth),
      .Slots    (Slots)
  ) u_rows (
      .clk_i,
      .rst_ni,
      .command_valid_i(may_dispatch && work.reads != '0),
      .command_ready_o(command_ready),
      .command_addr_i (address_of(read_block.place)),
      .command_rows_i (work.reads),
      .read_valid_o,
      .read_ready_i,
      .read_addr_o,
      .read_slot_o,
      .data_valid_i,
      .data_slot_i,
      .data_i,
      .valid_o        (row_comes),
      .ready_i        (row_goes),
      .row_o          (row)
  );

  work_t current;
  logic works, finishes;
  logic [$clog2(Slots/2+1)-1:0] unused_works;
  fifo #(
      .Width($bits(work_t)),
      .Depth(Slots / 2)
  ) u_works (
      .clk_i,
      .rst_ni,
      .valid_i(dispatches),
      .ready_o(work_ready),
      .data_i (work),
      .valid_o(works),
      .ready_i(finishes),
      .data_o (current),
      .count_o(unused_works)
  );

  logic body_comes, body_goes;
  logic [WordWidth-1:0] body;
  ram_fifo #(
      .Width(WordWidth),
      .Depth(2 * BodyWords)
  ) u_bodies (
      .clk_i,
      .rst_ni,
      .valid_i(body_valid_i),
      .ready_o(body_ready_o),
      .data_i (body_i),
      .valid_o(body_comes),
      .ready_i(body_goes),
      .data_o (body)
  );

  ////////////////////////////////////////////////////////////////////////
  // Execution: an operation's header, if it reads one; then a word of its body and a row in each cycle; then the header
  // that it writes.

  typedef enum logic [1:0] {
    AtHeader = 2'd0,
    AtBody   = 2'd1,
    AtWrite  = 2'd2
  } state_e;
  state_e state_q, state_d;
  logic [RowsWidth-1:0] at_q, at_d, words;
  logic reads_header, reads_row, in_body, has_word, has_row, last_step, is_same, writes_row, rows_ready, verdict_ready;
  logic same_q, same, same_d, unwritten_ready, step, ends;
  item_t item_q, item_read, item_kept, item_new;
  logic [31:0] epoch_q;
  assign words = rows_of(current.request.body_length) - 1'b1;
  assign reads_header = works && current.request.taken && state_q == AtHeader && current.reads != '0;
  assign in_body = works && current.request.keyed && !reads_header && state_q != AtWrite;
  assign has_word = in_body && at_q < words;
  assign has_row = in_body && at_q + 1'b1 < current.reads;
  assign last_step = in_body && at_q + 1'b1 >= words && at_q + RowsWidth'(2) >= current.reads;

  // The header must be that of a valid item with a key of this length, the rows those of this key.
  logic header_matches;
  assign item_read = row[$bits(item_t)-1:0];
  assign header_matches = item_read.valid && item_read.key_length == current.request.key_length &&
      item_read.epoch == epoch_q && (item_read.expiry == '0 || now_i < item_read.expiry) &&
      (current.request.protocol == Binary || item_read.body_length <= BodyLengthWidth'(LongestText));
  // A line asks for the time that is left.
  always_comb begin
    item_kept = item_read;
    if (current.request.protocol != Binary && item_read.expiry != '0) item_kept.expiry = item_read.expiry - now_i;
  end
  logic [WordBytes-1:0] of_key, of_body, same_bytes;
  assign of_key  = first_bytes(bytes_of_word(BodyLengthWidth'(current.request.key_length), at_q));
  assign of_body = first_bytes(bytes_of_word(current.request.body_length, at_q));
  for (genvar byte_at = 0; byte_at < WordBytes; byte_at++) begin : gen_same
    equal #(
        .Width(8)
    ) u_byte (
        .a_i    (row[8*byte_at+:8]),
        .b_i    (body[8*byte_at+:8]),
        .equal_o(same_bytes[byte_at])
    );
  end
  assign is_same = (of_key & ~same_bytes) == '0;
  assign same = same_q && (!has_row || is_same);

  // A step waits for its inputs and for room for its outputs.
  logic returns_row, ends_here;
  assign reads_row = reads_header || has_row;
  assign returns_row = reads_row && current.request.returns_value;
  assign writes_row = (has_word && current.writes == WriteItem) || (works && state_q == AtWrite);
  assign ends_here = works &&
      (!current.request.keyed || (last_step && current.writes == WriteNothing) || state_q == AtWrite);
  assign step = works && (!reads_row || row_comes) && (!has_word || body_comes) && (!returns_row || rows_ready) &&
      (!writes_row || (write_ready_i && unwritten_ready)) && (!ends_here || verdict_ready);
  assign row_goes = step && reads_row;
  assign body_goes = step && has_word;
  assign ends = step && ends_here;
  assign finishes = ends;

  always_comb begin
    state_d = state_q;
    at_d = at_q;
    same_d = same;
    if (ends) begin
      state_d = AtHeader;
      at_d = '0;
      same_d = 1'b1;
    end else if (reads_header) begin
      state_d = AtBody;
      same_d = header_matches;
    end else begin
      state_d = last_step ? AtWrite : AtBody;
      at_d = at_q + 1'b1;
    end
  end
  `FFE(state_q, state_d, step, AtHeader)
  `FFE(at_q, at_d, step, '0)
  `FFE(same_q, same_d, step, 1'b1)
  `FFNE(item_q, item_kept, step && reads_header)

  logic executed;
  always_comb begin
    executed = current.reads != '0 ? same : current.executes;
    if (!current.request.taken) executed = current.request.flushes;
  end
  `FFE(epoch_q, epoch_q + 1'b1, ends && current.request.flushes, '0)

  // Numbers of items that the NIC writes have the top bit, which the host's do not. 2^48 writes take a month at one in
  // ten nanoseconds.
  logic [47:0] count_q;
  `FFE(count_q, count_q + 1'b1, ends && executed && current.writes == WriteItem, 48'd1)
  always_comb begin
    item_new = item_q;
    unique case (current.writes)
      WriteItem: begin
        item_new = '{
            valid: executed,
            key_length: current.request.key_length,
            body_length: current.request.body_length,
            flags: current.request.flags,
            cas: {1'b1, series_i, count_q},
            expiry: current.request.expiry,
            epoch: epoch_q
        };
      end
      WriteExpiry: if (executed) item_new.expiry = current.request.expiry;
      WriteInvalid: item_new = '0;
      default: ;
    endcase
  end

  // The address of a write's row: a block's first row is a multiple of its rows.
  assign write_valid_o = writes_row && (!reads_row || row_comes) && (!has_word || body_comes) && unwritten_ready &&
      (!ends_here || verdict_ready);
  assign write_addr_o = current.address | (state_q == AtWrite ? '0 : AddrWidth'(at_q) + 1'b1);
  // Bytes after a body's end are zero.
  always_comb begin
    for (int unsigned byte_at = 0; byte_at < WordBytes; byte_at++) begin
      write_data_o[8*byte_at+:8] = of_body[byte_at] ? body[8*byte_at+:8] : '0;
    end
    if (state_q == AtWrite) write_data_o = WordWidth'(item_new);
  end

  // Whether a row is its operation's last, for each write that the memory has not confirmed.
  localparam int unsigned Unwritten = 64;
  logic is_last, unwritten_valid;
  logic [$clog2(Unwritten+1)-1:0] unused_unwritten;
  fifo #(
      .Width(1),
      .Depth(Unwritten)
  ) u_unwritten (
      .clk_i,
      .rst_ni,
      .valid_i(write_valid_o && write_ready_i),
      .ready_o(unwritten_ready),
      .data_i (state_q == AtWrite),
      .valid_o(unwritten_valid),
      .ready_i(written_i),
      .data_o (is_last),
      .count_o(unused_unwritten)
  );
  assign ends_writing = written_i && is_last;

  logic [$clog2(BodyWords+1)-1:0] unused_rows;
  fifo #(
      .Width(1 + WordWidth),
      .Depth(BodyWords)
  ) u_returned (
      .clk_i,
      .rst_ni,
      .valid_i(step && returns_row),
      .ready_o(rows_ready),
      .data_i ({has_row && at_q + RowsWidth'(2) >= current.reads, row}),
      .valid_o(row_valid_o),
      .ready_i(row_ready_i),
      .data_o ({row_last_o, row_o}),
      .count_o(unused_rows)
  );

  verdict_t verdict;
  localparam int unsigned Verdicts = 16;
  logic [$clog2(Verdicts+1)-1:0] unused_verdicts;
  always_comb begin
    verdict.executed = executed;
    verdict.no_room = current.no_room;
    // A quiet read replies if it finds something, a quiet write if it fails: the host does that.
    // The host gets its FLUSH back, which is all it needs.
    verdict.replies = executed && !current.request.flushes && (!current.request.quiet || current.request.returns_value);
    verdict.has_rows = current.request.taken && current.reads != '0 && current.request.returns_value;
    verdict.item = item_new;
    verdict.request = current.request;
  end
  fifo #(
      .Width($bits(verdict_t)),
      .Depth(Verdicts)
  ) u_verdicts (
      .clk_i,
      .rst_ni,
      .valid_i(ends),
      .ready_o(verdict_ready),
      .data_i (verdict),
      .valid_o(verdict_valid_o),
      .ready_i(verdict_ready_i),
      .data_o (verdict_o),
      .count_o(unused_verdicts)
  );

  `ASSERT(a_write_has_a_writer, !written_i || (unwritten_valid && writing_q[oldest_q]))
  `ASSERT(writers_are_dispatched, !(works && current.writes != WriteNothing) || writing_q != '0)
  `ASSERT(replaced_items_are_in_the_table, !(dispatches && waiting.op == KvReplace && work.reads != '0) || had)
  `ASSUME(requests_have_keys, !operation_valid_i || !operation_i.taken || operation_i.keyed)
  `ASSUME(bodies_fit, !(operation_valid_i && operation_i.keyed) || 32'(rows_of(operation_i.body_length)) <= LastRows)

  logic unused_fields;
  assign unused_fields = ^{replaced_valid, write_block.length};
endmodule
