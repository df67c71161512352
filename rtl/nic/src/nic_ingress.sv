// Receive side of a port: turns a stream of any width into complete packets in words of 64 bytes.

`include "assertions.svh"

module nic_ingress
  import wire_pkg::*;
#(
    parameter int unsigned DataWidth = 64,
    parameter int unsigned UserWidth = 1,
    parameter int unsigned Depth = 32,
    localparam int unsigned KeepWidth = DataWidth / 8
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // See packet_fifo.
    input  logic                 drop_i,
    output logic                 dropped_o,
    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [DataWidth-1:0] data_i,
    input  logic [KeepWidth-1:0] keep_i,
    input  logic                 last_i,
    // The same for all words of a packet.
    input  logic [UserWidth-1:0] user_i,
    output logic                 valid_o,
    input  logic                 ready_i,
    output word_t                word_o,
    output logic [UserWidth-1:0] user_o
);
  `PARAMETER_CHECK(width, DataWidth inside {64, 128, 256, 512}, "nic_ingress: DataWidth must be 64, 128, 256 or 512")

  logic valid, ready;
  word_t word;
  logic [UserWidth-1:0] user_q;
  stream_widen #(
      .DataWidth(DataWidth),
      .WideWidth(WordWidth)
  ) u_widen (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i,
      .keep_i,
      .last_i,
      .valid_o(valid),
      .ready_i(ready),
      .data_o (word.data),
      .keep_o (word.keep),
      .last_o (word.last)
  );
  // The word being gathered belongs to the packet of the last accepted word.
  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) user_q <= user_i;
  end
  packet_fifo #(
      .UserWidth(UserWidth),
      .Depth    (Depth)
  ) u_packets (
      .clk_i,
      .rst_ni,
      .drop_i,
      .dropped_o,
      .valid_i(valid),
      .ready_o(ready),
      .word_i (word),
      .user_i (user_q),
      .valid_o,
      .ready_i,
      .word_o,
      .user_o
  );
endmodule
