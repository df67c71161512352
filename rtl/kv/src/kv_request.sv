// Parses memcached's requests over UDP: the request of each packet, and its key and value, which are contiguous and
// leave aligned to the start of a word.
//
// A packet is a UDP datagram whose headers, lengths and checksums have already been checked, as packet_selector does.
// GET, GETK, GAT, GATK, SET, REPLACE, DELETE and TOUCH with their quiet forms are taken, one in a datagram, with keys
// of up to 250 bytes, and the lines `get`, `gets` and `mg` that kv_line takes. Everything else is not: other commands,
// compare-and-swap, requests in several datagrams, inconsistent lengths. The host answers those, since their replies
// depend on more than one item, or are errors. The host's own FLUSH, without an expiration, is a request that is not
// taken but flushes.
//
// A line's end decides whether it is taken. Its key leaves before, and is dropped later if it is not.
//
// Latency 1 cycle, a word a cycle in any mix of lengths: each word leaves together with at most one word of the body.
// A request leaves a cycle after its packet's first word, that of a line after the last. The other outputs move
// together, so their ready must not depend on valid.

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
    // Key and value of a request that has a key; bytes after their end are undefined.
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
  // Where a line begins, in the first word, and lengths of its verbs, with the space.
  localparam int unsigned LineStart = EthernetBytes + Ipv4Bytes + UdpBytes + $bits(datagram_t) / 8;
  localparam int unsigned GetBytes = 4;
  localparam int unsigned GetsBytes = 5;
  localparam int unsigned MetaBytes = 3;
  localparam int unsigned EndBytes = 2;

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
  logic held_valid_q, from_host_q, first_q, whole, leaves, emits, request_ready;
  `FFE(held_valid_q, valid_i, ready_o, 1'b0)
  `FFNE(held_q, word_i, ready_o)
  `FFNE(from_host_q, from_host_i, ready_o)
  `FFNE(user_o, user_i, ready_o)
  assign whole = held_valid_q && (held_q.last || valid_i);
  assign leaves = whole && word_ready_i && request_ready && (!emits || body_ready_i);
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

  logic known, writes, touches, single, framed, is_line;
  logic [15:0] line_length;
  logic [8*GetsBytes-1:0] verb;
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

    single = packet.datagram.sequence_number == '0 && packet.datagram.datagrams <= 16'd1;
    framed = single && !held_q.last;
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

    // What follows the verb is as long as a line can be, or this is another packet.
    verb = swapped[2*WordWidth-1-8*LineStart-:8*GetsBytes];
    line_length = packet.udp.length - 16'(UdpBytes + $bits(datagram_t) / 8);
    if (verb == "gets ") begin
      request.protocol = GetsLine;
      line_length -= 16'(GetsBytes);
    end else if (verb[8*(GetsBytes-GetBytes)+:8*GetBytes] == "get ") begin
      request.protocol = GetLine;
      line_length -= 16'(GetBytes);
    end else if (verb[8*(GetsBytes-MetaBytes)+:8*MetaBytes] == "mg ") begin
      request.protocol = MetaLine;
      line_length -= 16'(MetaBytes);
    end
    is_line = request.protocol != Binary && single;
    is_line &= line_length > 16'(EndBytes) && line_length <= 16'(LongestKey + LongestFlags + EndBytes);
    if (is_line) begin
      request.op = KvGet;
      {request.returns_key, request.returns_value, request.quiet} = 3'b010;
      request.taken = 1'b1;
    end else begin
      request.protocol = Binary;
    end
    request.keyed = request.taken;
  end

  // A line's is complete when its last word has passed.
  request_t request_q;
  logic request_valid_q, passes_line, passes_line_q, line_valid;
  logic [8:0] line_key_length;
  meta_t line_meta;
  assign passes_line = first_q ? is_line : passes_line_q;
  assign request_ready = !request_valid_q || request_ready_i;
  `FFE(passes_line_q, is_line, leaves && first_q, 1'b0)
  `FFE(request_valid_q, leaves && (passes_line ? held_q.last : first_q), request_ready, 1'b0)
  `FFNE(request_q, request, leaves && first_q)
  always_comb begin
    request_o = request_q;
    if (request_q.protocol != Binary) begin
      request_o.taken = line_valid;
      request_o.keyed = line_key_length != '0;
      request_o.key_length = line_key_length[7:0];
      request_o.body_length = length_t'(line_key_length);
      request_o.meta = line_meta;
      request_o.returns_value = request_q.protocol != MetaLine || line_meta.value || line_meta.key;
    end
  end
  assign request_valid_o = request_valid_q;

  ////////////////////////////////////////////////////////////////////////
  // The body: from one of three offsets of the second word, or after a verb in the first.

  length_t left_q, left;  // bytes of the body, or of the line, from the held word on
  logic [7:0] key_left_q;
  typedef enum logic [1:0] {
    AfterHeaders = 2'd0,
    AfterExpiry  = 2'd1,
    AfterFlags   = 2'd2,
    AfterVerb    = 2'd3
  } offset_e;
  localparam int unsigned LineWidth = WordWidth + 8;  // a word and the next byte
  offset_e offset_q, offset_d;
  logic [2*WordWidth-1:0] two;
  logic [3:0][LineWidth-1:0] lines;
  logic [LineWidth-1:0] line;
  assign offset_d = is_line ? AfterVerb : writes ? AfterFlags : touches ? AfterExpiry : AfterHeaders;
  assign two = {word_i.data, held_q.data};
  always_comb begin
    lines[MetaLine] = two[8*(LineStart+MetaBytes)+:LineWidth];
    lines[GetsLine] = two[8*(LineStart+GetsBytes)+:LineWidth];
    lines[GetLine]  = two[8*(LineStart+GetBytes)+:LineWidth];
    lines[Binary]   = lines[GetLine];
  end
  word_mux #(
      .Width(LineWidth)
  ) u_line_mux (
      .select_i(first_q ? request.protocol : request_q.protocol),
      .words_i (lines),
      .word_o  (line)
  );
  word_mux #(
      .Width(WordWidth)
  ) u_body_mux (
      .select_i(first_q ? offset_d : offset_q),
      .words_i ({
        line[WordWidth-1:0],
        two[8*(Start+WriteExtras)+:WordWidth],
        two[8*(Start+TouchExtras)+:WordWidth],
        two[8*Start+:WordWidth]
      }),
      .word_o  (body_o)
  );

  localparam int unsigned CountWidth = $clog2(WordBytes) + 1;
  logic line_key, line_key_last;
  logic [CountWidth-1:0] line_key_bytes;
  kv_line u_line (
      .clk_i,
      .rst_ni,
      .step_i      (leaves && passes_line),
      .first_i     (first_q),
      .has_flags_i (request_q.protocol == MetaLine),
      .word_i      (line),
      .left_i      (left),
      .key_o       (line_key),
      .key_bytes_o (line_key_bytes),
      .key_last_o  (line_key_last),
      .valid_o     (line_valid),
      .key_length_o(line_key_length),
      .meta_o      (line_meta)
  );

  always_comb begin
    left = left_q;
    if (first_q) left = is_line ? length_t'(line_length) : '0;
    emits = passes_line ? line_key : left != '0;
    body_last_o = passes_line ? line_key_last : left <= length_t'(WordBytes);
    body_key_last_o = passes_line ? line_key_last : key_left_q != '0 && key_left_q <= 8'(WordBytes);
    body_key_o = key_left_q > 8'(WordBytes) ? CountWidth'(WordBytes) : CountWidth'(key_left_q);
    if (passes_line) body_key_o = line_key_bytes;
  end
  assign body_valid_o = leaves && emits;

  length_t left_d;
  logic [7:0] key_left_d;
  always_comb begin
    left_d = left <= length_t'(WordBytes) ? '0 : left - length_t'(WordBytes);
    key_left_d = key_left_q <= 8'(WordBytes) ? '0 : key_left_q - 8'(WordBytes);
    if (first_q && !is_line) begin
      left_d = request.taken ? request.body_length : '0;
      key_left_d = request.taken ? request.key_length : '0;
    end
  end
  `FFNE(offset_q, offset_d, leaves && first_q)
  `FFE(left_q, left_d, leaves, '0)
  `FFE(key_left_q, key_left_d, leaves, '0)

  // A packet is as long as UDP's header says.
  `ASSUME(packets_are_whole, !(leaves && held_q.last) || left <= length_t'(WordBytes))
  `ASSERT(a_key_is_in_the_body, first_q || length_t'(key_left_q) <= left_q)

  logic unused_fields;
  assign unused_fields = ^{swapped, packet, header, two, line_length};
endmodule
