// Builds memcached's binary replies: a packet's headers and verdict, and the item's rows, become the pieces of a UDP
// datagram without its checksum, which kv_join makes words of.
//
// A reply's bytes after the headers are those of the item from some byte on: the key's first, or the value's. kv_join
// rotates each row once, and a word of the reply is the end of one rotated row and the start of the next.
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
    // A verdict, which replies or has rows, with its packet's first word, which has become frame_i.
    input  logic                 valid_i,
    output logic                 ready_o,
    input  verdict_t             verdict_i,
    input  logic [UserWidth-1:0] user_i,
    output logic [BodyLengthWidth-1:0] total_o,   // bytes of the reply
    input  frame_t               frame_i,
    input  logic                 none_i,          // the request has no checksum, so the reply gets none
    input  logic                 row_valid_i,
    output logic                 row_ready_o,
    input  logic                 row_last_i,
    output logic                 busy_o,          // rows and words are left of packets that have passed
    input  logic                 ready_i,
    // The piece is first_o, or else the row.
    output piece_t               piece_o,
    output logic                 first_valid_o,
    output logic [WordWidth-1:0] first_o,
    // The first bytes of the word.
    output logic                 second_valid_o,
    output logic [8*SecondBytes-1:0] second_o,
    output logic                 none_o,
    output logic [UserWidth-1:0] user_o
);
  typedef struct packed {
    frame_t      frame;
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
    logic [8*SecondBytes-1:0]                   second;  // its first bytes
    logic [RowsWidth-1:0]                 words;
    logic [$clog2(WordBytes)-1:0]         ends;    // bytes of the last word, 0 for a whole one
    logic [2:0]                           skips;   // rows that the reply does not need
    logic [$clog2(WordBytes)-1:0]         rotate;  // bytes
  } reply_t;

  typedef logic [BodyLengthWidth-1:0] length_t;
  reply_t reply, current;
  headers_t headers;
  length_t returned, total;
  logic [8:0] start;
  logic [7:0] extras, key_length;
  logic [$bits(headers_t)-1:0] header_bits;
  assign total_o = total;
  always_comb begin
    extras = verdict_i.request.op inside {KvGet, KvTouch} ? 8'(FlagsBytes) : 8'd0;
    key_length = verdict_i.request.returns_key ? verdict_i.item.key_length : '0;
    returned = verdict_i.item.body_length;
    if (!verdict_i.request.returns_key) returned -= length_t'(verdict_i.item.key_length);
    if (!verdict_i.request.returns_value) returned = '0;
    total = length_t'(ReplyBytes) + length_t'(extras) + returned;
  end
  always_comb begin
    headers = '0;
    headers.frame = frame_i;
    headers.header.magic = ReplyMagic;
    headers.header.opcode = verdict_i.request.opcode;
    headers.header.key_length = 16'(key_length);
    headers.header.extras_length = extras;
    headers.header.body_length = 32'(total) - 32'(ReplyBytes);
    headers.header.opaque = verdict_i.request.opaque;
    headers.header.cas = verdict_i.request.op == KvDelete ? '0 : verdict_i.item.cas;
    headers.flags = verdict_i.item.flags;
    header_bits = headers;

    // The byte of the item, header row included, that the second word would begin with if it had no headers.
    start = 9'(WordBytes - SecondBytes) + (verdict_i.request.returns_key ? '0 : 9'(verdict_i.item.key_length));
    reply.replies = verdict_i.replies;
    reply.has_rows = verdict_i.has_rows;
    reply.none = none_i;
    reply.first = swap_bytes(header_bits[$bits(headers_t)-1-:WordWidth]);
    for (int unsigned at = 0; at < SecondBytes; at++) reply.second[8*at+:8] = header_bits[8*(SecondBytes-1-at)+:8];
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

  assign busy_o = works;
  assign first_o = current.first;
  assign first_valid_o = word_q == '0;
  assign second_o = current.second;
  assign second_valid_o = word_q == RowsWidth'(1);
  // The first word is whole, and the header row that passes with it leaves nothing that the second needs. A word begins
  // with the end of the row before, unless that is not needed.
  always_comb begin
    piece_o.valid = emits;
    piece_o.step = step && needs_row;
    piece_o.rotate = first_valid_o ? '0 : current.rotate;
    piece_o.fill = first_valid_o || begins ? '0 : ($clog2(WordBytes) + 1)'(WordBytes) - {1'b0, current.rotate};
    piece_o.last = last;
    piece_o.bytes = {current.ends == '0, current.ends};
  end
  assign none_o = current.none;

  `ASSUME(commands_do_something, !valid_i || verdict_i.replies || verdict_i.has_rows)
  `ASSERT(rows_end_with_the_reply, !finishes || !current.has_rows || !needs_row || row_last_i)

  logic unused_fields;
  assign unused_fields = ^verdict_i;
endmodule
