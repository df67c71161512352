// Routes whole frames to one of several outputs, selected by the frame's first word. A frame without an output is
// dropped.
//
// Latency 0; `ready_o` depends on `ready_i`.

`include "assertions.svh"
`include "registers.svh"

module frame_router #(
    parameter int unsigned Outputs = 2
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    // Of the frame whose first word is at the input; ignored with all other words.
    input  logic [Outputs-1:0] select_i,
    input  logic               valid_i,
    output logic               ready_o,
    input  logic               last_i,
    output logic [Outputs-1:0] valid_o,
    input  logic [Outputs-1:0] ready_i,
    // A frame was dropped.
    output logic               dropped_o
);
  `PARAMETER_CHECK(outputs, Outputs > 0, "frame_router: Outputs must be at least 1")

  // The output of a frame stays from the first offer of its first word on, whatever becomes of what selected it.
  logic routed_q;
  logic [Outputs-1:0] select_q, select;
  assign select = routed_q ? select_q : select_i;
  assign valid_o = {Outputs{valid_i}} & select;
  assign ready_o = select == '0 || (select & ready_i) != '0;
  assign dropped_o = valid_i && select == '0 && last_i;
  `FFE(routed_q, !(ready_o && last_i), valid_i, 1'b0)
  `FFNE(select_q, select, valid_i)

  `ASSERT(one_output, $onehot0(valid_o))
endmodule
