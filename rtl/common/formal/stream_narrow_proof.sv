// Proof of stream_narrow: packet_properties around it, plus invariants that link the word being cut to the bytes
// inside.

`include "assertions.svh"

module stream_narrow_proof #(
    parameter int unsigned WideWidth = 64,
    parameter int unsigned DataWidth = 16
) (
    input logic                   clk_i,
    input logic                   rst_ni,
    input logic                   follow_i,
    input logic [            7:0] index_i,
    input logic                   valid_i,
    input logic [  WideWidth-1:0] data_i,
    input logic [WideWidth/8-1:0] keep_i,
    input logic                   last_i,
    input logic                   ready_i
);
  `PROOF_RESET

  logic ready_o, valid_o, last_o;
  logic [DataWidth-1:0] data_o;
  logic [DataWidth/8-1:0] keep_o;

  stream_narrow #(
      .WideWidth(WideWidth),
      .DataWidth(DataWidth)
  ) u_narrow (
      .*
  );
  packet_properties #(
      .InWidth (WideWidth),
      .OutWidth(DataWidth)
  ) u_properties (
      .*
  );

  logic [7:0] left;
  always_comb begin
    left = '0;
    for (int unsigned at = 0; at < WideWidth / 8; at++) left += 8'(u_narrow.keep_q[at]);
  end

  `ASSERT(count_is_real, u_properties.count_q == (valid_o ? left : 8'd0))
  `ASSERT(left_are_lowest, !valid_o || (u_narrow.keep_q & (u_narrow.keep_q + 1'b1)) == '0)
  `ASSERT(left_are_whole, !valid_o || u_narrow.last_q || left % 8'(DataWidth / 8) == '0)
  `ASSERT(followed_is_left, !u_properties.following_q ||
          8'(u_narrow.data_q >> (8 * u_properties.ahead_q)) == u_properties.followed_q)
  `ASSERT(ends_with_the_last, !(u_properties.following_q && u_properties.ahead_q + 8'd1 == left) ||
          u_narrow.last_q == u_properties.ended_q)
  `ASSERT(only_the_last_ends, !(u_properties.following_q && u_properties.ended_q) || u_properties.ahead_q + 8'd1 == left)
endmodule
