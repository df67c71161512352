// Fourth stage: joins the waiting packets with their results, in order, and makes the replies. Latency: 4 cycles from
// the result.
//
// A result is accepted only if there is room for its reply, and then advances in every cycle, so no signal needs to
// stall 512-bit packets. Its packet is taken a cycle later.

`include "assertions.svh"
`include "registers.svh"

module packet_generator
  import wire_pkg::*;
  import transfer_pkg::*;
#(
    parameter int unsigned PortWidth = 3
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    result_valid_i,
    output logic                    result_ready_o,
    input  status_e                 status_i,
    input  logic    [         31:0] value_i,
    input  logic    [PortWidth-1:0] port_i,
    input  logic                    packet_valid_i,
    output logic                    packet_ready_o,
    input  packet_t                 packet_i,
    output logic                    valid_o,
    input  logic                    ready_i,
    output word_t                   word_o,
    output logic    [PortWidth-1:0] port_o
);
  // Replies in flight: 3 cycles in the pipeline, one in the queue, one until its departure is known. The rest is slack
  // for the receiver, free in distributed RAM.
  localparam int unsigned Replies = 16;
  localparam int unsigned Stages = 3;
  typedef logic [$clog2(Replies+1)-1:0] count_t;
  logic [Stages:1] valid_q;
  logic [Stages:1][PortWidth-1:0] port_q;
  logic [31:0] value_q;
  status_e status_q;
  logic taken, given, queue_ready;
  count_t under_way_q, queued;
  packet_t reply, queued_reply;

  assign result_ready_o = under_way_q != count_t'(Replies);
  assign taken = result_valid_i && result_ready_o;
  assign given = valid_o && ready_i;
  `FFE(under_way_q, taken ? under_way_q + 1'b1 : under_way_q - 1'b1, taken != given, '0)
  `FF(valid_q, {valid_q[Stages-1:1], taken}, '0)
  `FFN(port_q, {port_q[Stages-1:1], port_i})
  `FFN(value_q, value_i)
  `FFN(status_q, status_i)

  assign packet_ready_o = valid_q[1];
  reply_builder u_builder (
      .clk_i,
      .request_i(packet_i),
      .value_i  (value_q),
      .status_i (16'(status_q)),
      .reply_o  (reply)
  );
  fifo #(
      .Width($bits(packet_t) + PortWidth),
      .Depth(Replies)
  ) u_replies (
      .clk_i,
      .rst_ni,
      .valid_i(valid_q[Stages]),
      .ready_o(queue_ready),
      .data_i ({port_q[Stages], reply}),
      .valid_o,
      .ready_i,
      .data_o ({port_o, queued_reply}),
      .count_o(queued)
  );
  assign word_o = '{last: 1'b1, keep: '1, data: swap_bytes(queued_reply)};

  `ASSERT(results_have_packets, !packet_ready_o || packet_valid_i)
  `ASSERT(replies_have_room, !valid_q[Stages] || queue_ready)
  `ASSERT(under_way_is_counted, under_way_q >= queued)
endmodule
