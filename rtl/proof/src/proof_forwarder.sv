// Forwards requests to the host unmodified: the stored part, then zeros.

`include "assertions.svh"
`include "registers.svh"

module proof_forwarder
  import wire_pkg::*;
  import proof_pkg::*;
#(
    parameter int unsigned SlotWidth = 6,
    parameter int unsigned PortWidth = 3,
    parameter int unsigned IdWidth = 6
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // Misses, and requests whose replies are too large, which take no fill.
    input  logic                 miss_valid_i,
    output logic                 miss_ready_o,
    input  logic [SlotWidth-1:0] miss_slot_i,
    input  logic                 miss_fill_i,
    input  logic [  IdWidth-1:0] miss_id_i,
    input  logic                 large_valid_i,
    output logic                 large_ready_o,
    input  logic [SlotWidth-1:0] large_slot_i,
    // The length is valid with the slot, the request a cycle later.
    output logic [SlotWidth-1:0] slot_o,
    input  logic [         10:0] length_i,
    input  request_t             request_i,
    input  logic [PortWidth-1:0] request_port_i,
    output logic                 free_o,
    output logic [SlotWidth-1:0] free_slot_o,
    output logic                 valid_o,
    input  logic                 ready_i,
    output word_t                word_o,
    output logic [PortWidth-1:0] port_o,
    output logic                 fill_o,
    output logic [  IdWidth-1:0] id_o
);

  typedef enum logic [2:0] {
    StateIdle,
    StateSlot,  // read the request
    StateRead,  // register it, as its memory may be far away
    StateHead,  // send the first word
    StateTail   // send the other words
  } state_e;

  state_e state_q;
  logic begins, moves, fill_q;
  logic [SlotWidth-1:0] slot_q;
  logic [IdWidth-1:0] id_q;
  logic [10:0] left_q;  // bytes of this word and of those after it
  logic last_q, tail_first_q;
  logic [RequestBits-1:0] head_q;

  // A miss is also accepted while the last word of the previous request leaves.
  assign begins = large_valid_i ? state_q == StateIdle : miss_valid_i && miss_ready_o;
  assign large_ready_o = state_q == StateIdle;
  assign miss_ready_o = !large_valid_i && (state_q == StateIdle || free_o);
  assign slot_o = slot_q;
  `FFNE(slot_q, large_valid_i ? large_slot_i : miss_slot_i, begins)
  `FFNE(fill_q, miss_fill_i && !large_valid_i, begins)
  `FFNE(id_q, miss_id_i, begins)

  assign valid_o = state_q == StateHead || state_q == StateTail;
  assign moves = valid_o && ready_i;
  assign fill_o = fill_q;
  assign id_o = id_q;

  // A request has at least two words, so the last one is known ahead.
  `FFNE(left_q, state_q == StateSlot ? length_i : left_q - 11'(WordBytes), state_q == StateSlot || moves)
  `FFNE(last_q, state_q != StateSlot && left_q <= 11'(2 * WordBytes), state_q == StateSlot || moves)
  `FFNE(tail_first_q, state_q == StateHead, moves)
  `FFNE(head_q, request_i.head, state_q == StateRead)
  `FFNE(port_o, request_port_i, state_q == StateRead)
  always_comb begin
    word_o.last = last_q;
    word_o.keep = word_o.last ? ~64'd0 >> (6'd0 - left_q[5:0]) : '1;
    word_o.data = '0;
    if (state_q == StateHead) word_o.data = head_q[WordWidth-1:0];
    else if (tail_first_q) word_o.data[0+:RequestBits-WordWidth] = head_q[RequestBits-1:WordWidth];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StateIdle;
    else if (begins) state_q <= StateSlot;
    else if (state_q == StateSlot) state_q <= StateRead;
    else if (state_q == StateRead) state_q <= StateHead;
    else if (moves) state_q <= last_q ? StateIdle : StateTail;
  end
  assign free_o = moves && last_q;
  assign free_slot_o = slot_q;

  `ASSUME(requests_have_two_words, state_q != StateSlot || length_i > 11'(WordBytes))
  `ASSERT(last_is_told, !valid_o || last_q == (left_q <= 11'(WordBytes)))
endmodule
