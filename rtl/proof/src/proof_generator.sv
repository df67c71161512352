// Fourth stage for proof frames: sends the request's first 90 bytes with the headers of a reply, then the body from the
// cache. checksum_writer fills in the UDP checksum, which is zero here.
//
// If a reply is too large for its client, the request goes where misses go, and the host reports the length. Sends one
// word per cycle, with two cycles between replies to read the request and update its checksum.

`include "assertions.svh"
`include "registers.svh"

module proof_generator
  import frame_pkg::*;
  import wire_pkg::*;
  import proof_pkg::*;
#(
    parameter int unsigned SlotWidth = 6,
    parameter int unsigned PortWidth = 3,
    parameter int unsigned LenWidth = 11
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // From the cache.
    input  logic                 body_valid_i,
    output logic                 body_ready_o,
    input  word_t                body_i,
    input  logic [SlotWidth-1:0] body_slot_i,
    input  logic [ LenWidth-1:0] body_length_i,
    input  logic                 body_too_large_i,
    // The request, a cycle after its slot.
    output logic [SlotWidth-1:0] slot_o,
    input  request_t             request_i,
    input  logic [PortWidth-1:0] request_port_i,
    // The slot is free again.
    output logic                 free_o,
    // Too large: the slot is freed after forwarding.
    output logic                 large_valid_o,
    input  logic                 large_ready_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output word_t                word_o,
    output logic [PortWidth-1:0] port_o,
    output logic                 none_o
);
  // Bytes of the second word that the request takes, and bytes of each body word that move to the next word.
  localparam int unsigned HeadBytes = RequestBits / 8 - WordBytes;
  localparam int unsigned FrontBytes = WordBytes - HeadBytes;

  typedef enum logic [2:0] {
    StateIdle,  // read the request
    StateSum,   // register it, as its memory may be far away
    StateHead,  // send the first word
    StateBody,  // send words that end with body bytes
    StateRest   // send the rest of the last body word
  } state_e;

  state_e state_q, state_d;
  logic moves, rests;
  logic [8*HeadBytes-1:0] rest_q, rest_d;
  logic [HeadBytes-1:0] rest_keep_q, rest_keep_d;

  assign slot_o = body_slot_i;
  assign large_valid_o = state_q == StateIdle && body_valid_i && body_too_large_i;
  assign valid_o = state_q == StateHead || state_q == StateRest || (state_q == StateBody && body_valid_i);
  assign moves = valid_o && ready_i;
  assign body_ready_o = (state_q == StateBody && ready_i) || (large_valid_o && large_ready_i);
  // The body's last word does not fit.
  assign rests = body_i.keep[FrontBytes];

  // First word of the reply.
  packet_t request, reply;
  proof_request_t frame;
  logic [RequestBits-1:0] head_q;
  logic [15:0] length_q;
  logic [1:0][15:0] sum_q;
  `FFN(length_q, 16'(body_length_i) + 16'd76)
  `FFN(sum_q, save(request_i.sum[1], request_i.sum[0], length_q))
  `FFNE(head_q, request_i.head, state_q == StateSum)
  `FFNE(port_o, request_port_i, state_q == StateSum)
  always_comb begin
    request = swap_bytes(head_q[WordWidth-1:0]);
    reply = swap_addresses(request);
    reply.ipv4.length = length_q;
    reply.ipv4.checksum = ~add(sum_q[1], sum_q[0]);
    reply.udp.length = length_q - 16'd20;
    reply.udp.checksum = '0;
    frame = request.compact[$bits(compact_frame_t)-1-:$bits(proof_request_t)];
    frame.header.kind |= protocol_pkg::ReplyBit;
    frame.body_length = 32'(body_length_i);
    reply.compact[$bits(compact_frame_t)-1-:$bits(proof_request_t)] = frame;
  end

  assign none_o = request.udp.checksum == '0;

  assign rest_d = state_q == StateHead ? head_q[RequestBits-1:WordWidth] : body_i.data[WordWidth-1:8*FrontBytes];
  assign rest_keep_d = state_q == StateHead ? '1 : body_i.keep[WordBytes-1:FrontBytes];
  `FFNE(rest_q, rest_d, moves)
  `FFNE(rest_keep_q, rest_keep_d, moves)

  always_comb begin
    state_d = state_q;
    word_o.data = {body_i.data[8*FrontBytes-1:0], rest_q};
    word_o.keep = {body_i.keep[FrontBytes-1:0], rest_keep_q};
    word_o.last = body_i.last && !rests;
    unique case (state_q)
      StateIdle: if (body_valid_i && !body_too_large_i) state_d = StateSum;
      StateSum:  state_d = StateHead;
      StateHead: begin
        word_o = '{last: 1'b0, keep: '1, data: swap_bytes(reply)};
        if (moves) state_d = StateBody;
      end
      StateBody: if (moves && body_i.last) state_d = rests ? StateRest : StateIdle;
      StateRest: begin
        word_o.data = WordWidth'(rest_q);
        word_o.keep = WordBytes'(rest_keep_q);
        word_o.last = 1'b1;
        if (moves) state_d = StateIdle;
      end
      default:   state_d = StateIdle;
    endcase
  end
  `FF(state_q, state_d, StateIdle)
  assign free_o = state_q == StateBody && moves && body_i.last;

  `ASSERT(words_are_full, !(moves && !word_o.last) || word_o.keep == '1)
endmodule
