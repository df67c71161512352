// Builds memcached's binary replies: a packet's headers and verdict, and the item's rows, become a UDP datagram without
// its checksum, which checksum_writer adds.
//
// A reply's bytes after the headers are those of the item from some byte on: the key's first, or the value's. Each row
// is rotated once, and a word of the reply is the end of one rotated row and the start of the next.
//
// Latency 2 cycles, and a word or a row a cycle, whichever are more.

`include "assertions.svh"
`include "registers.svh"

module kv_reply
  import wire_pkg::*;
  import memcached_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned UserWidth = 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // A packet's first word and its verdict, which replies or has rows.
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [WordWidth-1:0] packet_i,
    input  verdict_t             verdict_i,
    input  logic [UserWidth-1:0] user_i,
    input  logic                 row_valid_i,
    output logic                 row_ready_o,
    input  logic [WordWidth-1:0] row_i,
    input  logic                 row_last_i,
    output logic                 busy_o,      // rows and words are left of packets that have passed
    output logic                 valid_o,
    input  logic                 ready_i,
    output word_t                word_o,
    output logic                 none_o,      // the request has no checksum, so the reply gets none
    output logic [UserWidth-1:0] user_o
);
  localparam int unsigned FlagsBytes = 4;
  localparam int unsigned HeaderBytes = EthernetBytes + Ipv4Bytes + UdpBytes + ($bits(
      datagram_t
  ) + $bits(
      message_t
  )) / 8;
  // Of the headers and the flags, in the second word.
  localparam int unsigned Begun = HeaderBytes + FlagsBytes - WordBytes;

  typedef struct packed {
    ethernet_t   ethernet;
    ipv4_t       ipv4;
    udp_t        udp;
    datagram_t   datagram;
    message_t    header;
    logic [31:0] flags;
  } headers_t;

  ////////////////////////////////////////////////////////////////////////
  // The headers, and where the item's bytes begin.

  typedef struct packed {
    logic                                 replies;
    logic                                 has_rows;
    logic                                 none;
    logic [WordWidth-1:0]                 first;   // word
    logic [8*Begun-1:0]                   second;  // its first bytes
    logic [RowsWidth-1:0]                 words;
    logic [$clog2(WordBytes)-1:0]         ends;    // bytes of the last word, 0 for a whole one
    logic [2:0]                           skips;   // rows that the reply does not need
    logic [$clog2(WordBytes)-1:0]         rotate;  // bytes
  } reply_t;

  typedef logic [BodyLengthWidth-1:0] length_t;
  reply_t reply, current;
  packet_t swapped;
  ipv4_t request_ipv4;
  headers_t headers;
  length_t returned, total;
  logic [8:0] start;
  logic [7:0] extras, key_length;
  logic [WordWidth-1:0] packet;
  logic [$bits(headers_t)-1:0] header_bits;
  assign packet = swap_bytes(packet_i);
  assign swapped = swap_addresses(packet);
  always_comb begin
    request_ipv4 = packet[WordWidth-1-$bits(ethernet_t)-:$bits(ipv4_t)];
    extras = verdict_i.request.op inside {KvGet, KvTouch} ? 8'(FlagsBytes) : 8'd0;
    key_length = verdict_i.request.returns_key ? verdict_i.item.key_length : '0;
    returned = verdict_i.item.body_length;
    if (!verdict_i.request.returns_key) returned -= length_t'(verdict_i.item.key_length);
    if (!verdict_i.request.returns_value) returned = '0;
    total = length_t'(HeaderBytes) + length_t'(extras) + returned;

    headers = '0;
    headers.ethernet = swapped.ethernet;
    headers.ipv4 = swapped.ipv4;
    headers.ipv4.length = 16'(total) - 16'(EthernetBytes);
    // The TTL and the length have changed (RFC 1624, equation 3).
    headers.ipv4.checksum = ~add_three(~reply_checksum(request_ipv4), ~request_ipv4.length, headers.ipv4.length);
    headers.udp = swapped.udp;
    headers.udp.length = 16'(total) - 16'(EthernetBytes + Ipv4Bytes);
    headers.udp.checksum = '0;
    headers.datagram.id = swapped.compact[$bits(swapped.compact)-1-:16];
    headers.datagram.datagrams = 16'd1;
    headers.header.magic = ReplyMagic;
    headers.header.opcode = verdict_i.request.opcode;
    headers.header.key_length = 16'(key_length);
    headers.header.extras_length = extras;
    headers.header.body_length = 32'(total) - 32'(HeaderBytes);
    headers.header.opaque = verdict_i.request.opaque;
    headers.header.cas = verdict_i.request.op == KvDelete ? '0 : verdict_i.item.cas;
    headers.flags = verdict_i.item.flags;
    header_bits = headers;

    // The byte of the item, header row included, that the second word would begin with if it had no headers.
    start = 9'(WordBytes - Begun) + (verdict_i.request.returns_key ? '0 : 9'(verdict_i.item.key_length));
    reply.replies = verdict_i.replies;
    reply.has_rows = verdict_i.has_rows;
    reply.none = swapped.udp.checksum == '0;
    reply.first = swap_bytes(header_bits[$bits(headers_t)-1-:WordWidth]);
    for (int unsigned at = 0; at < Begun; at++) reply.second[8*at+:8] = header_bits[8*(Begun-1-at)+:8];
    reply.words = RowsWidth'((32'(total) + 32'(WordBytes - 1)) / WordBytes);
    reply.ends = total[$clog2(WordBytes)-1:0];
    reply.skips = start[8:6];
    reply.rotate = start[5:0];
  end

  logic works, finishes;
  logic [1:0] unused_count;
  fifo #(
      .Width(UserWidth + $bits(reply_t)),
      .Depth(2)
  ) u_replies (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i ({user_i, reply}),
      .valid_o(works),
      .ready_i(finishes),
      .data_o ({user_o, current}),
      .count_o(unused_count)
  );

  ////////////////////////////////////////////////////////////////////////
  // Words of the reply. The first one is made while the item's header passes.

  logic [RowsWidth-1:0] word_q;  // next word
  logic [          2:0] row_q;  // next row, up to the first that is needed
  logic rows_left_q, needs_row, begins, skips, emits, step, last;
  logic [WordWidth-1:0] rotated, carried_q, merged;
  assign rotated = WordWidth'({2{row_i}} >> (8 * 32'(current.rotate)));
  assign needs_row = rows_left_q && current.has_rows;
  // The row that the second word begins in is carried, unless it is the last; those before it are not needed.
  assign begins = needs_row && word_q != '0 && row_q <= current.skips;
  assign skips = current.replies && begins && !row_last_i;
  assign emits = works && current.replies && !skips && (!needs_row || row_valid_i);
  assign last = current.replies ? word_q + 1'b1 == current.words : row_last_i;
  assign step = works && (!needs_row || row_valid_i) && (!emits || ready_i);
  assign finishes = step && last && (current.replies || needs_row) && !skips;
  assign row_ready_o = works && needs_row && (!emits || ready_i);
  `FFE(rows_left_q, finishes || !row_last_i, step && (needs_row || finishes), 1'b1)
  `FFE(row_q, finishes ? '0 : row_q + 3'(row_q != '1), step && (needs_row || finishes), '0)
  `FFE(word_q, finishes ? '0 : word_q + 1'b1, step && (emits || finishes), '0)
  `FFNE(carried_q, rotated, step && needs_row)

  always_comb begin
    for (int unsigned at = 0; at < WordBytes; at++) begin
      merged[8*at+:8] = !begins && at + 32'(current.rotate) < WordBytes ? carried_q[8*at+:8] : rotated[8*at+:8];
    end
    if (word_q == RowsWidth'(1)) merged[8*Begun-1:0] = current.second;
    if (word_q == '0) merged = current.first;
  end
  assign busy_o = works;
  assign valid_o = emits;
  assign word_o.data = merged;
  assign word_o.last = last;
  assign word_o.keep = last && current.ends != '0 ? ~({WordBytes{1'b1}} << current.ends) : '1;
  assign none_o = current.none;

  `ASSUME(commands_do_something, !valid_i || verdict_i.replies || verdict_i.has_rows)
  `ASSERT(rows_end_with_the_reply, !finishes || !current.has_rows || !needs_row || row_last_i)

  logic unused_fields;
  assign unused_fields = ^{swapped, packet, verdict_i};
endmodule
