// Reads blocks, a row a cycle, from a memory that answers in any order after any time. Rows leave in the order of the
// commands.
//
// Latency 1 cycle, besides the memory's. A row a cycle needs a memory that answers within `Slots` - 2 cycles.

`include "assertions.svh"
`include "registers.svh"

module kv_rows
  import wire_pkg::*;
  import kv_pkg::RowsWidth;
#(
    parameter int unsigned AddrWidth = 14,
    parameter int unsigned Slots = 64,      // rows that are requested and have not left
    localparam int unsigned SlotWidth = $clog2(Slots)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // A block's first row, whose address is a multiple of the block's rows, and how many to read, at least one.
    input  logic                 command_valid_i,
    output logic                 command_ready_o,
    input  logic [AddrWidth-1:0] command_addr_i,
    input  logic [RowsWidth-1:0] command_rows_i,
    output logic                 read_valid_o,
    input  logic                 read_ready_i,
    output logic [AddrWidth-1:0] read_addr_o,
    output logic [SlotWidth-1:0] read_slot_o,
    input  logic                 data_valid_i,
    input  logic [SlotWidth-1:0] data_slot_i,
    input  logic [WordWidth-1:0] data_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output logic [WordWidth-1:0] row_o
);
  `PARAMETER_CHECK(slots, Slots >= 2 && Slots == 2 ** SlotWidth, "kv_rows: Slots must be a power of two, at least 2")

  logic [AddrWidth-1:0] addr_q;
  logic [RowsWidth-1:0] at_q, left_q;
  // The bit before a slot's number is that of its pass, which alternates.
  logic [SlotWidth:0] next_q, first_q;
  logic [SlotWidth-1:0] first;
  logic [  SlotWidth:0] used_q;
  logic accepts, asks, leaves;

  // A command is accepted in the cycle of the last request of the one before it.
  assign read_valid_o = left_q != '0 && 32'(used_q) < Slots;
  assign read_addr_o = addr_q | AddrWidth'(at_q);
  assign read_slot_o = next_q[SlotWidth-1:0];
  assign asks = read_valid_o && read_ready_i;
  assign command_ready_o = left_q == '0 || (asks && left_q == RowsWidth'(1));
  assign accepts = command_valid_i && command_ready_o;
  `FFNE(addr_q, command_addr_i, accepts)
  `FFE(at_q, accepts ? '0 : at_q + 1'b1, accepts || asks, '0)
  `FFE(left_q, accepts ? command_rows_i : left_q - 1'b1, accepts || asks, '0)

  // A slot's row is here if it arrived in the pass of the row that leaves next. Slots from the next one on were last
  // requested in the pass before.
  logic [Slots-1:0] passes_q;
  logic pass;
  logic [WordWidth-1:0] rows_q[Slots];
  assign pass = data_slot_i < next_q[SlotWidth-1:0] ? next_q[SlotWidth] : !next_q[SlotWidth];
  always_ff @(posedge clk_i) begin
    if (data_valid_i) rows_q[data_slot_i] <= data_i;
  end
  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slot
    `FFE(passes_q[slot], pass, data_valid_i && data_slot_i == SlotWidth'(slot), 1'b0)
  end
  assign first   = first_q[SlotWidth-1:0];
  assign valid_o = passes_q[first] == first_q[SlotWidth];
  assign row_o   = rows_q[first];
  assign leaves  = valid_o && ready_i;
  `FFE(next_q, next_q + 1'b1, asks, (SlotWidth + 1)'(Slots))
  `FFE(first_q, first_q + 1'b1, leaves, (SlotWidth + 1)'(Slots))
  `FFE(used_q, asks ? used_q + 1'b1 : used_q - 1'b1, asks != leaves, '0)

  `ASSUME(rows_are_read, !command_valid_i || command_rows_i != '0)
  `ASSUME(rows_are_in_the_block, !asks || (addr_q & AddrWidth'(at_q)) == '0)
  `ASSUME(a_slot_is_filled_once, !data_valid_i || passes_q[data_slot_i] != pass)
endmodule
