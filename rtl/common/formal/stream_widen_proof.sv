// Proof of stream_widen: packet_properties around it, plus invariants that link the word being gathered to the bytes
// inside.

`include "assertions.svh"

module stream_widen_proof #(
    parameter int unsigned DataWidth = 16,
    parameter int unsigned WideWidth = 64
) (
    input logic                   clk_i,
    input logic                   rst_ni,
    input logic                   follow_i,
    input logic [            7:0] index_i,
    input logic                   valid_i,
    input logic [  DataWidth-1:0] data_i,
    input logic [DataWidth/8-1:0] keep_i,
    input logic                   last_i,
    input logic                   ready_i
);
  `PROOF_RESET

  logic ready_o, valid_o, last_o;
  logic [WideWidth-1:0] data_o;
  logic [WideWidth/8-1:0] keep_o;

  stream_widen #(
      .DataWidth(DataWidth),
      .WideWidth(WideWidth)
  ) u_widen (
      .*
  );
  packet_properties #(
      .InWidth (DataWidth),
      .OutWidth(WideWidth)
  ) u_properties (
      .*
  );

  logic [7:0] gathered;
  assign gathered = 8'(u_widen.part_q) * 8'(DataWidth / 8);

  `ASSERT(count_is_real, u_properties.count_q == (valid_o ? u_properties.bytes_o : gathered))
  `ASSERT(gathers_or_offers, !valid_o || u_widen.part_q == '0)
  `ASSERT(part_is_inside, gathered < 8'(WideWidth / 8))
  `ASSERT(gathered_are_kept, gathered == '0 || 16'(keep_o) == (16'd1 << gathered) - 16'd1)
  `ASSERT(followed_is_gathered, !u_properties.following_q ||
          8'(data_o >> (8 * u_properties.ahead_q)) == u_properties.followed_q)
  `ASSERT(gathered_goes_on, !(u_properties.following_q && !valid_o) || !u_properties.ended_q)
endmodule
