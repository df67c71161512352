// Proof of skid: stream_properties around it, plus invariants that link its registers to the count.

`include "assertions.svh"

module skid_proof #(
    parameter int unsigned Width = 4
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             follow_i,
    input logic             valid_i,
    input logic [Width-1:0] data_i,
    input logic             ready_i
);
  `PROOF_RESET

  logic ready_o, valid_o;
  logic [Width-1:0] data_o;

  skid #(.Width(Width)) u_skid (.*);
  stream_properties #(
      .Width(Width),
      .Depth(2)
  ) u_properties (
      .*
  );

  `ASSERT(count_is_real, u_properties.count_q == 8'(valid_o) + 8'(u_skid.waiting_q))
  `ASSERT(waiting_is_second, !u_skid.waiting_q || valid_o)
  `ASSERT(followed_is_waiting, !(u_properties.following_q && u_properties.ahead_q == 8'd1) ||
          u_skid.waiting_data_q == u_properties.followed_q)
endmodule
