// Merges `Ports` packet streams into one: round robin over the ports, without interleaving packets.
//
// Latency 0; `ready_o` depends on `ready_i`. A port that has begun a packet keeps the output until its last word.

`include "assertions.svh"
`include "registers.svh"

module stream_arbiter #(
    parameter int unsigned DataWidth = 64,
    parameter int unsigned Ports = 4,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned PortWidth = Ports > 1 ? $clog2(Ports) : 1
) (
    input  logic                                clk_i,
    input  logic                                rst_ni,
    input  logic [Ports-1:0]                    valid_i,
    output logic [Ports-1:0]                    ready_o,
    input  logic [Ports-1:0][DataWidth-1:0]     data_i,
    input  logic [Ports-1:0][KeepWidth-1:0]     keep_i,
    input  logic [Ports-1:0]                    last_i,
    output logic                                valid_o,
    input  logic                                ready_i,
    output logic [DataWidth-1:0]                data_o,
    output logic [KeepWidth-1:0]                keep_o,
    output logic                                last_o,
    output logic [PortWidth-1:0]                port_o
);
  `PARAMETER_CHECK(width, DataWidth >= 8 && DataWidth % 8 == 0, "stream_arbiter: DataWidth must be a multiple of 8")
  `PARAMETER_CHECK(ports, Ports > 0, "stream_arbiter: Ports must be at least 1")

  typedef logic [PortWidth-1:0] port_t;

  // The port served last, and whether it continues: its packet has more words, or an offered word must stay.
  port_t last_port_q, chosen;
  logic busy_q;

  // The first valid port after the one served last; if none, the first valid one.
  always_comb begin
    chosen = last_port_q;
    if (!busy_q) begin
      for (int port = Ports - 1; port >= 0; port--) begin
        if (valid_i[port]) chosen = port_t'(port);
      end
      for (int port = Ports - 1; port >= 0; port--) begin
        if (valid_i[port] && port > int'(last_port_q)) chosen = port_t'(port);
      end
    end
  end

  assign port_o  = chosen;
  assign valid_o = valid_i[chosen];
  assign last_o  = last_i[chosen];

  // Not an index: synthesis turns that into a shifter, nine times as large for UltraScale+.
  always_comb begin
    data_o = data_i[0];
    keep_o = keep_i[0];
    for (int unsigned port = 1; port < Ports; port++) begin
      if (chosen == port_t'(port)) begin
        data_o = data_i[port];
        keep_o = keep_i[port];
      end
    end
  end

  always_comb begin
    ready_o = '0;
    ready_o[chosen] = ready_i;
  end

  `FFE(last_port_q, chosen, valid_o, port_t'(Ports - 1))
  `FFE(busy_q, !(last_o && ready_i), valid_o, 1'b0)

  `ASSERT(one_port_is_served, $onehot0(ready_o))
endmodule
