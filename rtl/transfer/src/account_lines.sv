// Cache of the account buckets of one half in external memory: prefetches buckets, shares a line between operations on
// the same bucket, and writes back changes.
//
// A line holds a bucket in use, so the store controller's pipeline addresses an on-chip memory by line number. The
// first operation on a bucket allocates a line, which is held while any operation needs it. The line's changes are then
// written back, once however many operations made them. The line takes another bucket only after the memory has
// acknowledged the write. Until then it still holds its own, and is reused if an operation on that bucket arrives. So
// the memory never has two accesses to a bucket in flight, and a read returns what was written last. Unused lines also
// keep their buckets, except one in each group: it is vacated ahead of time, so that it can be allocated without
// checking for a hit in the same cycle.
//
// There are two ports to the memory, each with its own lines: the first reads for sources, the second for destinations,
// and a line is written back through the port that filled it. Both ports address the same rows. The memory may have any
// latency and may answer reads in any order; it acknowledges each port's writes in order.

`include "assertions.svh"
`include "registers.svh"

module account_lines
  import transfer_pkg::*;
#(
    // Lines of each port.
    parameter int unsigned Lines = 64,
    parameter int unsigned AddrWidth = 20,
    // Maximum number of operations that hold lines.
    parameter int unsigned Operations = 80,
    localparam int unsigned NumberWidth = $clog2(Lines),
    // A line is {port, number}; a place is {way, line}.
    localparam int unsigned LineWidth = NumberWidth + 1,
    localparam int unsigned PlaceWidth = LineWidth + 2
) (
    input  logic                            clk_i,
    input  logic                            rst_ni,
    output logic                            ready_o,  // the memory has been cleared

    // The buckets of an operation's source and destination. `move_i`, one copy for each, advances the operation by a
    // cycle. In its third cycle it gets its lines if `may_take_o` is set; `take_i` follows a cycle later and takes
    // them.
    input  logic    [1:0][   AddrWidth-1:0] bucket_i,
    input  logic    [1:0]                   move_i,
    input  logic                            third_i,  // an operation is in the third cycle
    output logic                            may_take_o,
    input  logic                            take_i,
    output logic    [1:0][   LineWidth-1:0] line_o,
    output logic         [     2*Lines-1:0] filled_o,

    // Pipeline. Cycle 1: the lines to read. Cycle 2: their contents from memory, and the places changed since. Cycle 4:
    // again the places changed before it.
    input  logic    [1:0][   LineWidth-1:0] read_line_i,
    output bucket_t [1:0]                   bucket_o,
    output logic    [1:0][ AccountWays-1:0] changed_o,
    output logic    [1:0][ AccountWays-1:0] changed_now_o,
    // Writes of sources and destinations, as in balance_store. After reset all places are cleared, which does not mark
    // them changed.
    input  logic                            clear_i,
    input  logic         [  PlaceWidth-1:0] clear_place_i,
    input  logic    [1:0]                   write_i,
    input  logic    [1:0][  PlaceWidth-1:0] write_place_i,
    input  id_t     [1:0]                   write_id_i,
    input  balance_t [1:0]                  write_balance_i,
    input  logic    [1:0]                   write_newer_i,
    // An operation no longer needs its lines. Operations release lines in the order in which they took them.
    input  logic                            release_i,

    // Memory: both ports. A write stores the same account in all selected ways.
    output logic    [1:0]                   mem_read_valid_o,
    input  logic    [1:0]                   mem_read_ready_i,
    output logic    [1:0][   AddrWidth-1:0] mem_read_addr_o,
    output logic    [1:0][ NumberWidth-1:0] mem_read_line_o,
    input  logic    [1:0]                   mem_data_valid_i,
    input  logic    [1:0][ NumberWidth-1:0] mem_data_line_i,
    input  bucket_t [1:0]                   mem_data_i,
    output logic    [1:0]                   mem_write_valid_o,
    input  logic    [1:0]                   mem_write_ready_i,
    output logic    [1:0][   AddrWidth-1:0] mem_write_addr_o,
    output logic    [1:0][ AccountWays-1:0] mem_write_ways_o,
    output account_t [1:0]                  mem_write_data_o,
    input  logic    [1:0]                   mem_written_i
);
  `PARAMETER_CHECK(lines, Lines >= 4 && Lines == 2 ** NumberWidth,
                   "account_lines: Lines must be a power of two, at least 4")

  // Operations that hold lines have distinct numbers.
  localparam int unsigned UserWidth = $clog2(Operations);
  // Lines of a group. Eight groups that each vacate a line every five cycles or faster supply more than one line per
  // cycle; with few lines, there are fewer groups, of four lines each.
  localparam int unsigned Group = Lines > 32 ? Lines / 8 : 4;
  // Accounts queued for the memory, and accounts written but not yet acknowledged.
  localparam int unsigned Writes = 8;
  localparam int unsigned Untold = 64;

  typedef logic [NumberWidth-1:0] number_t;
  typedef logic [LineWidth-1:0] line_t;
  typedef logic [1:0][Lines-1:0] lines_t;
  typedef logic [UserWidth-1:0] user_t;

  function automatic number_t number(logic [Lines-1:0] one_hot);
    number = '0;
    for (int unsigned i = 0; i < Lines; i++) if (one_hot[i]) number |= number_t'(i);
  endfunction

  ////////////////////////////////////////////////////////////////////////
  // First cycle: match the bucket against the lines. Second: determine hit or miss. Third: take the matching line, or a
  // spare one. [lookup] is the source or the destination, [port] the port that owns the line. A spare line holds no
  // bucket, so no lookup matches it.

  logic [1:0][AddrWidth-1:0] second_bucket_q, bucket_q;
  lines_t [1:0] match, second_match, second_match_q, match_q, chosen, chosen_q;
  lines_t alloc, spare_q, next_q, held_q, stays, filled_q, dirty_q, writing_q;
  logic [1:0][Lines-1:0][AddrWidth-1:0] held_bucket_q;
  logic [1:0][Lines-1:0][AccountWays-1:0] changed_q;
  number_t [1:0] spare_number_q;
  logic [1:0] misses, misses_q, spare_soon, spare_valid_q;
  logic second_same_q, same_q;
  // A lookup gets the line that the operation in the third cycle takes for its own lookup [other]. A line taken in a
  // lookup's first cycle is added in its second.
  logic [1:0][1:0] repeats, first_repeats_q, second_repeats_q;
  lines_t taken_before_q;
  `FFNE(taken_before_q, spare_q, move_i[0])
  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_match
    for (genvar port = 0; port < 2; port++) begin : gen_port
      assign repeats[lookup][port] = third_i && misses_q[port] && second_repeats_q[lookup][port];
      `FFNE(first_repeats_q[lookup][port], third_i && misses_q[port] && bucket_i[lookup] == bucket_q[port],
            move_i[lookup])
      `FFNE(second_repeats_q[lookup][port], bucket_i[lookup] == second_bucket_q[port], move_i[lookup])
      for (genvar i = 0; i < Lines; i++) begin : gen_line
        logic same;
        equal #(
            .Width(AddrWidth)
        ) u_bucket (
            .a_i    (bucket_i[lookup]),
            .b_i    (held_bucket_q[port][i]),
            .equal_o(same)
        );
        assign match[lookup][port][i] = stays[port][i] && same;
        assign second_match[lookup][port][i] = second_match_q[lookup][port][i] ||
            (first_repeats_q[lookup][port] && taken_before_q[port][i]) || (repeats[lookup][port] && spare_q[port][i]);
      end
    end
  end
  // A destination in its source's bucket uses the source's line.
  assign misses[0] = second_match_q[0] == '0 && first_repeats_q[0] == '0 && repeats[0] == '0;
  assign misses[1] = second_match_q[1] == '0 && first_repeats_q[1] == '0 && repeats[1] == '0 && !second_same_q;
  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_move
    `FFNE(second_bucket_q[lookup], bucket_i[lookup], move_i[lookup])
    `FFNE(second_match_q[lookup], match[lookup], move_i[lookup])
    `FFNE(bucket_q[lookup], second_bucket_q[lookup], move_i[lookup])
    `FFNE(match_q[lookup], second_match[lookup], move_i[lookup])
    `FFNE(misses_q[lookup], misses[lookup], move_i[lookup])
  end
  `FFNE(second_same_q, bucket_i[0] == bucket_i[1], move_i[0])
  `FFNE(same_q, second_same_q, move_i[0])
  // Until an operation reaches the third cycle, it is assumed to miss; so is the one before it.
  assign may_take_o = (~spare_soon & (misses_q | {2{move_i[0]}})) == '0;
  always_comb begin
    chosen = match_q;
    if (misses_q[0]) chosen[0][0] = spare_q[0];
    if (misses_q[1]) chosen[1][1] = spare_q[1];
    for (int port = 0; port < 2; port++) alloc[port] = take_i && misses_q[port] ? spare_q[port] : '0;
  end
  logic [1:0][LineWidth-1:0] own_line;
  assign line_o = {same_q ? own_line[0] : own_line[1], own_line[0]};
  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_chosen
    logic port;
    logic [Lines-1:0] matched;
    assign port = match_q[lookup][1] != '0;
    assign matched = match_q[lookup][0] | match_q[lookup][1];
    assign own_line[lookup] = misses_q[lookup] ? {1'(lookup), spare_number_q[lookup]} : {port, number(matched)};
    // Lines learn of their users a cycle later.
    `FFN(chosen_q[lookup], chosen[lookup])
  end

  ////////////////////////////////////////////////////////////////////////
  // The state of each line.

  function automatic logic [AccountWays-1:0] written_to(line_t line, logic [1:0] write,
                                                        logic [1:0][PlaceWidth-1:0] place);
    written_to = '0;
    for (int bank = 0; bank < 2; bank++) begin
      if (write[bank] && place[bank][LineWidth-1:0] == line)
        written_to |= AccountWays'(1) << place[bank][PlaceWidth-1:LineWidth];
    end
  endfunction

  // A line is in use until the last operation that took it releases it; operations release in order.
  logic taken_q;
  user_t user_q, releases_q;
  `FF(taken_q, take_i, 1'b0)
  `FFE(user_q, user_q + 1'b1, taken_q, '0)
  `FFE(releases_q, releases_q + 1'b1, release_i, '0)
  `ASSERT(what_took_lines_releases_them, !release_i || user_q != releases_q)

  lines_t picked, idle, free, leaving_q, leaves, may_leave;
  logic [1:0] told;
  number_t [1:0] told_line;
  for (genvar port = 0; port < 2; port++) begin : gen_port
    for (genvar i = 0; i < Lines; i++) begin : gen_state
      localparam line_t Line = {1'(port), number_t'(i)};
      logic used_q, accept;
      user_t last_user_q;
      logic [AccountWays-1:0] written;
      logic wanted;
      assign written = written_to(Line, write_i, write_place_i);
      assign accept = taken_q && (chosen_q[0][port][i] || chosen_q[1][port][i]);
      assign wanted = used_q || accept || match_q[0][port][i] || match_q[1][port][i] || second_match_q[0][port][i] ||
          second_match_q[1][port][i] ||
          ((first_repeats_q[0][port] || first_repeats_q[1][port]) && taken_before_q[port][i]);
      `FF(used_q, accept || (used_q && !(release_i && last_user_q == releases_q)), 1'b0)
      `FFNE(last_user_q, user_q, accept)
      assign idle[port][i] = !used_q;
      // A line that nobody needs, and whose row matches the memory, becomes spare in the next cycle unless an operation
      // starts to need it in this one.
      assign free[port][i] = held_q[port][i] && !wanted && !dirty_q[port][i] && !writing_q[port][i];
      assign leaves[port][i] = leaving_q[port][i] && !second_match_q[0][port][i] && !second_match_q[1][port][i];
      assign stays[port][i] = held_q[port][i] && !leaves[port][i];
      `FF(held_q[port][i], alloc[port][i] || stays[port][i], 1'b0)
      // A spare line follows the bucket of the operation that may take it.
      `FFNE(held_bucket_q[port][i], bucket_q[port], spare_q[port][i])
      `FFE(filled_q[port][i], !spare_q[port][i],
           spare_q[port][i] || (mem_data_valid_i[port] && mem_data_line_i[port] == number_t'(i)), 1'b0)
      `FF(changed_q[port][i], spare_q[port][i] ? '0 : changed_q[port][i] | written, '0)
      `FF(dirty_q[port][i], written != '0 || (dirty_q[port][i] && !picked[port][i]), 1'b0)
      `FFE(writing_q[port][i], picked[port][i], picked[port][i] || (told[port] && told_line[port] == number_t'(i)),
           1'b0)
      // Each group keeps one line without a bucket, so that one is ready in every cycle and most lines still hold their
      // contents.
      assign may_leave[port][i] = free[port][i] && !leaving_q[port][i] && &held_q[port][i/Group*Group+:Group];
    end
    logic [Lines-1:0] leaving;
    find_first #(
        .Width(Lines)
    ) u_leaving (
        .word_i (may_leave[port]),
        .first_o(leaving)
    );
    `FF(leaving_q[port], leaving, '0)
    `ASSERT(only_free_lines_leave, (leaves[port] & ~free[port]) == '0)

    // The line for the next miss, and for the one after it.
    logic uses, next_valid_q;
    logic [Lines-1:0] may, next;
    assign uses = (take_i && misses_q[port]) || !spare_valid_q[port];
    assign may = ~held_q[port] & ~spare_q[port] & ~next_q[port];
    `FFE(spare_q[port], next_q[port], uses, '0)
    `FFNE(spare_number_q[port], number(next_q[port]), uses)
    assign spare_soon[port] = next_valid_q || (spare_valid_q[port] && !take_i);
    `FFE(spare_valid_q[port], next_valid_q, uses, 1'b0)
    `ASSERT(a_miss_has_a_spare_line, !(take_i && misses_q[port]) || spare_valid_q[port])
    find_first #(
        .Width(Lines)
    ) u_next (
        .word_i (may),
        .first_o(next)
    );
    `FFE(next_q[port], next, uses || !next_valid_q, '0)
    `FFE(next_valid_q, |may, uses || !next_valid_q, 1'b0)

    // Reads: never more than lines.
    logic read_ready;
    logic [NumberWidth:0] unused_reads;
    fifo #(
        .Width(AddrWidth + NumberWidth),
        .Depth(Lines)
    ) u_reads (
        .clk_i,
        .rst_ni,
        .valid_i(take_i && misses_q[port]),
        .ready_o(read_ready),
        .data_i ({bucket_q[port], spare_number_q[port]}),
        .valid_o(mem_read_valid_o[port]),
        .ready_i(mem_read_ready_i[port]),
        .data_o ({mem_read_addr_o[port], mem_read_line_o[port]}),
        .count_o(unused_reads)
    );
    `ASSERT(reads_have_room, !(take_i && misses_q[port]) || read_ready)
    `ASSERT(a_spare_line_is_taken, (alloc[port] & held_q[port]) == '0)
    `ASSERT(data_have_a_line, !mem_data_valid_i[port] || !filled_q[port][mem_data_line_i[port]])
    `ASSERT(only_lines_in_use_change, (dirty_q[port] & ~filled_q[port]) == '0)
  end
  assign filled_o = filled_q;
  `ASSERT(a_bucket_has_one_line, $onehot0(match_q[0]) && $onehot0(match_q[1]))

  ////////////////////////////////////////////////////////////////////////
  // Line contents.

  logic [2*Lines-1:0][AccountWays-1:0] line_changed;
  assign line_changed = changed_q;
  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_contents
    bucket_t [1:0] rows;
    logic port_q;
    for (genvar port = 0; port < 2; port++) begin : gen_port
      ram_1r1w #(
          .Width($bits(bucket_t)),
          .Depth(Lines)
      ) u_rows (
          .clk_i,
          .write_i        (mem_data_valid_i[port]),
          .write_address_i(mem_data_line_i[port]),
          .write_data_i   (mem_data_i[port]),
          .read_i         (1'b1),
          .read_address_i (read_line_i[lookup][NumberWidth-1:0]),
          .read_data_o    (rows[port])
      );
    end
    `FFN(port_q, read_line_i[lookup][NumberWidth])
    assign bucket_o[lookup] = rows[port_q];
    // The change flags are read once; later writes are added to them.
    line_t line_q[2:3];
    logic [AccountWays-1:0] changed_later_q;
    `FFN(line_q[2], read_line_i[lookup])
    `FFN(line_q[3], line_q[2])
    `FFN(changed_o[lookup], line_changed[read_line_i[lookup]] | written_to(read_line_i[lookup], write_i, write_place_i))
    `FFN(changed_later_q, changed_o[lookup] | written_to(line_q[2], write_i, write_place_i))
    `FFN(changed_now_o[lookup], changed_later_q | written_to(line_q[3], write_i, write_place_i))
  end

  ////////////////////////////////////////////////////////////////////////
  // Write-back. After reset the whole memory is cleared first, half of it through each port.

  logic [1:0] cleared;
  assign ready_o = &cleared;
  for (genvar port = 0; port < 2; port++) begin : gen_back
    // The next line to write back, and the line whose accounts are being read.
    logic [Lines-1:0] pick_q;
    logic pick_valid_q, begins, reading_q, reads, last, room;
    number_t reading_line_q;
    logic [AccountWays-1:0] left_q, pick_changed, way;
    // A second copy of the lines' buckets, readable by number.
    (* ram_style = "distributed" *) logic [AddrWidth-1:0] bucket_of_q[Lines];
    always_ff @(posedge clk_i) begin
      if (spare_valid_q[port]) bucket_of_q[spare_number_q[port]] <= bucket_q[port];
    end
    logic [1:0] way_number;
    always_comb begin
      pick_changed = '0;
      for (int unsigned i = 0; i < Lines; i++) begin
        pick_changed |= changed_q[port][i] & {AccountWays{pick_q[i]}};
      end
    end
    find_first #(
        .Width(AccountWays)
    ) u_way (
        .word_i (left_q),
        .first_o(way)
    );
    assign way_number = {way[3] | way[2], way[3] | way[1]};
    assign last = left_q == way;
    assign reads = reading_q && room;
    assign begins = pick_valid_q && (!reading_q || (reads && last));
    assign picked[port] = begins ? pick_q : '0;
    // A line may be reused while it is written back: a change made meanwhile marks it dirty again.
    logic [Lines-1:0] candidates, pick;
    assign candidates = idle[port] & dirty_q[port] & ~writing_q[port] & ~pick_q;
    find_first #(
        .Width(Lines)
    ) u_pick (
        .word_i (candidates),
        .first_o(pick)
    );
    `FFE(pick_q, pick, begins || !pick_valid_q, '0)
    `FFE(pick_valid_q, |candidates, begins || !pick_valid_q, 1'b0)
    `FFE(reading_q, begins, begins || (reads && last), 1'b0)
    `FFNE(reading_line_q, number(pick_q), begins)
    `FFNE(left_q, begins ? pick_changed : left_q & ~way, begins || reads)

    // The line's balances: banks as in balance_store; the newer one goes to the memory.
    logic [1:0] newer;
    balance_t [1:0] balance;
    id_t [1:0] id;
    logic read_q, last_q;
    number_t read_line_q;
    logic [AddrWidth-1:0] read_bucket_q;
    logic [AccountWays-1:0] read_way_q;
    for (genvar bank = 0; bank < 2; bank++) begin : gen_bank
      logic [PlaceWidth-1:0] place;
      assign place = clear_i ? clear_place_i : write_place_i[bank];
      ram_1r1w #(
          .Width(1 + $bits(id_t) + $bits(balance_t)),
          .Depth(AccountWays * Lines)
      ) u_bank (
          .clk_i,
          .write_i        ((clear_i || write_i[bank]) && place[NumberWidth] == 1'(port)),
          .write_address_i({place[PlaceWidth-1:LineWidth], place[NumberWidth-1:0]}),
          .write_data_i   ({!clear_i && write_newer_i[bank], write_id_i[bank], write_balance_i[bank]}),
          .read_i         (1'b1),
          .read_address_i ({way_number, reading_line_q}),
          .read_data_o    ({newer[bank], id[bank], balance[bank]})
      );
    end
    `FF(read_q, reads, 1'b0)
    `FFN(last_q, last)
    `FFN(read_line_q, reading_line_q)
    `FFN(read_bucket_q, bucket_of_q[reading_line_q])
    `FFN(read_way_q, way)

    logic [AddrWidth-1:0] clear_row_q;
    logic clearing, write_valid, write_ready;
    logic [  AddrWidth-1:0] write_addr;
    logic [AccountWays-1:0] write_ways;
    account_t read_account, write_account;
    logic [$clog2(Writes+1)-1:0] writes;
    assign read_account = newer[0] == newer[1] ?
        '{used: 1'b1, id: id[0], balance: balance[0]} :
        '{used: 1'b1, id: id[1], balance: balance[1]};
    fifo #(
        .Width(AddrWidth + AccountWays + $bits(account_t)),
        .Depth(Writes)
    ) u_writes (
        .clk_i,
        .rst_ni,
        .valid_i(read_q),
        .ready_o(write_ready),
        .data_i ({read_bucket_q, read_way_q, read_account}),
        .valid_o(write_valid),
        .ready_i(mem_write_ready_i[port] && !clearing),
        .data_o ({write_addr, write_ways, write_account}),
        .count_o(writes)
    );
    // Clears the port's rows one after the other; the counter's highest bit marks the end.
    assign clearing = !clear_row_q[AddrWidth-1];
    `FFE(clear_row_q, clear_row_q + 1'b1, clearing && mem_write_ready_i[port], '0)
    assign mem_write_valid_o[port] = clearing || write_valid;
    assign mem_write_addr_o[port] = clearing ? {clear_row_q[AddrWidth-2:0], 1'(port)} : write_addr;
    assign mem_write_ways_o[port] = clearing ? '1 : write_ways;
    assign mem_write_data_o[port] = clearing ? '0 : write_account;

    // Writes that the memory has not acknowledged yet.
    logic untold_ready, untold_valid, told_last;
    logic [$clog2(Untold+1)-1:0] untold;
    logic [AddrWidth-1:0] cleared_q;
    assign cleared[port] = cleared_q[AddrWidth-1];
    `FFE(cleared_q, cleared_q + 1'b1, mem_written_i[port] && !cleared[port], '0)
    fifo #(
        .Width(NumberWidth + 1),
        .Depth(Untold)
    ) u_untold (
        .clk_i,
        .rst_ni,
        .valid_i(read_q),
        .ready_o(untold_ready),
        .data_i ({read_line_q, last_q}),
        .valid_o(untold_valid),
        .ready_i(mem_written_i[port] && cleared[port]),
        .data_o ({told_line[port], told_last}),
        .count_o(untold)
    );
    assign told[port] = mem_written_i[port] && cleared[port] && told_last;
    `FF(room, 32'(writes) < Writes - 3 && 32'(untold) < Untold - 3, 1'b0)

    `ASSERT(writes_have_room, !read_q || (write_ready && untold_ready))
    `ASSERT(writes_are_told_of_once, !mem_written_i[port] || !cleared[port] || untold_valid)
  end
endmodule
