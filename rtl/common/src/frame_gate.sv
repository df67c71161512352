// Passes whole frames while it is open, and drops all others: the rest of a frame in which it closes, and the rest of
// one in which it opens. For a consumer that is in reset while the gate is closed.
//
// Latency 0; `ready_o` depends on `ready_i`.

`include "registers.svh"

module frame_gate (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic open_i,
    input  logic valid_i,
    output logic ready_o,
    input  logic last_i,
    output logic valid_o,
    input  logic ready_i
);
  // Inside a frame; one that is dropped.
  logic inside_q, drops_q, drops;
  assign drops = !open_i || (inside_q && drops_q);
  assign valid_o = valid_i && !drops;
  assign ready_o = drops || ready_i;
  `FFE(inside_q, !last_i, valid_i && ready_o, 1'b0)
  `FF(drops_q, drops && (inside_q || valid_i), 1'b0)
endmodule
