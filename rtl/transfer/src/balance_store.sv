// Balances: two reads and two writes per cycle, from memories with one read and one write port each.
//
// A source's write goes to bank 0, a destination's to bank 1, and each bank is duplicated, one copy per reader. A bit
// stored with each balance marks the newer bank: bank 0 if the bits of both banks agree, else bank 1. A write therefore
// needs the other bank's bit, which the reader of the balance already has, and no memory needs two writers.
//
// Slots at the input in cycle 1, balances at the output in cycle 2, unregistered. Reads do not see writes of the same
// cycle.

`include "assertions.svh"

module balance_store
  import transfer_pkg::*;
#(
    parameter int unsigned SlotWidth = 11
) (
    input  logic                          clk_i,
    // Readers: 0 is the source, 1 the destination. Banks: 0 is written by sources, 1 by destinations.
    input  logic     [1:0][SlotWidth-1:0] read_slot_i,
    output balance_t [1:0][          1:0] balance_o,
    output logic     [1:0][          1:0] newer_o,
    input  logic     [1:0]                write_i,
    input  logic     [1:0][SlotWidth-1:0] write_slot_i,
    input  balance_t [1:0]                write_balance_i,
    input  logic     [1:0]                write_newer_i
);
  `PARAMETER_CHECK(slot, SlotWidth >= 1, "balance_store: SlotWidth must be at least 1")

  for (genvar reader = 0; reader < 2; reader++) begin : gen_reader
    for (genvar bank = 0; bank < 2; bank++) begin : gen_bank
      ram_1r1w #(
          .Width(65),
          .Depth(1 << SlotWidth)
      ) u_ram (
          .clk_i,
          .write_i        (write_i[bank]),
          .write_address_i(write_slot_i[bank]),
          .write_data_i   ({write_newer_i[bank], write_balance_i[bank]}),
          .read_i         (1'b1),
          .read_address_i (read_slot_i[reader]),
          .read_data_o    ({newer_o[reader][bank], balance_o[reader][bank]})
      );
    end
  end
endmodule
