// First stage: selects the engine for a packet. A packet that no engine takes goes to the host unmodified.
//
// Packets wait until their last word has arrived and both checksums are known. An engine's packet is Ethernet, IPv4
// without options or fragmentation, UDP, to this node's address and port, exactly as long as its headers say, and a
// well-formed frame as a whole; entries of a batch and messages of a verify frame are checked individually in later
// stages. Packets that the host must not answer also go to the host: reflected replies, and packets from the node's own
// port or port 0. Datagrams from the trusted prefix to the key-value store's port are for its engine, whatever they
// hold: it parses them in their order.
//
// Latency 4 cycles after the last word, one word per cycle. Order is kept: a waiting packet stalls those after it.

`include "assertions.svh"
`include "registers.svh"

module packet_selector
  import frame_pkg::*;
  import wire_pkg::*;
#(
    parameter int unsigned PortWidth = 3,
    // There is an engine for memcached's requests.
    parameter bit Kv = 1'b0
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    // This node's address and port, and the source of trusted operations; constant while packets move.
    input  logic    [         31:0] address_i,
    input  logic    [         15:0] udp_port_i,
    input  logic    [         31:0] trusted_address_i,
    input  logic    [         31:0] trusted_mask_i,
    input  logic    [          7:0] promise_i,          // promise that this node offers
    input  logic    [         15:0] kv_udp_port_i,      // of the key-value store; 0: none
    input  logic                    take_compact_i,
    input  logic                    take_batch_i,
    input  logic                    take_proof_i,
    // May change between packets.
    input  logic                    take_verify_i,
    input  logic                    valid_i,
    output logic                    ready_o,
    input  word_t                   word_i,
    input  logic    [PortWidth-1:0] port_i,
    output logic                    valid_o,
    input  logic                    ready_i,
    output word_t                   word_o,
    output logic    [PortWidth-1:0] port_o,
    output engine_e                 engine_o,
    output logic                    trusted_o
);
  // Room for the longest packet while its checksums are computed, and for words that arrive meanwhile.
  localparam int unsigned Depth = 32;
  localparam int unsigned CountWidth = $clog2(PacketWords + 1);
  localparam int unsigned LengthWidth = CountWidth + $clog2(WordBytes);

  logic enters, first_q, overlong_q, judge;
  logic [CountWidth-1:0] words_q;
  assign enters = valid_i && ready_o;
  // The verdict on a packet that is too long for any engine does not wait for its end.
  assign judge = !overlong_q && (word_i.last || words_q == CountWidth'(PacketWords));
  `FFE(first_q, word_i.last, enters, 1'b1)
  `FFE(words_q, word_i.last ? '0 : words_q == CountWidth'(PacketWords) ? words_q : words_q + 1'b1, enters, '0)
  `FFE(overlong_q, !word_i.last && (overlong_q || judge), enters, 1'b0)

  // Cycle 1: decode the first word, count the length, and check that a proof request is followed by zeros only.
  packet_t packet;
  batch_header_t batch;
  proof_request_t proof;
  verify_header_t verify;
  assign packet = swap_bytes(word_i.data);
  assign batch = packet.compact[$bits(compact_frame_t)-1-:$bits(batch_header_t)];
  assign proof = packet.compact[$bits(compact_frame_t)-1-:$bits(proof_request_t)];
  assign verify = packet.compact[$bits(compact_frame_t)-1-:$bits(verify_header_t)];

  logic datagram, shaped, framed, trusted, zeros;
  engine_e engine;
  logic [15:0] batch_length;
  always_comb begin
    datagram = packet.ethernet.kind == EthernetIpv4 && !packet.ethernet.destination[40];
    datagram &= {packet.ipv4.version, packet.ipv4.header_words} == {4'd4, 4'd5};
    datagram &= !packet.ipv4.reserved && !packet.ipv4.more_fragments && packet.ipv4.fragment_offset == '0;
    datagram &= packet.ipv4.protocol == ProtocolUdp && packet.ipv4.destination == address_i;
    datagram &= packet.ipv4.length == packet.udp.length + 16'(Ipv4Bytes);
    datagram &= packet.udp.source != udp_port_i && packet.udp.source != '0;
    shaped = datagram && packet.udp.destination == udp_port_i;
    trusted = ((packet.ipv4.source ^ trusted_address_i) & trusted_mask_i) == '0;

    framed = batch.header.magic == protocol_pkg::Magic && batch.header.version == protocol_pkg::Version;
    // 24 bytes per operation.
    batch_length = 16'(UdpBytes + $bits(batch_header_t) / 8) + {batch.count[11:0], 4'b0} + {batch.count[12:0], 3'b0};
    engine = ForHost;
    if (batch.header.magic != protocol_pkg::Magic) begin
      // A compact reply with MALFORMED must not be answered again.
      if (take_compact_i && packet.udp.length == UdpLength &&
          packet.compact.status != protocol_pkg::StatusMalformed) begin
        engine = ForCompact;
      end
    end else if (framed && batch.header.kind == protocol_pkg::FrameTypeBatch) begin
      if (take_batch_i && trusted && batch.count != '0 && batch.count[15:8] == '0 &&
          batch.format == protocol_pkg::BatchFormatCompact &&
          (batch.promise == protocol_pkg::PromiseDefault || batch.promise == promise_i) &&
          {batch.status, batch.reserved} == '0 && packet.udp.length == batch_length) begin
        engine = ForBatch;
      end
    end else if (framed && batch.header.kind == protocol_pkg::FrameTypeProof) begin
      // At least 48 bytes: 90 with the headers.
      if (take_proof_i && proof.chain <= protocol_pkg::ChainBitcoin &&
          proof.query >= protocol_pkg::QueryLatest && proof.query <= protocol_pkg::QueryIndex &&
          {proof.status, proof.body_length} == '0 && packet.udp.length >= 16'd56) begin
        engine = ForProof;
      end
    end else if (framed && batch.header.kind == protocol_pkg::FrameTypeVerify) begin
      // Long enough for the shortest message that an engine takes: 80 bytes after the headers of UDP and the frame.
      // Messages are checked in later stages.
      if (take_verify_i && trusted && verify.count != '0 &&
          {verify.reserved, verify.status, verify.reserved_end} == '0 && packet.udp.length >= 16'd104) begin
        engine = ForVerify;
      end
    end
    if (!shaped) engine = ForHost;

    zeros = 1'b1;
    for (int unsigned at = 0; at < WordBytes; at++) begin
      // The request ends 26 bytes into the second word.
      if ((at >= 26 || words_q != CountWidth'(1)) && word_i.keep[at]) zeros &= word_i.data[8*at+:8] == '0;
    end
  end

  engine_e chosen;
  if (Kv) begin : gen_kv
    logic for_kv;
    always_comb begin
      for_kv = datagram && trusted && kv_udp_port_i != '0 && packet.udp.destination == kv_udp_port_i;
      // From another store's port come replies, which must not be answered.
      for_kv &= packet.udp.source != kv_udp_port_i;
      for_kv &= packet.udp.length <= 16'(LongestPacket - EthernetBytes - Ipv4Bytes);
    end
    assign chosen = for_kv ? ForKv : engine;
  end else begin : gen_kv
    assign chosen = engine;
    logic unused_kv;
    assign unused_kv = ^kv_udp_port_i;
  end

  logic [$clog2(WordBytes+1)-1:0] bytes;
  always_comb begin
    bytes = '0;
    for (int unsigned at = 0; at < WordBytes; at++) bytes += ($clog2(WordBytes + 1))'(word_i.keep[at]);
  end

  engine_e engine_q;
  logic trusted_q, zeros_q, first_qq, over_q, long_q, enters_q;
  logic [15:0] length_q;
  logic [LengthWidth-1:0] bytes_q;
  logic [3:1] judge_q;
  `FFNE(engine_q, chosen, enters && first_q)
  `FFNE(trusted_q, trusted, enters && first_q)
  `FFNE(length_q, packet.udp.length, enters && first_q)
  `FFN(bytes_q, {words_q, 6'b0} + LengthWidth'(bytes))
  `FFN(over_q, !word_i.last || words_q == CountWidth'(PacketWords))
  `FFN(long_q, words_q >= CountWidth'(ShortWords))
  `FFN(zeros_q, zeros)
  `FFN(first_qq, first_q)
  `FF(enters_q, enters, 1'b0)
  `FF(judge_q, {judge_q[2:1], enters && judge}, '0)

  // Cycles 2 and 3: compare the length with the headers; then the verdict, with the checksums.
  engine_e judged_q[2:3];
  logic trusted_later_q[2:3];
  logic padded_q, padded;
  assign padded = first_qq || (padded_q && zeros_q);
  `FFNE(padded_q, padded, enters_q)
  always_ff @(posedge clk_i) begin
    judged_q[2] <= engine_q;
    if (over_q || 16'(bytes_q) != length_q + 16'(EthernetBytes + Ipv4Bytes)) judged_q[2] <= ForHost;
    if (engine_q == ForProof && !padded) judged_q[2] <= ForHost;
    if (engine_q != ForVerify && long_q) judged_q[2] <= ForHost;
    trusted_later_q[2] <= trusted_q;
    judged_q[3] <= judged_q[2];
    trusted_later_q[3] <= trusted_later_q[2];
  end

  logic [15:0] udp_sum;
  logic header_right, udp_none, right;
  udp_check u_check (
      .clk_i,
      .rst_ni,
      .valid_i       (enters),
      .data_i        (word_i.data),
      .keep_i        (word_i.keep),
      .last_i        (word_i.last),
      .udp_sum_o     (udp_sum),
      .header_right_o(header_right),
      .udp_none_o    (udp_none)
  );
  assign right = header_right && (udp_none || udp_sum == '1);

  // Words wait here for their verdicts.
  logic words_valid, verdict_valid, leaves, verdict_ready;
  logic [$clog2(Depth+1)-1:0] words, verdicts;
  engine_e verdict_engine;
  logic verdict_trusted;
  fifo #(
      .Width($bits(word_t) + PortWidth),
      .Depth(Depth)
  ) u_words (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i ({port_i, word_i}),
      .valid_o(words_valid),
      .ready_i(leaves),
      .data_o ({port_o, word_o}),
      .count_o(words)
  );
  fifo #(
      .Width($bits(engine_e) + 1),
      .Depth(Depth)
  ) u_verdicts (
      .clk_i,
      .rst_ni,
      .valid_i(judge_q[3]),
      .ready_o(verdict_ready),
      .data_i ({right ? judged_q[3] : ForHost, trusted_later_q[3]}),
      .valid_o(verdict_valid),
      .ready_i(leaves && word_o.last),
      .data_o ({verdict_engine, verdict_trusted}),
      .count_o(verdicts)
  );
  assign valid_o   = words_valid && verdict_valid;
  assign leaves    = valid_o && ready_i;
  assign engine_o  = verdict_engine;
  assign trusted_o = verdict_trusted;

  `ASSERT(verdicts_have_room, !judge_q[3] || verdict_ready)
  // Plus one for an overlong packet that leaves while it arrives.
  `ASSERT(verdicts_have_words, 32'(verdicts) <= 32'(words) + 1)
endmodule
