// Verification engines on the NIC: answers verify frames if every message has an engine here; all others go to the host
// unmodified.
//
//   packets -> queue ---> queue ---------> verify_dispatch -> engines -> verify_replies -> checksum_writer -> replies
//                  +---> verify_check -> verdict   +-> host                   ^
//                                                            heads of packets-+
//
// The engines work on messages of up to eight frames at a time; a frame's reply leaves once all its verdicts are there.

`include "assertions.svh"
`include "registers.svh"

module verify
  import wire_pkg::*;
  import verify_frame_pkg::verdict_t;
  import verify_frame_pkg::part_t;
  import verify_frame_pkg::tag_t;
  import verify_frame_pkg::Frames;
  import verify_frame_pkg::Schemes;
  import verify_frame_pkg::SchemeSignature;
  import verify_frame_pkg::SchemeRoot;
  import verify_frame_pkg::SchemeHeader;
#(
    // Engines: secp256k1_verify engines, each with its own multiplier; merkle_root; equihash with these parameters. 0:
    // none.
    parameter int unsigned SignatureEngines = 1,
    parameter bit Roots = 1'b1,
    parameter int unsigned EquihashN = 0,
    parameter int unsigned EquihashK = 0,
    parameter int unsigned PortWidth = 3
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // Packets with verify frames, as selected by packet_selector.
    input  logic                 valid_i,
    output logic                 ready_o,
    input  word_t                word_i,
    input  logic [PortWidth-1:0] port_i,
    // There is room for one more packet besides those inside the selector.
    output logic                 room_o,
    output logic                 reply_valid_o,
    input  logic                 reply_ready_i,
    output word_t                reply_word_o,
    output logic [PortWidth-1:0] reply_port_o,
    // Packets for the host.
    output logic                 pass_valid_o,
    input  logic                 pass_ready_i,
    output word_t                pass_word_o,
    output logic [PortWidth-1:0] pass_port_o,
    // Events to count: messages answered by an engine.
    output logic [  Schemes-1:0] done_o
);
  `PARAMETER_CHECK(engines, SignatureEngines > 0 || Roots || EquihashN > 0,
                   "verify: at least one engine must be enabled")

  // Words waiting to be checked, at 8 bytes per cycle, while more arrive at the selector's rate: some packets, and
  // twice the selector's contents.
  localparam int unsigned Depth = 128;
  localparam int unsigned SelectorWords = 64;
  localparam int unsigned CountWidth = $clog2(Depth + 8);
  // Words waiting for their verdict and then for the engines: two of the longest packets, so that the next one's
  // messages are ready at once. A packet has at least three words.
  localparam int unsigned CheckDepth = 64;
  localparam int unsigned Verdicts = CheckDepth / 2;

  logic enters, arriving_valid, arriving_ready;
  word_t arriving;
  logic [PortWidth-1:0] arriving_port;
  logic [CountWidth-1:0] words_q;
  ram_fifo #(
      .Width($bits(word_t) + PortWidth),
      .Depth(Depth)
  ) u_arriving (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i ({port_i, word_i}),
      .valid_o(arriving_valid),
      .ready_i(arriving_ready),
      .data_o ({arriving_port, arriving})
  );
  assign enters = valid_i && ready_o;
  `FF(words_q, words_q + CountWidth'(enters) - CountWidth'(arriving_valid && arriving_ready), '0)
  assign room_o = words_q <= CountWidth'(Depth - SelectorWords);

  logic leaves, words_ready, check_ready, verdict, take, verdict_room;
  assign arriving_ready = words_ready && check_ready;
  verify_check #(
      .Signatures(SignatureEngines > 0),
      .Roots     (Roots),
      .EquihashN (EquihashN),
      .EquihashK (EquihashK)
  ) u_check (
      .clk_i,
      .rst_ni,
      .valid_i(arriving_valid && words_ready),
      .ready_o(check_ready),
      .word_i (arriving),
      .valid_o(verdict),
      .take_o (take)
  );

  logic word_valid, taken_valid, taken;
  word_t word;
  logic [PortWidth-1:0] port;
  logic [$clog2(Verdicts+1)-1:0] unused_verdicts;
  ram_fifo #(
      .Width($bits(word_t) + PortWidth),
      .Depth(CheckDepth)
  ) u_words (
      .clk_i,
      .rst_ni,
      .valid_i(arriving_valid && check_ready),
      .ready_o(words_ready),
      .data_i ({arriving_port, arriving}),
      .valid_o(word_valid),
      .ready_i(leaves),
      .data_o ({port, word})
  );
  fifo #(
      .Width(1),
      .Depth(Verdicts)
  ) u_verdicts (
      .clk_i,
      .rst_ni,
      .valid_i(verdict),
      .ready_o(verdict_room),
      .data_i (take),
      .valid_o(taken_valid),
      .ready_i(leaves && word.last),
      .data_o (taken),
      .count_o(unused_verdicts)
  );
  `ASSERT(verdicts_have_room, !verdict || verdict_room)

  // To the host, or to the engines; a frame gets its place with its first word.
  logic moves, first_q, frame_ready, dispatch_ready, dispatches;
  logic [$clog2(Frames)-1:0] frame;
  assign moves = word_valid && taken_valid;
  assign pass_valid_o = moves && !taken;
  assign pass_word_o = word;
  assign pass_port_o = port;
  assign dispatches = moves && taken && (!first_q || frame_ready);
  assign leaves = taken ? dispatches && dispatch_ready : pass_valid_o && pass_ready_i;
  `FFE(first_q, word.last, leaves, 1'b1)

  logic [Schemes-1:0] engine_valid, engine_ready, verdict_valid, verdict_ready;
  verdict_t [Schemes-1:0] verdicts;
  part_t part;
  tag_t tag;
  logic schnorr, asked;
  logic [15:0] length;
  logic [ 7:0] command;
  logic [63:0] index;
  verify_dispatch u_dispatch (
      .clk_i,
      .rst_ni,
      .valid_i  (dispatches),
      .ready_o  (dispatch_ready),
      .word_i   (word),
      .frame_i  (frame),
      .valid_o  (engine_valid),
      .ready_i  (engine_ready),
      .part_o   (part),
      .tag_o    (tag),
      .schnorr_o(schnorr),
      .length_o (length),
      .asked_o  (asked),
      .command_o(command),
      .index_o  (index)
  );

  if (SignatureEngines > 0) begin : gen_signatures
    verify_signatures #(
        .SignatureEngines(SignatureEngines)
    ) u_signatures (
        .clk_i,
        .rst_ni,
        .valid_i  (engine_valid[SchemeSignature]),
        .ready_o  (engine_ready[SchemeSignature]),
        .part_i   (part),
        .tag_i    (tag),
        .schnorr_i(schnorr),
        .valid_o  (verdict_valid[SchemeSignature]),
        .ready_i  (verdict_ready[SchemeSignature]),
        .verdict_o(verdicts[SchemeSignature])
    );
  end else begin : gen_signatures
    assign engine_ready[SchemeSignature] = 1'b1;
    assign verdict_valid[SchemeSignature] = 1'b0;
    assign verdicts[SchemeSignature] = '0;
    logic unused;
    assign unused = ^{schnorr, verdict_ready[SchemeSignature]};
    `ASSERT(no_signatures, !engine_valid[SchemeSignature])
  end
  if (Roots) begin : gen_roots
    verify_roots u_roots (
        .clk_i,
        .rst_ni,
        .valid_i  (engine_valid[SchemeRoot]),
        .ready_o  (engine_ready[SchemeRoot]),
        .part_i   (part),
        .tag_i    (tag),
        .valid_o  (verdict_valid[SchemeRoot]),
        .ready_i  (verdict_ready[SchemeRoot]),
        .verdict_o(verdicts[SchemeRoot])
    );
  end else begin : gen_roots
    assign engine_ready[SchemeRoot] = 1'b1;
    assign verdict_valid[SchemeRoot] = 1'b0;
    assign verdicts[SchemeRoot] = '0;
    logic unused;
    assign unused = verdict_ready[SchemeRoot];
    `ASSERT(no_roots, !engine_valid[SchemeRoot])
  end
  if (EquihashN > 0) begin : gen_headers
    verify_headers #(
        .EquihashN(EquihashN),
        .EquihashK(EquihashK)
    ) u_headers (
        .clk_i,
        .rst_ni,
        .valid_i  (engine_valid[SchemeHeader]),
        .ready_o  (engine_ready[SchemeHeader]),
        .part_i   (part),
        .tag_i    (tag),
        .length_i (length),
        .valid_o  (verdict_valid[SchemeHeader]),
        .ready_i  (verdict_ready[SchemeHeader]),
        .verdict_o(verdicts[SchemeHeader])
    );
  end else begin : gen_headers
    assign engine_ready[SchemeHeader] = 1'b1;
    assign verdict_valid[SchemeHeader] = 1'b0;
    assign verdicts[SchemeHeader] = '0;
    logic unused;
    assign unused = ^{length, verdict_ready[SchemeHeader]};
    `ASSERT(no_headers, !engine_valid[SchemeHeader])
  end

  // One verdict per cycle.
  logic judged_valid;
  verdict_t judged;
  logic [$bits(verdict_t)/8-1:0] unused_keep;
  logic [$clog2(Schemes)-1:0] unused_engine;
  logic unused_last;
  stream_arbiter #(
      .DataWidth($bits(verdict_t)),
      .Ports    (Schemes)
  ) u_judged (
      .clk_i,
      .rst_ni,
      .valid_i(verdict_valid),
      .ready_o(verdict_ready),
      .data_i (verdicts),
      .keep_i ('1),
      .last_i ('1),
      .valid_o(judged_valid),
      .ready_i(1'b1),
      .data_o (judged),
      .keep_o (unused_keep),
      .last_o (unused_last),
      .port_o (unused_engine)
  );
  assign done_o = verdict_valid & verdict_ready;

  logic bare_valid, bare_ready, bare_none;
  word_t bare;
  logic [PortWidth-1:0] bare_port;
  verify_replies #(
      .PortWidth(PortWidth)
  ) u_replies (
      .clk_i,
      .rst_ni,
      .frame_valid_i  (moves && taken && first_q && dispatch_ready),
      .frame_ready_o  (frame_ready),
      .frame_data_i   (word.data),
      .frame_port_i   (port),
      .frame_o        (frame),
      .asked_i        (asked),
      .asked_tag_i    (tag),
      .command_i      (command),
      .index_i        (index),
      .verdict_valid_i(judged_valid),
      .verdict_i      (judged),
      .valid_o        (bare_valid),
      .ready_i        (bare_ready),
      .word_o         (bare),
      .port_o         (bare_port),
      .none_o         (bare_none)
  );
  checksum_writer #(
      .UserWidth(PortWidth)
  ) u_checksum (
      .clk_i,
      .rst_ni,
      .valid_i(bare_valid),
      .ready_o(bare_ready),
      .word_i (bare),
      .user_i (bare_port),
      .none_i (bare_none),
      .valid_o(reply_valid_o),
      .ready_i(reply_ready_i),
      .word_o (reply_word_o),
      .user_o (reply_port_o)
  );
endmodule
