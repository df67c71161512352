// Hash table at line rate: packets in, packets out in the same order, each with the table's result. The pipeline of the
// hash table paper (figure 3), with a queue of value addresses per size class.
//
//     packets -> table_preprocessor -> packet buffer ------------------------> packets and results
//                          |                                                    ^
//                          +-> table_store: control, hash, engine, addresses ---+
//
// A result names the value's block and length. The user stores the value of a SET there and reads the value of a GET
// from there, in packet order; so a block that one key frees and another allocates is never read or written out of
// turn. A packet that is not a request passes in order, with taken_o low.

`include "assertions.svh"

module table_packets
  import wire_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned Buckets    = 512,  // see table_store
    parameter int unsigned Classes    = 4,
    parameter int unsigned Blocks     = 256,
    parameter int unsigned BlockBytes = 64,   // see table_preprocessor
    // Words that wait for results: about 18 arrive during the table's latency.
    parameter int unsigned Depth      = 32,
    localparam int unsigned KeyBytes = 16,
    localparam int unsigned LengthWidth = 16,
    localparam int unsigned ClassWidth = $clog2(Classes),
    localparam int unsigned BlockWidth = $clog2(Blocks),
    localparam int unsigned ValueWidth = ClassWidth + BlockWidth + LengthWidth,
    localparam int unsigned CountWidth = $clog2(2 * 8 * Buckets + 16 + 1)
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    input  logic    [     3:0][63:0]   secrets_i,
    input  logic    [          31:0]   now_i,
    input  logic                       valid_i,
    output logic                       ready_o,
    input  word_t                      word_i,
    // The same for all words of a packet.
    output logic                       valid_o,
    input  logic                       ready_i,
    output word_t                      word_o,
    output logic                       taken_o,
    output status_e                    status_o,
    output logic    [ValueWidth-1:0]   value_o,    // {class, block, length}
    output logic    [CountWidth-1:0]   count_o
);
  typedef struct packed {
    op_e                     op;
    logic [8*KeyBytes-1:0]   key;
    logic [ClassWidth-1:0]   kind;
    logic [LengthWidth-1:0]  length;
    logic [31:0]             expiry;
  } request_t;

  logic word_valid, word_ready, packet_valid, packet_ready, packet_taken, request_valid, request_ready;
  request_t request;
  table_preprocessor #(
      .Classes   (Classes),
      .BlockBytes(BlockBytes)
  ) u_preprocessor (
      .clk_i,
      .rst_ni,
      .now_i,
      .valid_i,
      .ready_o,
      .word_i,
      .word_valid_o    (word_valid),
      .word_ready_i    (word_ready),
      .packet_valid_o  (packet_valid),
      .packet_ready_i  (packet_ready),
      .packet_taken_o  (packet_taken),
      .request_valid_o (request_valid),
      .request_ready_i (request_ready),
      .request_op_o    (request.op),
      .request_key_o   (request.key),
      .request_class_o (request.kind),
      .request_length_o(request.length),
      .request_expiry_o(request.expiry)
  );

  logic result_valid, result_ready, unused_tag;
  table_store #(
      .KeyBytes   (KeyBytes),
      .TagWidth   (1),
      .Buckets    (Buckets),
      .Classes    (Classes),
      .Blocks     (Blocks),
      .LengthWidth(LengthWidth)
  ) u_table (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .now_i,
      .request_valid_i (request_valid),
      .request_ready_o (request_ready),
      .request_op_i    (request.op),
      .request_key_i   (request.key),
      .request_value_i ({request.kind, BlockWidth'(0), request.length}),
      .request_expiry_i(request.expiry),
      .request_tag_i   (1'b0),
      .result_valid_o  (result_valid),
      .result_ready_i  (result_ready),
      .result_status_o (status_o),
      .result_value_o  (value_o),
      .result_tag_o    (unused_tag),
      .count_o
  );

  // The packets, and which of them get a result. Both queues have an output register, because the decision to send a
  // result depends on what is read there.
  logic word_here, next_valid, next_ready, next_taken, order_valid, moves;
  logic [$clog2(Depth+1)-1:0] unused_packets;
  ram_fifo #(
      .Width($bits(word_t)),
      .Depth(Depth)
  ) u_buffer (
      .clk_i,
      .rst_ni,
      .valid_i(word_valid),
      .ready_o(word_ready),
      .data_i (word_i),
      .valid_o(word_here),
      .ready_i(moves),
      .data_o (word_o)
  );
  fifo #(
      .Width(1),
      .Depth(Depth)
  ) u_order (
      .clk_i,
      .rst_ni,
      .valid_i(packet_valid),
      .ready_o(packet_ready),
      .data_i (packet_taken),
      .valid_o(next_valid),
      .ready_i(next_ready),
      .data_o (next_taken),
      .count_o(unused_packets)
  );
  stage #(
      .Width(1)
  ) u_taken (
      .clk_i,
      .rst_ni,
      .valid_i(next_valid),
      .ready_o(next_ready),
      .data_i (next_taken),
      .valid_o(order_valid),
      .ready_i(moves && word_o.last),
      .data_o (taken_o)
  );
  assign valid_o = word_here && order_valid && (!taken_o || result_valid);
  assign moves = valid_o && ready_i;
  assign result_ready = moves && taken_o && word_o.last;

  `ASSERT(results_have_packets, !result_valid || order_valid)
endmodule
