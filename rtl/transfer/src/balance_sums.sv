// What an operation makes of the balances of its accounts, and whether they allow it. Combinational.
//
// What is added to the source's balance comes from a register of the caller's: the amount, and of a TRANSFER its complement, so that
// one adder is enough. The carry of a difference tells that there is enough, that of a sum that it is too much.

`include "assertions.svh"

module balance_sums
  import transfer_pkg::*;
(
    input  command_e command_i,
    input  amount_t  amount_i,
    input  balance_t addend_i,
    input  balance_t source_i,
    input  balance_t destination_i,
    // After the operation, if neither of the last two is set; of a CREATE or a REFER they mean nothing.
    output balance_t source_o,
    output balance_t destination_o,
    // The source has less than the amount; a balance would pass 64 bits.
    output logic     underflow_o,
    output logic     overflow_o
);
  // CREATE and REFER move nothing, ISSUE adds to the source, TRANSFER moves from it; a new command has to be told here.
  `CONSTANT_CHECK(commands, protocol_pkg::CommandCodes == 4,
                  "balance_sums: the protocol has commands that are not told of here")

  logic source_carry, destination_carry, is_transfer;
  assign is_transfer = command_i == Transfer;
  assign {source_carry, source_o} = {1'b0, source_i} + {1'b0, addend_i} + 65'(is_transfer);
  assign {destination_carry, destination_o} = {1'b0, destination_i} + 65'(amount_i);
  assign underflow_o = is_transfer && !source_carry;
  assign overflow_o  = is_transfer ? destination_carry : command_i == Issue && source_carry;
endmodule
