// The fourth stage: joins the packets that wait with their results, in order, and makes the replies. Latency 3 cycles.

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
    input  logic                    packet_valid_i,
    output logic                    packet_ready_o,
    input  packet_t                 packet_i,
    input  logic    [PortWidth-1:0] port_i,
    input  logic                    result_valid_i,
    output logic                    result_ready_o,
    input  status_e                 status_i,
    input  logic    [         31:0] value_i,
    output logic                    valid_o,
    input  logic                    ready_i,
    output word_t                   word_o,
    output logic    [PortWidth-1:0] port_o
);
  localparam int unsigned Stages = 3;
  logic [Stages:1] valid_q;
  logic [Stages:1][PortWidth-1:0] port_q;
  logic move;
  packet_t reply;

  assign move = !valid_o || ready_i;
  // Where there is a result, its packet waits.
  assign packet_ready_o = move && result_valid_i;
  assign result_ready_o = move;
  `FFE(valid_q, {valid_q[Stages-1:1], result_valid_i}, move, '0)
  `FFNE(port_q, {port_q[Stages-1:1], port_i}, move)

  reply_builder u_builder (
      .clk_i,
      .move_i   (move),
      .request_i(packet_i),
      .value_i,
      .status_i (16'(status_i)),
      .reply_o  (reply)
  );

  assign valid_o = valid_q[Stages];
  assign word_o  = '{last: 1'b1, keep: '1, data: swap_bytes(reply)};
  assign port_o  = port_q[Stages];

  `ASSERT(results_have_packets, !result_valid_i || packet_valid_i)
endmodule
