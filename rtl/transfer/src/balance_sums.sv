// Computes the balances after an operation and checks that they allow it. Combinational.
//
// The caller registers what is added to the source's balance: the amount or, for a TRANSFER, its complement, so one
// adder is enough. The carry of a difference means sufficient funds, that of a sum means overflow.

`include "assertions.svh"

module balance_sums
  import transfer_pkg::*;
(
    input  command_e command_i,
    input  amount_t  amount_i,
    input  balance_t addend_i,
    input  balance_t source_i,
    input  balance_t destination_i,
    // Balances after the operation; valid only if underflow_o and overflow_o are both clear. Undefined for CREATE and
    // REFER.
    output balance_t source_o,
    output balance_t destination_o,
    // The source holds less than the amount; a balance would exceed 64 bits.
    output logic     underflow_o,
    output logic     overflow_o
);
  // CREATE and REFER move nothing, ISSUE adds to the source, TRANSFER moves from it; a new command must be handled
  // here.
  `CONSTANT_CHECK(commands, protocol_pkg::CommandCodes == 4,
                  "balance_sums: the protocol has commands that are not told of here")

  logic source_carry, destination_carry, is_transfer;
  assign is_transfer = command_i == Transfer;
  assign {source_carry, source_o} = {1'b0, source_i} + {1'b0, addend_i} + 65'(is_transfer);
  assign {destination_carry, destination_o} = {1'b0, destination_i} + 65'(amount_i);
  assign underflow_o = is_transfer && !source_carry;
  assign overflow_o  = is_transfer ? destination_carry : command_i == Issue && source_carry;
endmodule
