// Model of an ECP5 cell: a fixed delay of an input or output, in steps of 25 ps, which simulation ignores. A black box
// in synthesis.
(* blackbox *)
module DELAYG #(
    // verilator lint_off UNUSEDPARAM
    parameter string DEL_MODE = "USER_DEFINED",
    parameter int DEL_VALUE = 0
    // verilator lint_on UNUSEDPARAM
) (
    input  logic A,
    output logic Z
);
`ifndef SYNTHESIS
  assign Z = A;
`endif
endmodule
