// Passes the messages of a frame to the engines, each without its header. Metadata are valid before the message's first
// part: to the engine as signals that are stable for the whole message, and to verify_replies.
//
// One frame at a time; the next begins once the last part of this one has left.

`include "assertions.svh"
`include "registers.svh"

module verify_dispatch
  import wire_pkg::*;
  import verify_frame_pkg::*;
(
    input  logic                              clk_i,
    input  logic                              rst_ni,
    // Packets whose messages all have an engine, each with its place among the frames.
    input  logic                              valid_i,
    output logic                              ready_o,
    input  word_t                             word_i,
    input  logic        [$clog2(Frames)-1:0]  frame_i,
    // To an engine.
    output logic        [       Schemes-1:0]  valid_o,
    input  logic        [       Schemes-1:0]  ready_i,
    output part_t                             part_o,
    output tag_t                              tag_o,
    output logic                              schnorr_o,
    output logic        [              15:0]  length_o,   // of the message
    // A message is passed to an engine: its command's lowest byte, and its index unmodified.
    output logic                              asked_o,
    output logic        [               7:0]  command_o,
    output logic        [              63:0]  index_o
);
  logic enters, first_q, busy_q, messages_ready, part_valid, part_ready, ends;
  part_t part;
  logic [15:0] unused_count;
  assign enters  = valid_i && ready_o;
  assign ready_o = messages_ready && !(first_q && busy_q);
  assign ends    = part_valid && part_ready && part.ends;
  `FFE(first_q, word_i.last, enters, 1'b1)
  `FF(busy_q, enters || (busy_q && !ends), 1'b0)
  logic [$clog2(Frames)-1:0] frame_q;
  `FFNE(frame_q, frame_i, enters && first_q)
  verify_messages u_messages (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && !(first_q && busy_q)),
      .ready_o(messages_ready),
      .word_i,
      .valid_o(part_valid),
      .ready_i(part_ready),
      .part_o (part),
      .count_o(unused_count)
  );

  // The header's two parts end here.
  logic header, second_q;
  logic [$clog2(MostMessages)-1:0] number_q;
  scheme_e engine_q, engine;
  assign header = part.first || second_q;
  `FFE(second_q, part.first, part_valid && part_ready, 1'b0)
  `FFE(number_q, part.ends ? '0 : number_q + 1'b1, part_valid && part_ready && part.last, '0)
  `FFNE(command_o, part.data[31:24], part_valid && part.first)
  `FFNE(length_o, {part.data[55:48], part.data[63:56]}, part_valid && part.first)
  always_comb begin
    engine = SchemeSignature;
    if (part.data[31:24] == 8'(protocol_pkg::VerifyCommandMerkleRoot)) engine = SchemeRoot;
    if (part.data[31:24] == 8'(protocol_pkg::VerifyCommandEquihash)) engine = SchemeHeader;
  end
  `FFNE(engine_q, engine, part_valid && part.first)
  assign schnorr_o = command_o == 8'(protocol_pkg::VerifyCommandSchnorr);
  assign part_o = part;
  assign tag_o = '{frame: frame_q, number: number_q};
  assign asked_o = part_valid && second_q;
  assign index_o = part.data;
  always_comb begin
    valid_o = '0;
    valid_o[engine_q] = part_valid && !header;
  end
  assign part_ready = header || ready_i[engine_q];

  `ASSERT(messages_are_whole, !part_valid || !part.broken)
endmodule
