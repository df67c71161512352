// Free blocks of a value store: a queue of addresses per size class, as in the hash table paper (section 5.2), but all
// on chip. The table allocates a block when a key needs one, and frees it when the key is deleted, expires or needs
// another class. A value of the same class reuses its key's block. A freed block can be allocated again five operations
// later.
//
// A value in the table is {class, block address, length}. Of the operation's value only class and length are used.

`include "assertions.svh"
`include "registers.svh"

module table_values #(
    parameter int unsigned Classes     = 4,
    parameter int unsigned Blocks      = 256,  // of each class
    parameter int unsigned LengthWidth = 16,
    localparam int unsigned ClassWidth = $clog2(Classes),
    localparam int unsigned BlockWidth = $clog2(Blocks),
    localparam int unsigned ValueWidth = ClassWidth + BlockWidth + LengthWidth
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    output logic                  ready_o,  // all blocks are in their queues
    output logic [   Classes-1:0] avail_o,  // a block is available in the next cycle if this one takes none
    output logic [   Classes-1:0] more_o,   // a block is available even if it does
    input  logic [   Classes-1:0] take_i,
    output logic [ValueWidth-1:0] block_o,
    input  logic                  reuse_i,
    input  logic [ValueWidth-1:0] old_i,
    input  logic [ValueWidth-1:0] new_i,
    input  logic                  give_i,
    input  logic [ValueWidth-1:0] given_i
);

  `PARAMETER_CHECK(classes, Classes >= 2 && Classes == 2 ** ClassWidth,
                   "table_values: Classes must be a power of two, at least 2")
  `PARAMETER_CHECK(blocks, Blocks >= 2 && Blocks == 2 ** BlockWidth,
                   "table_values: Blocks must be a power of two, at least 2")

  typedef struct packed {
    logic [ClassWidth-1:0]  kind;
    logic [BlockWidth-1:0]  block;
    logic [LengthWidth-1:0] length;
  } value_t;

  value_t old_value, new_value, given_value;
  assign old_value   = old_i;
  assign new_value   = new_i;
  assign given_value = given_i;

  logic filling_q;
  logic [BlockWidth-1:0] fill_q;
  `FFE(fill_q, fill_q + 1'b1, filling_q, '0)
  `FFE(filling_q, 1'b0, fill_q == BlockWidth'(Blocks - 1), 1'b1)
  assign ready_o = !filling_q;

  logic [Classes-1:0][BlockWidth-1:0] free;
  logic [Classes-1:0] queue_ready, next_valid, gives;
  for (genvar c = 0; c < Classes; c++) begin : gen_class
    logic queue_valid, queue_has_more, leaves;
    logic [BlockWidth-1:0] queued;
    logic [  BlockWidth:0] count;
    assign gives[c] = give_i && given_value.kind == ClassWidth'(c);
    fifo #(
        .Width(BlockWidth),
        .Depth(Blocks)
    ) u_free (
        .clk_i,
        .rst_ni,
        .valid_i(filling_q || gives[c]),
        .ready_o(queue_ready[c]),
        .data_i (filling_q ? fill_q : given_value.block),
        .valid_o(queue_valid),
        .ready_i(leaves),
        .data_o (queued),
        .count_o(count)
    );
    // Output register, because the queue's memory is slow.
    stage #(
        .Width(BlockWidth)
    ) u_next (
        .clk_i,
        .rst_ni,
        .valid_i(queue_valid),
        .ready_o(leaves),
        .data_i (queued),
        .valid_o(next_valid[c]),
        .ready_i(take_i[c]),
        .data_o (free[c])
    );
    // For the decision after the next, which chooses between the two: selecting by class first, this far away, would be
    // the table's longest path. Blocks freed in this cycle are not counted.
    assign queue_has_more = count > 1;
    assign avail_o[c] = take_i[c] ? queue_valid : queue_valid || next_valid[c];
    assign more_o[c] = take_i[c] ? queue_has_more : queue_has_more || (queue_valid && next_valid[c]);
  end

  assign block_o = {new_value.kind, reuse_i ? old_value.block : free[new_value.kind], new_value.length};

  `ASSERT(what_is_taken_is_free, (take_i & ~next_valid) == '0)
  `ASSERT(no_block_is_given_twice, ready_o -> (gives & ~queue_ready) == '0)

  logic unused_fields;
  assign unused_fields = ^{old_value.kind, old_value.length, new_value.block, given_value.length};

endmodule
