// Buckets of accounts of one half in external memory: reads them ahead, lets operations that share a bucket share its line, and writes back
// what they changed.
//
// A bucket in use is in a line, so the pipeline of the store controller finds it in on-chip memory, by the number of the line. A line is
// taken for the first operation on a bucket and kept while any needs it; then what was changed is written back, once however many
// operations changed it, and not before the memory has told that it is there does the line take another bucket. Until then it still
// holds its own, and is taken up again where that comes back. So the memory never has a bucket under way twice, and what is read is
// what was written last.
//
// There are two ports to the memory, each with lines of its own: the first reads for sources, the second for destinations, and what a
// line holds goes back through the port that it came by. Both see the same rows. The memory may take any time, and answer reads in any
// order; it tells of each port's writes in order.

`include "assertions.svh"
`include "registers.svh"

module account_lines
  import transfer_pkg::*;
#(
    // Of each port.
    parameter int unsigned Lines = 64,
    parameter int unsigned AddrWidth = 20,
    // The most operations that hold lines.
    parameter int unsigned Operations = 80,
    localparam int unsigned NumberWidth = $clog2(Lines),
    // A line is its port and its number; a place its way and its line.
    localparam int unsigned LineWidth = NumberWidth + 1,
    localparam int unsigned PlaceWidth = LineWidth + 2
) (
    input  logic                            clk_i,
    input  logic                            rst_ni,
    output logic                            ready_o,  // the memory is cleared

    // The buckets of an operation's source and destination; it has its lines in the next cycle in which it may and is to take them.
    input  logic    [1:0][   AddrWidth-1:0] bucket_i,
    input  logic                            ask_i,
    output logic                            may_take_o,
    input  logic                            take_i,
    output logic    [1:0][   LineWidth-1:0] line_o,
    output logic         [     2*Lines-1:0] filled_o,

    // The pipeline: in cycle 1 the lines that it reads; in cycle 2 what came from memory into them, and what has changed since; in cycle 4
    // again what has changed.
    input  logic    [1:0][   LineWidth-1:0] read_line_i,
    output bucket_t [1:0]                   bucket_o,
    output logic    [1:0][ AccountWays-1:0] changed_o,
    input  logic    [1:0][   LineWidth-1:0] changed_line_i,
    output logic    [1:0][ AccountWays-1:0] changed_now_o,
    // What sources and destinations write, as in balance_store. After the reset all places are written, which changes none.
    input  logic                            clear_i,
    input  logic    [1:0]                   write_i,
    input  logic    [1:0][  PlaceWidth-1:0] write_place_i,
    input  id_t     [1:0]                   write_id_i,
    input  balance_t [1:0]                  write_balance_i,
    input  logic    [1:0]                   write_newer_i,
    // An operation needs its lines no longer.
    input  logic                            release_i,
    input  logic    [1:0][   LineWidth-1:0] release_line_i,

    // The memory: both ports. A write gives the same account to all ways named.
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
                   "account_lines: Lines has to be a power of two from 4 on")

  // Each operation may use a line twice.
  localparam int unsigned UserWidth = $clog2(2 * Operations + 1);
  // Accounts on their way to the memory, and written there but not yet told of.
  localparam int unsigned Writes = 8;
  localparam int unsigned Untold = 64;

  typedef logic [NumberWidth-1:0] number_t;
  typedef logic [1:0][Lines-1:0] lines_t;

  function automatic number_t number(logic [Lines-1:0] one_hot);
    number = '0;
    for (int unsigned i = 0; i < Lines; i++) if (one_hot[i]) number |= number_t'(i);
  endfunction
  function automatic logic [Lines-1:0] first_of(logic [Lines-1:0] lines);
    return lines & (~lines + 1'b1);
  endfunction

  ////////////////////////////////////////////////////////////////////////
  // First cycle: which line has the bucket? Second: that, or a free one. [lookup] is the source or the destination, [port] whose lines.

  logic [1:0][AddrWidth-1:0] asked_q;
  lines_t [1:0] match, match_q, chosen;
  lines_t alloc, free, victim_q, filled_q, dirty_q, idle_q, writing_q;
  logic [1:0][Lines-1:0][  AddrWidth-1:0] bucket_q;
  logic [1:0][Lines-1:0][AccountWays-1:0] changed_q;
  logic [1:0] misses, victim_valid_q;
  logic same_q;
  `FFNE(asked_q, bucket_i, ask_i)
  `FFNE(match_q, match, ask_i)
  `FFNE(same_q, bucket_i[0] == bucket_i[1], ask_i)
  // A destination in the bucket of its source has the line that this gets.
  assign misses[0] = match_q[0] == '0;
  assign misses[1] = match_q[1] == '0 && !same_q;
  // A line that the other lookup matches is no victim, and another one takes a cycle to find.
  for (genvar port = 0; port < 2; port++) begin : gen_alloc
    logic may;
    assign may = !misses[port] || (victim_valid_q[port] && (victim_q[port] & match_q[1-port][port]) == '0);
    assign alloc[port] = take_i && misses[port] ? victim_q[port] : '0;
  end
  assign may_take_o = gen_alloc[0].may && gen_alloc[1].may;
  always_comb begin
    chosen = match_q;
    if (misses[0]) chosen[0][0] = victim_q[0];
    if (misses[1]) chosen[1][1] = victim_q[1];
    if (same_q) chosen[1] = chosen[0];
  end
  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_line
    logic port;
    assign port = chosen[lookup][1] != '0;
    assign line_o[lookup] = {port, number(chosen[lookup][0] | chosen[lookup][1])};
  end

  ////////////////////////////////////////////////////////////////////////
  // The state of each line.

  lines_t picked;
  logic [1:0] told;
  number_t [1:0] told_line;
  for (genvar port = 0; port < 2; port++) begin : gen_port
    for (genvar i = 0; i < Lines; i++) begin : gen_state
      localparam logic [LineWidth-1:0] Line = {1'(port), number_t'(i)};
      logic held_q;
      logic [UserWidth-1:0] users_q, users;
      logic [1:0][AccountWays-1:0] written;
      for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_lookup
        // As it will be once the operation before has its lines.
        assign match[lookup][port][i] = alloc[port][i] ? bucket_i[lookup] == asked_q[port] :
            held_q && bucket_i[lookup] == bucket_q[port][i];
        assign written[lookup] = write_i[lookup] && !clear_i && write_place_i[lookup][LineWidth-1:0] == Line ?
            AccountWays'(1) << write_place_i[lookup][PlaceWidth-1:LineWidth] : '0;
      end
      always_comb begin
        users = users_q;
        for (int lookup = 0; lookup < 2; lookup++) begin
          users += UserWidth'(take_i && chosen[lookup][port][i]);
          users -= UserWidth'(release_i && release_line_i[lookup] == Line);
        end
      end
      `FF(users_q, users, '0)
      `FF(idle_q[port][i], users == '0, 1'b1)
      `FFE(held_q, 1'b1, alloc[port][i], 1'b0)
      `FFNE(bucket_q[port][i], asked_q[port], alloc[port][i])
      `FFE(filled_q[port][i], !alloc[port][i],
           alloc[port][i] || (mem_data_valid_i[port] && mem_data_line_i[port] == number_t'(i)), 1'b0)
      `FF(changed_q[port][i], alloc[port][i] ? '0 : changed_q[port][i] | written[0] | written[1], '0)
      `FF(dirty_q[port][i], written != '0 || (dirty_q[port][i] && !picked[port][i]), 1'b0)
      `FFE(writing_q[port][i], picked[port][i], picked[port][i] || (told[port] && told_line[port] == number_t'(i)),
           1'b0)
      assign free[port][i] = idle_q[port][i] && !dirty_q[port][i] && !writing_q[port][i];
    end

    // Any line that is free and stays so.
    logic [Lines-1:0] may;
    assign may = free[port] & ~match_q[0][port] & ~match_q[1][port] & ~alloc[port];
    `FFN(victim_q[port], first_of(may))
    `FF(victim_valid_q[port], |may, 1'b0)

    // Reads: never more than lines.
    logic read_ready;
    logic [NumberWidth:0] unused_reads;
    fifo #(
        .Width(AddrWidth + NumberWidth),
        .Depth(Lines)
    ) u_reads (
        .clk_i,
        .rst_ni,
        .valid_i(alloc[port] != '0),
        .ready_o(read_ready),
        .data_i ({asked_q[port], number(victim_q[port])}),
        .valid_o(mem_read_valid_o[port]),
        .ready_i(mem_read_ready_i[port]),
        .data_o ({mem_read_addr_o[port], mem_read_line_o[port]}),
        .count_o(unused_reads)
    );
    `ASSERT(reads_have_room, alloc[port] == '0 || read_ready)
    `ASSERT(a_free_line_is_taken, (alloc[port] & ~free[port]) == '0)
    `ASSERT(data_have_a_line, !mem_data_valid_i[port] || !filled_q[port][mem_data_line_i[port]])
    `ASSERT(only_lines_in_use_change, (dirty_q[port] & ~filled_q[port]) == '0)
  end
  assign filled_o = filled_q;
  `ASSERT(a_bucket_has_one_line, $onehot0(match_q[0]) && $onehot0(match_q[1]))

  ////////////////////////////////////////////////////////////////////////
  // What is in the lines.

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
    `FFN(changed_o[lookup], line_changed[read_line_i[lookup]])
    assign changed_now_o[lookup] = line_changed[changed_line_i[lookup]];
  end

  ////////////////////////////////////////////////////////////////////////
  // Back to the memory. After the reset all of it is cleared first, half of it through each port.

  logic [1:0] cleared;
  assign ready_o = &cleared;
  for (genvar port = 0; port < 2; port++) begin : gen_back
    // The next line to write back, and the one whose accounts are read.
    logic [Lines-1:0] pick_q;
    logic pick_valid_q, begins, reading_q, reads, last, room;
    number_t reading_line_q;
    logic [AddrWidth-1:0] reading_bucket_q, pick_bucket;
    logic [AccountWays-1:0] left_q, pick_changed, way;
    logic [1:0] way_number;
    always_comb begin
      pick_bucket  = '0;
      pick_changed = '0;
      for (int unsigned i = 0; i < Lines; i++) begin
        pick_bucket |= bucket_q[port][i] & {AddrWidth{pick_q[i]}};
        pick_changed |= changed_q[port][i] & {AccountWays{pick_q[i]}};
      end
    end
    assign way = left_q & (~left_q + 1'b1);
    assign way_number = {way[3] | way[2], way[3] | way[1]};
    assign last = left_q == way;
    assign reads = reading_q && room;
    assign begins = pick_valid_q && (!reading_q || (reads && last));
    assign picked[port] = begins ? pick_q : '0;
    // A line that is taken up again may be written back meanwhile: it is dirty again behind whatever changes it.
    logic [Lines-1:0] candidates;
    assign candidates = idle_q[port] & dirty_q[port] & ~writing_q[port] & ~picked[port];
    `FFNE(pick_q, first_of(candidates), begins || !pick_valid_q)
    `FFE(pick_valid_q, |candidates, begins || !pick_valid_q, 1'b0)
    `FFE(reading_q, begins, begins || (reads && last), 1'b0)
    `FFNE(reading_line_q, number(pick_q), begins)
    `FFNE(reading_bucket_q, pick_bucket, begins)
    `FFNE(left_q, begins ? pick_changed : left_q & ~way, begins || reads)

    // Its balances: banks as in balance_store, of which the newer one goes to the memory.
    logic [1:0] newer;
    balance_t [1:0] balance;
    id_t [1:0] id;
    logic read_q, last_q;
    number_t read_line_q;
    logic [AddrWidth-1:0] read_bucket_q;
    logic [AccountWays-1:0] read_way_q;
    for (genvar bank = 0; bank < 2; bank++) begin : gen_bank
      logic [PlaceWidth-1:0] place;
      assign place = write_place_i[bank];
      ram_1r1w #(
          .Width(1 + $bits(id_t) + $bits(balance_t)),
          .Depth(AccountWays * Lines)
      ) u_bank (
          .clk_i,
          .write_i        (write_i[bank] && place[NumberWidth] == 1'(port)),
          .write_address_i({place[PlaceWidth-1:LineWidth], place[NumberWidth-1:0]}),
          .write_data_i   ({write_newer_i[bank], write_id_i[bank], write_balance_i[bank]}),
          .read_i         (1'b1),
          .read_address_i ({way_number, reading_line_q}),
          .read_data_o    ({newer[bank], id[bank], balance[bank]})
      );
    end
    `FF(read_q, reads, 1'b0)
    `FFN(last_q, last)
    `FFN(read_line_q, reading_line_q)
    `FFN(read_bucket_q, reading_bucket_q)
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
    // Rows are cleared in turn, those of the port: the highest bit of the count tells the end.
    assign clearing = !clear_row_q[AddrWidth-1];
    `FFE(clear_row_q, clear_row_q + 1'b1, clearing && mem_write_ready_i[port], '0)
    assign mem_write_valid_o[port] = clearing || write_valid;
    assign mem_write_addr_o[port] = clearing ? {clear_row_q[AddrWidth-2:0], 1'(port)} : write_addr;
    assign mem_write_ways_o[port] = clearing ? '1 : write_ways;
    assign mem_write_data_o[port] = clearing ? '0 : write_account;

    // What the memory has not told of yet.
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
