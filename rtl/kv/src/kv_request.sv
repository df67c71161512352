// Parses memcached's binary requests over UDP: the request of each packet, and its key and value, which are contiguous,
// aligned to the start of a word.
//
// A packet is a UDP datagram whose headers, lengths and checksums have already been checked, as packet_selector does.
// GET, GETK, GAT, GATK, SET, REPLACE, DELETE and TOUCH with their quiet forms are taken, one in a datagram, with keys
// of up to 250 bytes. Everything else is not: other commands, compare-and-swap, requests in several datagrams,
// inconsistent lengths. The host answers those, since their replies depend on more than one item, or are errors. The
// host's own FLUSH, without an expiration, is a request that is not taken but flushes.
//
// Latency 1 cycle, a word a cycle in any mix of lengths: each word leaves together with at most one word of the body.
// A request leaves with its packet's first word. The outputs move together, so their ready must not depend on valid.

`include "assertions.svh"
`include "registers.svh"

module kv_request
  import wire_pkg::*;
  import memcached_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned UserWidth = 1
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic  [              31:0]   now_i,            // seconds since 1970
    input  logic                         valid_i,
    output logic                         ready_o,
    input  word_t                        word_i,
    input  logic                         from_host_i,      // the packet may flush
    input  logic  [     UserWidth-1:0]   user_i,
    // Every word, unmodified.
    output logic                         word_valid_o,
    input  logic                         word_ready_i,
    output word_t                        word_o,
    output logic  [     UserWidth-1:0]   user_o,
    // For every packet.
    output logic                         request_valid_o,
    input  logic                         request_ready_i,
    output request_t                     request_o,
    // Key and value of a request that is taken; bytes after their end are zero.
    output logic                         body_valid_o,
    input  logic                         body_ready_i,
    output logic  [     WordWidth-1:0]   body_o,
    output logic  [$clog2(WordBytes):0]  body_key_o,       // bytes of the key in this word
    output logic                         body_key_last_o,  // the key ends in this word
    output logic                         body_last_o
);
  // Headers of memcached, also with that of UDP, and all that precedes the extras.
  localparam int unsigned MessageBytes = ($bits(datagram_t) + $bits(message_t)) / 8;
  localparam int unsigned UdpHeaders = UdpBytes + MessageBytes;
  localparam int unsigned HeaderBytes = EthernetBytes + Ipv4Bytes + UdpHeaders;
  localparam int unsigned Start = HeaderBytes - WordBytes;  // of the extras, in the second word
  `CONSTANT_CHECK(start, HeaderBytes >= WordBytes && Start + WriteExtras < WordBytes,
                  "kv_request: the extras must be in the second word")

  typedef struct packed {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    datagram_t datagram;
    message_t header;
    logic [31:0] extras;       // flags, or TOUCH's expiration
    logic [31:0] expiration;
  } packet_request_t;

  typedef logic [BodyLengthWidth-1:0] length_t;

  // A word waits until the next one of its packet is here, whose first bytes complete the body's word.
  word_t held_q;
  logic held_valid_q, from_host_q, first_q, whole, leaves, emits;
  `FFE(held_valid_q, valid_i, ready_o, 1'b0)
  `FFNE(held_q, word_i, ready_o)
  `FFNE(from_host_q, from_host_i, ready_o)
  `FFNE(user_o, user_i, ready_o)
  assign whole = held_valid_q && (held_q.last || valid_i);
  assign leaves = whole && word_ready_i && (!first_q || request_ready_i) && (!emits || body_ready_i);
  assign ready_o = !held_valid_q || leaves;
  `FFE(first_q, held_q.last, leaves, 1'b1)
  assign word_valid_o = leaves;
  assign word_o = held_q;

  ////////////////////////////////////////////////////////////////////////
  // The request, from the first two words.

  logic [2*WordWidth-1:0] swapped;
  packet_request_t packet;
  message_t header;
  assign swapped = {swap_bytes(held_q.data), swap_bytes(word_i.data)};
  assign packet  = swapped[2*WordWidth-1-:$bits(packet_request_t)];
  assign header  = packet.header;

  logic known, writes, touches, framed;
  logic [7:0] extras;
  request_t request;
  always_comb begin
    known = 1'b1;
    request = '0;
    unique case (header.opcode)
      8'h00, 8'h09: {request.op, request.returns_key, request.returns_value} = {KvGet, 2'b01};
      8'h0c, 8'h0d: {request.op, request.returns_key, request.returns_value} = {KvGet, 2'b11};
      8'h01, 8'h11: request.op = KvSet;
      8'h03, 8'h13: request.op = KvReplace;
      8'h04, 8'h14: request.op = KvDelete;
      8'h1c: request.op = KvTouch;
      8'h1d, 8'h1e: {request.op, request.returns_key, request.returns_value} = {KvTouch, 2'b01};
      8'h23, 8'h24: {request.op, request.returns_key, request.returns_value} = {KvTouch, 2'b11};
      default: known = 1'b0;
    endcase
    request.quiet = header.opcode inside {8'h09, 8'h0d, 8'h11, 8'h13, 8'h14, 8'h1e, 8'h24};
    writes = request.op inside {KvSet, KvReplace};
    touches = request.op == KvTouch;
    extras = writes ? 8'(WriteExtras) : touches ? 8'(TouchExtras) : 8'd0;

    request.opcode = header.opcode;
    request.opaque = header.opaque;
    request.key_length = header.key_length[7:0];
    request.flags = writes ? packet.extras : '0;
    request.expiry = expiry_at(now_i, writes ? packet.expiration : touches ? packet.extras : '0);
    request.body_length = length_t'(header.body_length) - length_t'(extras);

    framed = !held_q.last && packet.datagram.sequence_number == '0 && packet.datagram.datagrams <= 16'd1;
    framed &= header.magic == RequestMagic && header.data_type == '0 && header.cas == '0;
    framed &= 32'(packet.udp.length) == header.body_length + 32'(UdpHeaders) && header.body_length[31:16] == '0;
    request.taken = known && framed;
    request.taken &= header.key_length != '0 && header.key_length <= 16'(LongestKey) && header.extras_length == extras;
    request.taken &= packet.udp.length <= 16'(LongestPacket - EthernetBytes - Ipv4Bytes);
    // Only a write has a value.
    request.taken &= writes ? header.body_length[15:0] >= header.key_length + 16'(WriteExtras) :
        header.body_length[15:0] == header.key_length + 16'(extras);

    request.flushes = from_host_q && framed && header.opcode == OpcodeFlush;
    request.flushes &= header.body_length == '0 && header.key_length == '0 && header.extras_length == '0;
  end
  assign request_o = request;
  assign request_valid_o = leaves && first_q;

  ////////////////////////////////////////////////////////////////////////
  // The body: from one of three offsets of the second word.

  length_t left_q;  // bytes of the body from the held word on
  logic [7:0] key_left_q;
  logic [1:0] offset_q, offset_d;
  logic [2*WordWidth-1:0] two;
  logic [  WordWidth-1:0] aligned;
  assign emits = !first_q && left_q != '0;
  assign offset_d = writes ? 2'd2 : touches ? 2'd1 : 2'd0;
  assign two = {held_q.last ? '0 : word_i.data, held_q.data};
  always_comb begin
    unique case (offset_q)
      2'd2: aligned = two[8*(Start+WriteExtras)+:WordWidth];
      2'd1: aligned = two[8*(Start+TouchExtras)+:WordWidth];
      default: aligned = two[8*Start+:WordWidth];
    endcase
    for (int unsigned at = 0; at < WordBytes; at++) begin
      body_o[8*at+:8] = 32'(left_q) > at ? aligned[8*at+:8] : '0;
    end
  end
  assign body_last_o = left_q <= length_t'(WordBytes);
  assign body_key_last_o = key_left_q != '0 && key_left_q <= 8'(WordBytes);
  localparam int unsigned CountWidth = $clog2(WordBytes) + 1;
  assign body_key_o = key_left_q > 8'(WordBytes) ? CountWidth'(WordBytes) : CountWidth'(key_left_q);
  assign body_valid_o = leaves && emits;

  length_t left_d;
  logic [7:0] key_left_d;
  always_comb begin
    left_d = body_last_o ? '0 : left_q - length_t'(WordBytes);
    key_left_d = key_left_q <= 8'(WordBytes) ? '0 : key_left_q - 8'(WordBytes);
    if (first_q) begin
      left_d = request.taken ? request.body_length : '0;
      key_left_d = request.taken ? request.key_length : '0;
    end
  end
  `FFNE(offset_q, offset_d, leaves && first_q)
  `FFE(left_q, left_d, leaves, '0)
  `FFE(key_left_q, key_left_d, leaves, '0)

  // A packet is as long as UDP's header says.
  `ASSUME(packets_are_whole, !(leaves && !first_q && held_q.last) || left_q <= length_t'(WordBytes))
  `ASSERT(a_key_is_in_the_body, length_t'(key_left_q) <= left_q)

  logic unused_fields;
  assign unused_fields = ^{swapped, packet, header, two};
endmodule
