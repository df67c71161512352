// Cache of the buckets of one half in external memory: prefetches buckets, shares a line between operations on the same
// bucket, and writes back changes.
//
// Lines hold the buckets in use, so that table_engine addresses an on-chip memory of `Lines` places by line number, as
// it would address a whole table. The first operation on a bucket allocates a line. The line is held while any
// operation needs it, including until its writes are in the memory, so a later read returns what was written. A line
// that nobody needs still holds its bucket, and is reused if an operation on that bucket arrives before the line is
// reallocated.
//
// The memory may have any latency and may answer reads in any order; it acknowledges writes in order.

`include "assertions.svh"
`include "registers.svh"

module table_lines #(
    parameter int unsigned Lines      = 64,
    parameter int unsigned AddrWidth  = 20,
    parameter int unsigned Ways       = 8,
    parameter int unsigned EntryWidth = 226,
    localparam int unsigned LineWidth = $clog2(Lines)
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic ready_o,  // the memory has been cleared

    // An operation requests its bucket and gets its line two cycles later. At most `Lines - 3` operations may hold a
    // line: two lines are excluded when the next victim is chosen.
    input  logic                  request_i,
    input  logic [ AddrWidth-1:0] bucket_i,
    output logic [ LineWidth-1:0] line_o,

    // Lines that have been read; sampled with the line number.
    output logic [     Lines-1:0] filled_o,

    // table_engine reads, writes and releases lines.
    input  logic [ LineWidth-1:0]            read_line_i,
    output logic [Ways-1:0][EntryWidth-1:0]  read_data_o,
    input  logic                             done_i,
    input  logic [ LineWidth-1:0]            done_line_i,
    input  logic [ AddrWidth-1:0]            done_bucket_i,
    input  logic [      Ways-1:0]            write_i,
    input  logic [EntryWidth-1:0]            write_data_i,
    output logic                             write_room_o,  // room for the writes that may be in flight in the engine
    output logic                            released_o,    // an operation no longer needs its line

    // Memory. A write stores the same entry in all selected ways.
    output logic                            mem_read_valid_o,
    input  logic                            mem_read_ready_i,
    output logic [ AddrWidth-1:0]           mem_read_addr_o,
    output logic [ LineWidth-1:0]           mem_read_line_o,
    input  logic                            mem_data_valid_i,
    input  logic [ LineWidth-1:0]           mem_data_line_i,
    input  logic [Ways-1:0][EntryWidth-1:0] mem_data_i,
    output logic                            mem_write_valid_o,
    input  logic                            mem_write_ready_i,
    output logic [ AddrWidth-1:0]           mem_write_addr_o,
    output logic [      Ways-1:0]           mem_write_ways_o,
    output logic [EntryWidth-1:0]           mem_write_data_o,
    input  logic                            mem_written_i
);

  `PARAMETER_CHECK(lines, Lines >= 8 && Lines == 2 ** LineWidth,
                   "table_lines: Lines must be a power of two, at least 8")

  // Operations in the engine, and one on its way to it.
  localparam int unsigned EngineDepth = 8;

  function automatic logic [LineWidth-1:0] number(input logic [Lines-1:0] one_hot);
    number = '0;
    for (int unsigned i = 0; i < Lines; i++) if (one_hot[i]) number |= LineWidth'(i);
  endfunction

  ////////////////////////////////////////////////////////////////////////
  // First cycle: find the line that holds the bucket. Second: take it, or a free one.

  logic [Lines-1:0][AddrWidth-1:0] bucket_q;
  logic [Lines-1:0] held_q, filled_q, free_q, match_d, match_q, victim_d, victim_q, taken, alloc;
  logic request_q;
  logic [AddrWidth-1:0] asked_q;
  logic allocate, same;

  assign same = bucket_i == asked_q;
  always_comb begin
    for (int unsigned i = 0; i < Lines; i++) begin
      // As it will be once the previous operation has its line.
      match_d[i] = alloc[i] ? same : held_q[i] && bucket_q[i] == bucket_i;
    end
  end
  `FF(request_q, request_i, 1'b0)
  `FFN(asked_q, bucket_i)
  `FFN(match_q, match_d)

  assign allocate = request_q && match_q == '0;
  assign alloc    = allocate ? victim_q : '0;
  assign taken    = !request_q ? '0 : allocate ? victim_q : match_q;
  // The next victim: any line that is free and stays free, whichever is taken now. It is replaced once it has been
  // taken.
  logic [Lines-1:0] may;
  logic replace;
  assign may     = free_q & ~victim_q & ~match_q;
  assign replace = victim_q == '0 || allocate || (request_q && (match_q & victim_q) != '0);
  find_first #(
      .Width(Lines)
  ) u_victim (
      .word_i (may),
      .first_o(victim_d)
  );
  `FFE(victim_q, victim_d, replace, Lines'(1))

  logic [LineWidth-1:0] line_q;
  // Both numbers are computed in parallel with the match.
  `FFN(line_q, allocate ? number(victim_q) : number(match_q))
  assign line_o = line_q;

  // Pending reads: never more than lines. An empty queue passes a request through at once.
  logic read_ready;
  logic [$clog2(Lines+1)-1:0] unused_reads;
  fall_through_fifo #(
      .Width(AddrWidth + LineWidth),
      .Depth(Lines)
  ) u_reads (
      .clk_i,
      .rst_ni,
      .valid_i(allocate),
      .ready_o(read_ready),
      .data_i ({asked_q, number(victim_q)}),
      .valid_o(mem_read_valid_o),
      .ready_i(mem_read_ready_i),
      .data_o ({mem_read_addr_o, mem_read_line_o}),
      .count_o(unused_reads)
  );

  ////////////////////////////////////////////////////////////////////////
  // Users of each line.

  logic release_valid;
  logic [LineWidth-1:0] release_line;
  for (genvar i = 0; i < Lines; i++) begin : gen_line
    logic [LineWidth-1:0] users_q;
    logic more, less;
    assign more = taken[i];
    assign less = release_valid && release_line == LineWidth'(i);
    `FFE(users_q, more ? users_q + 1'b1 : users_q - 1'b1, more != less, '0)
    `FFE(free_q[i], !more && users_q == LineWidth'(1), more != less, 1'b1)
    `FFE(held_q[i], 1'b1, alloc[i], 1'b0)
    `FFNE(bucket_q[i], asked_q, alloc[i])
    `FFE(filled_q[i], !alloc[i], alloc[i] || (mem_data_valid_i && mem_data_line_i == LineWidth'(i)), 1'b0)
  end
  assign filled_o = filled_q;

  ////////////////////////////////////////////////////////////////////////
  // Line contents: as read, and as written since. Two memories, because both may be written in the same cycle.

  logic [Ways-1:0][EntryWidth-1:0] read_line, changed_line;
  logic [Lines-1:0][Ways-1:0] changed_q;
  logic [Ways-1:0] changed_read_q;
  table_ways #(
      .Ways      (Ways),
      .EntryWidth(EntryWidth),
      .Depth     (Lines)
  ) u_read (
      .clk_i,
      .write_i     ({Ways{mem_data_valid_i}}),
      .write_addr_i(mem_data_line_i),
      .write_data_i(mem_data_i),
      .read_addr_i (read_line_i),
      .read_data_o (read_line)
  );
  table_ways #(
      .Ways      (Ways),
      .EntryWidth(EntryWidth),
      .Depth     (Lines)
  ) u_changed (
      .clk_i,
      .write_i,
      .write_addr_i(done_line_i),
      .write_data_i({Ways{write_data_i}}),
      .read_addr_i (read_line_i),
      .read_data_o (changed_line)
  );
  for (genvar i = 0; i < Lines; i++) begin : gen_changed
    logic written;
    assign written = done_i && done_line_i == LineWidth'(i);
    `FFE(changed_q[i], alloc[i] ? '0 : changed_q[i] | write_i, alloc[i] || written, '0)
  end
  `FFN(changed_read_q, changed_q[read_line_i])

  always_ff @(posedge clk_i) begin
    for (int unsigned w = 0; w < Ways; w++) read_data_o[w] <= changed_read_q[w] ? changed_line[w] : read_line[w];
  end

  ////////////////////////////////////////////////////////////////////////
  // Writes, and releases. After reset all buckets are cleared first.

  logic [AddrWidth:0] clear_q;
  logic clearing;
  assign clearing = !clear_q[AddrWidth];
  `FFE(clear_q, clear_q + 1'b1, clearing && mem_write_ready_i, '0)

  logic write_valid, write_ready, pending_valid, pending_ready, pending_writes, pop;
  logic [AddrWidth-1:0] write_addr;
  logic [Ways-1:0] write_ways;
  logic [EntryWidth-1:0] write_data;
  logic [$clog2(2*EngineDepth+1)-1:0] writes;
  fifo #(
      .Width(AddrWidth + Ways + EntryWidth),
      .Depth(2 * EngineDepth)
  ) u_writes (
      .clk_i,
      .rst_ni,
      .valid_i(|write_i),
      .ready_o(write_ready),
      .data_i ({done_bucket_i, write_i, write_data_i}),
      .valid_o(write_valid),
      .ready_i(mem_write_ready_i && !clearing),
      .data_o ({write_addr, write_ways, write_data}),
      .count_o(writes)
  );
  `FF(write_room_o, 32'(writes) <= EngineDepth, 1'b0)

  assign mem_write_valid_o = clearing || write_valid;
  assign mem_write_addr_o  = clearing ? clear_q[AddrWidth-1:0] : write_addr;
  assign mem_write_ways_o  = clearing ? '1 : write_ways;
  assign mem_write_data_o  = clearing ? '0 : write_data;

  // Finished operations, in order; those that wrote wait until the memory acknowledges the write.
  logic [LineWidth:0] unused_pending;
  fifo #(
      .Width(LineWidth + 1),
      .Depth(Lines)
  ) u_pending (
      .clk_i,
      .rst_ni,
      .valid_i(done_i),
      .ready_o(pending_ready),
      .data_i ({done_line_i, |write_i}),
      .valid_o(pending_valid),
      .ready_i(pop),
      .data_o ({release_line, pending_writes}),
      .count_o(unused_pending)
  );

  // Acknowledged writes not yet matched with their operation. Clearing writes have no operation.
  logic [LineWidth:0] written_q;
  logic [AddrWidth:0] cleared_q;
  logic written, matched;
  assign ready_o = cleared_q[AddrWidth];
  assign written = mem_written_i && ready_o;
  `FFE(cleared_q, cleared_q + 1'b1, mem_written_i && !ready_o, '0)
  assign pop           = pending_valid && (!pending_writes || written_q != '0);
  assign matched       = pop && pending_writes;
  assign release_valid = pop;
  assign released_o    = pop;
  `FFE(written_q, written ? written_q + 1'b1 : written_q - 1'b1, written != matched, '0)

  `ASSERT(reads_have_room, !allocate || read_ready)
  `ASSERT(a_line_is_free, !allocate || $onehot(victim_q))
  `ASSERT(a_bucket_has_one_line, !request_q || $onehot0(match_q))
  `ASSERT(writes_have_room, write_i == '0 || write_ready)
  `ASSERT(operations_have_room, !done_i || pending_ready)
  `ASSERT(only_operations_write, write_i == '0 || done_i)

endmodule
