// The balances: two reads and two writes a cycle out of memories that have one port for each.
//
// A write of a source goes to bank 0, one of a destination to bank 1, and each bank stands twice, once for each reader. A bit beside each
// balance tells which bank is newer: bank 0 where the bits of both banks agree. So a write needs the other bank's bit, which whoever read
// the balance knows, and the bits need no memory with two writers.
//
// Slots at the input in cycle 1, their balances at the output in cycle 2, not registered. Reads do not see writes of the same cycle.

`include "assertions.svh"

module balance_store
  import transfer_pkg::*;
#(
    parameter int unsigned SlotWidth = 11
) (
    input  logic                          clk_i,
    // Both readers: 0 the source, 1 the destination. Both banks: 0 written by sources, 1 by destinations.
    input  logic     [1:0][SlotWidth-1:0] read_slot_i,
    output balance_t [1:0][          1:0] balance_o,
    output logic     [1:0][          1:0] newer_o,
    input  logic     [1:0]                write_i,
    input  logic     [1:0][SlotWidth-1:0] write_slot_i,
    input  balance_t [1:0]                write_balance_i,
    input  logic     [1:0]                write_newer_i
);
  `PARAMETER_CHECK(slot, SlotWidth >= 1, "balance_store: SlotWidth has to be at least 1")

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
