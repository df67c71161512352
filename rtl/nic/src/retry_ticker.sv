// Toggles the NIC's retry tick on a board, as a host's software does elsewhere: every Cycles, a seventh of the retry
// time.

`include "assertions.svh"
`include "registers.svh"

module retry_ticker #(
    parameter int unsigned Cycles = 8928571
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // A write of the tick's register, accepted if both are set.
    output logic        valid_o,
    input  logic        ready_i,
    output logic [31:0] write_data_o
);
  `PARAMETER_CHECK(cycles, Cycles >= 2, "retry_ticker: Cycles must be at least 2")

  logic [$clog2(Cycles)-1:0] count_q;
  logic wraps, tick_q;
  assign wraps = count_q == '0;
  assign write_data_o = 32'(tick_q);
  `FF(count_q, wraps ? $bits(count_q)'(Cycles - 1) : count_q - 1'b1, '0)
  `FFE(tick_q, !tick_q, wraps, 1'b0)
  `FF(valid_o, wraps || (valid_o && !ready_i), 1'b0)
endmodule
