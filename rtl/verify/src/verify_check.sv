// Decides whether the engines take all messages of a verify frame: each must be well formed and of a kind that one of
// them handles, and their number must match the frame's. Everything else goes to the host, including frames to be
// refused. Outputs a verdict per packet, after its last part.

`include "registers.svh"

module verify_check
  import wire_pkg::*;
  import verify_frame_pkg::*;
#(
    // Available engines.
    parameter bit Signatures = 1'b1,
    parameter bit Roots = 1'b1,
    parameter int unsigned EquihashN = 0,
    parameter int unsigned EquihashK = 0
) (
    input  logic  clk_i,
    input  logic  rst_ni,
    input  logic  valid_i,
    output logic  ready_o,
    input  word_t word_i,
    // There is always room for a verdict.
    output logic  valid_o,
    output logic  take_o
);
  localparam int unsigned EcdsaBytes = 184;
  localparam int unsigned SchnorrBytes = 144;
  // A header with its solution, after 32 bytes of fields: as in the parser of crates/wire.
  localparam int unsigned LeastHeader = 32 + 141;
  localparam int unsigned MostHeader = 32 + 1487;

  logic valid;
  part_t part;
  logic [15:0] count;
  verify_messages u_messages (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .word_i,
      .valid_o(valid),
      .ready_i(1'b1),
      .part_o (part),
      .count_o(count)
  );

  // Decodes the first part.
  logic [31:0] command, length;
  logic is_signature, is_root, is_header, known;
  assign {command, length} = swap_part(part.data);
  always_comb begin
    is_signature = (command == protocol_pkg::VerifyCommandEcdsa && length == EcdsaBytes) ||
        (command == protocol_pkg::VerifyCommandSchnorr && length == SchnorrBytes);
    // Whole leaves after the root, at least one.
    is_root = command == protocol_pkg::VerifyCommandMerkleRoot && length >= ShortestMessage && length[4:0] == 5'd16;
    is_header = command == protocol_pkg::VerifyCommandEquihash && length >= LeastHeader && length <= MostHeader;
    known = (Signatures && is_signature) || (Roots && is_root) || (EquihashN > 0 && is_header);
  end

  // Counts parts from the first, and remembers the kind of message. In longer messages, only the first parts have
  // fields.
  localparam int unsigned MostParts = 31;
  logic [4:0] at_q;
  logic ecdsa_q, header_q, short_q;
  logic [7:0] zeros;
  logic formed;
  `FFE(at_q, part.last ? '0 : at_q == 5'(MostParts) ? at_q : at_q + 1'b1, valid, '0)
  `FFNE(ecdsa_q, command == protocol_pkg::VerifyCommandEcdsa, valid && part.first)
  `FFNE(header_q, command == protocol_pkg::VerifyCommandEquihash, valid && part.first)
  `FFNE(short_q, part.data[15:8] == 8'd33, valid && at_q == 5'd2)

  // Bytes of an ECDSA message that must be zero: two after the length of the key, those after a 33-byte key, the last
  // three.
  always_comb begin
    zeros = '0;
    unique case (at_q)
      5'd2: zeros = 8'h0c;
      5'd18: if (short_q) zeros = 8'he0;
      5'd19, 5'd20, 5'd21: if (short_q) zeros = '1;
      5'd22: zeros = short_q ? 8'hff : 8'he0;
      default: ;
    endcase
    formed = !part.broken;
    if (part.first) begin
      formed &= known;
    end else if (ecdsa_q) begin
      for (int unsigned at = 0; at < 8; at++) if (zeros[at] && part.data[8*at+:8] != '0) formed = 1'b0;
      if (at_q == 5'd2) formed &= part.data[7:1] == '0 && (part.data[15:8] == 8'd33 || part.data[15:8] == 8'd65);
    end else if (header_q && at_q == 5'd2) begin
      formed &= {part.data[7:0], part.data[15:8]} == 16'(EquihashN) && part.data[23:16] == 8'(EquihashK);
      formed &= part.data[31:25] == '0 && part.data[63:32] == '0;
    end
  end

  // The packet so far.
  logic good_q, good;
  logic [$clog2(MostMessages+1)-1:0] number_q, number;
  assign good = good_q && formed;
  assign number = part.last && number_q < ($clog2(MostMessages + 1))'(MostMessages) ? number_q + 1'b1 : number_q;
  assign valid_o = valid && (part.ends || part.broken);
  assign take_o = good && 16'(number) == count;
  `FFE(good_q, valid_o || good, valid, 1'b1)
  `FFE(number_q, valid_o ? '0 : number, valid, '0)
endmodule
