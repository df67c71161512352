// Shows an event on a light for Cycles, so that a person sees it.

`include "assertions.svh"
`include "registers.svh"

module light #(
    parameter int unsigned Cycles = 3125000
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic event_i,
    output logic on_o
);
  `PARAMETER_CHECK(cycles, Cycles >= 2, "light: Cycles must be at least 2")

  logic [$clog2(Cycles)-1:0] left_q;
  assign on_o = left_q != '0;
  `FFE(left_q, event_i ? $bits(left_q)'(Cycles - 1) : left_q - 1'b1, event_i || on_o, '0)
endmodule
