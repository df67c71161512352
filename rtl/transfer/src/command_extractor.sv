// Second stage: extracts a packet's operation and checks all that does not depend on the ledger. Combinational.

`include "assertions.svh"

module command_extractor
  import frame_pkg::*;
  import wire_pkg::*;
  import transfer_pkg::*;
(
    input  compact_frame_t   compact_i,
    input  logic       trusted_i,
    output operation_t operation_o
);
  // The fields of each command are checked below; a new command must be handled there, and takes more bits.
  `CONSTANT_CHECK(commands, protocol_pkg::CommandCodes == 4,
                  "command_extractor: the protocol has commands that are not told of here")

  logic known, moves;
  command_e command;
  status_e  form;

  always_comb begin
    known = compact_i.command >= 32'd1 && compact_i.command <= 32'(protocol_pkg::CommandCodes);
    command = command_e'(2'(compact_i.command[2:0] - 3'd1));
    moves = compact_i.amount != '0;
    // The checks are in the order of Operation::check in crates/wire.
    form = StatusOk;
    if (compact_i.status != '0) begin
      form = StatusMalformed;
    end else if (!known) begin
      form = StatusUnknownCommand;
    end else if (command == Transfer) begin
      if (!moves) form = StatusZeroAmount;
      else if (compact_i.source == compact_i.destination) form = StatusSelfTransfer;
    end else if (compact_i.destination != '0) begin
      form = StatusMalformed;
    end else if (command == Issue) begin
      if (!moves) form = StatusZeroAmount;
    end else if (moves) begin
      form = StatusMalformed;
    end

    operation_o.refusal = form == StatusOk && !trusted_i ? StatusNotTrusted : form;
    operation_o.command = command;
    operation_o.transaction = compact_i.transaction;
    operation_o.source = compact_i.source;
    operation_o.destination = compact_i.destination;
    operation_o.amount = compact_i.amount;
  end
endmodule
