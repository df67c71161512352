// Preprocessor of the hash table paper (section 4): extracts the key and the other operands from a packet. The packet
// goes on, to wait for the result.
//
// A packet is a UDP datagram whose headers, lengths and checksums have already been checked, as packet_selector does.
// GET, SET, REPLACE and DELETE of memcached's binary protocol with keys of up to 16 bytes become requests. Everything
// else passes in order as no request. Keys are padded with zeros in the table, so a key that ends in a zero byte is not
// accepted either.

`include "registers.svh"

module table_preprocessor
  import wire_pkg::*;
  import memcached_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned Classes     = 4,
    // Size of a block of the first class; each further class is four times as large.
    parameter int unsigned BlockBytes  = 64,
    localparam int unsigned ClassWidth = $clog2(Classes)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic [          31:0] now_i,
    input  logic                  valid_i,
    output logic                  ready_o,
    input  word_t                 word_i,
    // Every word.
    output logic                  word_valid_o,
    input  logic                  word_ready_i,
    // For every packet, two cycles after its second (or only) word: whether it is a request.
    output logic                  packet_valid_o,
    input  logic                  packet_ready_i,
    output logic                  packet_taken_o,
    // Request.
    output logic                  request_valid_o,
    input  logic                  request_ready_i,
    output op_e                   request_op_o,
    output logic [         127:0] request_key_o,     // first byte in the lowest bits
    output logic [ClassWidth-1:0] request_class_o,   // the smallest class that fits
    output logic [          15:0] request_length_o,  // of the value, in bytes
    output logic [          31:0] request_expiry_o
);
  localparam int unsigned KeyBytes = 16;
  // Start of the body: after the headers of Ethernet, IPv4, UDP, the datagram and the request.
  localparam int unsigned BodyByte = 14 + 20 + 8 + 8 + 24;
  localparam int unsigned ExtrasBytes = WriteExtras;
  // UDP's length includes the headers of UDP, the datagram and the request.
  localparam logic [31:0] HeaderBytes = 32'd40;

  // Extras of SET and REPLACE; GET and DELETE have none.
  typedef struct packed {
    logic [31:0] flags;
    logic [31:0] expiration;
  } extras_t;

  localparam logic [7:0] OpcodeGet = 8'h00;
  localparam logic [7:0] OpcodeSet = 8'h01;
  localparam logic [7:0] OpcodeReplace = 8'h03;
  localparam logic [7:0] OpcodeDelete = 8'h04;

  typedef struct packed {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    datagram_t datagram;
    message_t header;
    extras_t extras;
  } request_t;

  ////////////////////////////////////////////////////////////////////////
  // First cycle, with the second (or only) word: sums of lengths, whose fields are in the first word.

  logic first_q, second_q, decides, moves, facts_ready;
  logic [WordWidth-1:0] data_q;
  logic [2*WordWidth-1:0] swapped;
  request_t request;
  message_t header;
  assign swapped = {swap_bytes(data_q), swap_bytes(word_i.data)};
  assign request = swapped[2*WordWidth-1-:$bits(request_t)];
  assign header  = request.header;

  typedef struct packed {
    op_e                                 op;
    logic                                stores;
    logic                                has_form;     // well-formed, apart from the value's length
    logic [KeyBytes-1:0]                 has_byte;     // bytes that belong to the key
    logic [31:0]                         value_bytes;
    logic [31:0]                         expiration;
    logic [8*(ExtrasBytes+KeyBytes)-1:0] body;
    logic [ExtrasBytes+KeyBytes-1:0]     zeros;        // bytes of the body that are zero
  } facts_t;
  facts_t facts_d, facts_q;

  logic is_known, is_whole, is_plain;
  always_comb begin
    is_known = 1'b1;
    facts_d.op = OpGet;
    case (header.opcode)
      OpcodeGet: facts_d.op = OpGet;
      OpcodeSet: facts_d.op = OpInsert;
      OpcodeReplace: facts_d.op = OpUpdate;
      OpcodeDelete: facts_d.op = OpDelete;
      default: is_known = 1'b0;
    endcase
  end
  assign facts_d.stores = facts_d.op inside {OpInsert, OpUpdate};
  assign is_whole = 32'(request.udp.length) == header.body_length + HeaderBytes &&
      request.datagram.sequence_number == '0 && request.datagram.datagrams == 16'd1 &&
      header.extras_length == (facts_d.stores ? 8'(ExtrasBytes) : 8'd0);
  // Nothing that the table cannot store.
  assign is_plain = header.magic == RequestMagic && header.data_type == '0 && header.cas == '0 &&
      header.key_length != '0 && header.key_length <= 16'(KeyBytes);
  assign facts_d.has_form = second_q && is_known && is_whole && is_plain;
  for (genvar b = 0; b < KeyBytes; b++) begin : gen_has
    assign facts_d.has_byte[b] = 32'(header.key_length[4:0]) > b;
  end
  assign facts_d.value_bytes = header.body_length - 32'(header.extras_length) - 32'(header.key_length);
  assign facts_d.expiration = request.extras.expiration;
  logic [2*WordWidth-1:0] packet;
  assign packet = {word_i.data, data_q};
  assign facts_d.body = packet[8*BodyByte+:8*(ExtrasBytes+KeyBytes)];
  for (genvar b = 0; b < ExtrasBytes + KeyBytes; b++) begin : gen_zero
    assign facts_d.zeros[b] = facts_d.body[8*b+:8] == '0;
  end

  assign decides = second_q || (first_q && word_i.last);
  assign ready_o = word_ready_i && (!decides || facts_ready);
  assign moves = valid_i && ready_o;
  assign word_valid_o = moves;

  // The later stages' backpressure does not reach the words combinationally.
  logic facts_valid, verdict_ready;
  skid #(
      .Width($bits(facts_t))
  ) u_facts (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && word_ready_i && decides),
      .ready_o(facts_ready),
      .data_i (facts_d),
      .valid_o(facts_valid),
      .ready_i(verdict_ready),
      .data_o (facts_q)
  );

  ////////////////////////////////////////////////////////////////////////
  // Second cycle: the value's class, the key, the expiry.

  typedef struct packed {
    logic                  taken;
    op_e                   op;
    logic [127:0]          key;
    logic [ClassWidth-1:0] value_class;
    logic [15:0]           length;
    logic [31:0]           expiry;
  } verdict_t;
  verdict_t verdict_d, verdict_q;

  logic has_room, fits;
  always_comb begin
    has_room = 1'b0;
    verdict_d.value_class = '0;
    for (int unsigned c = Classes; c > 0; c--) begin
      if (facts_q.value_bytes <= 32'(BlockBytes) << (2 * (c - 1))) begin
        has_room = 1'b1;
        verdict_d.value_class = ClassWidth'(c - 1);
      end
    end
  end
  // A negative length is too large for any class.
  assign fits = facts_q.stores ? has_room : facts_q.value_bytes == '0;
  assign verdict_d.op = facts_q.op;
  assign verdict_d.length = facts_q.value_bytes[15:0];
  assign verdict_d.expiry = facts_q.stores ? expiry_at(now_i, facts_q.expiration) : '0;

  // The key starts at one of two offsets.
  logic [8*KeyBytes-1:0] window;
  logic [KeyBytes-1:0] zeros, last_byte;
  logic ends_in_zero;
  assign window = facts_q.stores ? facts_q.body[8*ExtrasBytes+:8*KeyBytes] : facts_q.body[8*KeyBytes-1:0];
  assign zeros  = facts_q.stores ? facts_q.zeros[ExtrasBytes+:KeyBytes] : facts_q.zeros[KeyBytes-1:0];
  always_comb begin
    for (int unsigned at = 0; at < KeyBytes; at++) verdict_d.key[8*at+:8] = window[8*at+:8] & {8{facts_q.has_byte[at]}};
  end
  assign last_byte = facts_q.has_byte & ~(facts_q.has_byte >> 1);
  assign ends_in_zero = |(last_byte & zeros);

  assign verdict_d.taken = facts_q.has_form && fits && !ends_in_zero;

  ////////////////////////////////////////////////////////////////////////
  // Third cycle: the packet goes to the waiting packets, with its request to the table.

  logic verdict_valid;
  skid #(
      .Width($bits(verdict_t))
  ) u_verdict (
      .clk_i,
      .rst_ni,
      .valid_i(facts_valid),
      .ready_o(verdict_ready),
      .data_i (verdict_d),
      .valid_o(verdict_valid),
      .ready_i(packet_ready_i && (!verdict_q.taken || request_ready_i)),
      .data_o (verdict_q)
  );
  assign packet_valid_o = verdict_valid && (!verdict_q.taken || request_ready_i);
  assign packet_taken_o = verdict_q.taken;
  assign request_valid_o = verdict_valid && verdict_q.taken && packet_ready_i;
  assign request_op_o = verdict_q.op;
  assign request_key_o = verdict_q.key;
  assign request_class_o = verdict_q.value_class;
  assign request_length_o = verdict_q.length;
  assign request_expiry_o = verdict_q.expiry;

  `FFE(first_q, word_i.last, moves, 1'b1)
  `FFE(second_q, first_q && !word_i.last, moves, 1'b0)
  `FFNE(data_q, word_i.data, moves)

  logic unused_fields;
  assign unused_fields = ^{swapped, request, header, packet, word_i.keep};
endmodule
