// Transmit side of a port: arbitrates packets of several sources, each sent without a gap, at the port's width.

`include "assertions.svh"

module nic_egress
  import wire_pkg::*;
#(
    parameter int unsigned DataWidth = 64,
    parameter int unsigned UserWidth = 1,
    parameter int unsigned Sources = 4,
    parameter int unsigned Depth = 32,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned SourceWidth = Sources > 1 ? $clog2(Sources) : 1
) (
    input  logic                               clk_i,
    input  logic                               rst_ni,
    // See packet_fifo; dropped_user_o is the dropped packet's user.
    input  logic                               drop_i,
    output logic                               dropped_o,
    output logic  [UserWidth-1:0]              dropped_user_o,
    input  logic  [Sources-1:0]                valid_i,
    output logic  [Sources-1:0]                ready_o,
    input  word_t [Sources-1:0]                word_i,
    // The same for all words of a packet.
    input  logic  [Sources-1:0][UserWidth-1:0] user_i,
    output logic                               valid_o,
    input  logic                               ready_i,
    output logic  [DataWidth-1:0]              data_o,
    output logic  [KeepWidth-1:0]              keep_o,
    output logic                               last_o,
    output logic  [UserWidth-1:0]              user_o
);
  `PARAMETER_CHECK(width, DataWidth inside {64, 128, 256, 512}, "nic_egress: DataWidth must be 64, 128, 256 or 512")

  logic [Sources-1:0][WordWidth-1:0] data;
  logic [Sources-1:0][WordBytes-1:0] keep;
  logic [Sources-1:0] last;
  for (genvar source = 0; source < Sources; source++) begin : gen_source
    assign {last[source], keep[source], data[source]} = word_i[source];
  end

  logic chosen_valid, chosen_ready, whole_valid, whole_ready;
  logic [SourceWidth-1:0] chosen;
  word_t chosen_word, whole;
  logic [UserWidth-1:0] whole_user;
  stream_arbiter #(
      .DataWidth(WordWidth),
      .Ports    (Sources)
  ) u_arbiter (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i (data),
      .keep_i (keep),
      .last_i (last),
      .valid_o(chosen_valid),
      .ready_i(chosen_ready),
      .data_o (chosen_word.data),
      .keep_o (chosen_word.keep),
      .last_o (chosen_word.last),
      .port_o (chosen)
  );
  assign dropped_user_o = user_i[chosen];
  packet_fifo #(
      .UserWidth(UserWidth),
      .Depth    (Depth)
  ) u_packets (
      .clk_i,
      .rst_ni,
      .drop_i,
      .dropped_o,
      .valid_i(chosen_valid),
      .ready_o(chosen_ready),
      .word_i (chosen_word),
      .user_i (user_i[chosen]),
      .valid_o(whole_valid),
      .ready_i(whole_ready),
      .word_o (whole),
      .user_o (whole_user)
  );
  stream_narrow #(
      .WideWidth(WordWidth),
      .DataWidth(DataWidth)
  ) u_narrow (
      .clk_i,
      .rst_ni,
      .valid_i(whole_valid),
      .ready_o(whole_ready),
      .data_i (whole.data),
      .keep_i (whole.keep),
      .last_i (whole.last),
      .valid_o,
      .ready_i,
      .data_o,
      .keep_o,
      .last_o
  );
  always_ff @(posedge clk_i) begin
    if (whole_valid && whole_ready) user_o <= whole_user;
  end
endmodule
