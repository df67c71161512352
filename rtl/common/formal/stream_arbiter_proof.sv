// Proof of stream_arbiter: a stable output, packets that are never interleaved, and fairness.

`include "assertions.svh"

module stream_arbiter_proof #(
    parameter int unsigned Ports = 3
) (
    input logic                  clk_i,
    input logic                  rst_ni,
    input logic [Ports-1:0]      valid_i,
    input logic [Ports-1:0]      last_i,
    input logic [Ports-1:0][7:0] data_i,
    input logic [Ports-1:0]      keep_i,
    input logic                  ready_i
);
  `PROOF_RESET

  localparam int unsigned PortWidth = Ports > 1 ? $clog2(Ports) : 1;
  logic [Ports-1:0] ready_o;
  logic valid_o, last_o, keep_o;
  logic [7:0] data_o;
  logic [PortWidth-1:0] port_o;

  stream_arbiter #(
      .DataWidth(8),
      .Ports(Ports)
  ) u_arbiter (
      .*
  );

  logic [Ports-1:0] held_q;
  logic [Ports-1:0][9:0] held_word_q;
  logic stalled_q, inside_q;
  logic [9:0] stalled_word_q;
  logic [PortWidth-1:0] inside_port_q;
  // Packets of other ports that ended while port 0 was waiting.
  logic [7:0] waited_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q <= '0;
      stalled_q <= 1'b0;
      inside_q <= 1'b0;
      waited_q <= '0;
    end else begin
      for (int port = 0; port < Ports; port++) held_word_q[port] <= {last_i[port], keep_i[port], data_i[port]};
      held_q <= valid_i & ~ready_o;
      stalled_q <= valid_o && !ready_i;
      stalled_word_q <= {last_o, keep_o, data_o};
      if (valid_o && ready_i) begin
        inside_q <= !last_o;
        inside_port_q <= port_o;
      end
      if (!valid_i[0] || ready_o[0]) waited_q <= '0;
      else if (valid_o && ready_i && last_o) waited_q <= waited_q + 8'd1;
    end
  end

  for (genvar port = 0; port < Ports; port++) begin : gen_stable
    `ASSUME(input_is_stable, !held_q[port] ||
            (valid_i[port] && held_word_q[port] == {last_i[port], keep_i[port], data_i[port]}))
  end
  `ASSERT(output_is_stable, !stalled_q || (valid_o && stalled_word_q == {last_o, keep_o, data_o}))
  `ASSERT(packets_are_whole, !inside_q || port_o == inside_port_q)
  `ASSERT(served_is_valid, !(valid_o && ready_i) || |(ready_o & valid_i))
  // Each other port passes a waiting port at most once, in ascending order.
  `ASSERT(turn_comes, waited_q == '0 || waited_q + 8'(u_arbiter.busy_q) <= 8'(u_arbiter.last_port_q) ||
          (waited_q < 8'(Ports) && u_arbiter.busy_q && u_arbiter.last_port_q == '0))
  `ASSERT(port_is_legal, 8'(u_arbiter.last_port_q) < 8'(Ports))
  `COVER(a_packet_goes_on, inside_q && valid_o && ready_i && last_o)
  `COVER(the_last_port_is_served, valid_o && ready_i && 32'(port_o) == Ports - 1)
  if (Ports > 1) begin : gen_several
    `COVER(all_others_come_first, 32'(waited_q) == Ports - 1)
  end
  // Invariants that link the arbiter's two registers to what was seen outside.
  `ASSERT(inside_is_busy, !inside_q || (u_arbiter.busy_q && u_arbiter.last_port_q == inside_port_q))
  `ASSERT(stalled_is_busy, !stalled_q || (u_arbiter.busy_q && held_q[u_arbiter.last_port_q] &&
          held_word_q[u_arbiter.last_port_q] == stalled_word_q))
endmodule
