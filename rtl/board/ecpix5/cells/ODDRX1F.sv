// Model of an ECP5 cell, after Lattice's FPGA-TN-02035: D0 while the clock is high, then D1. A black box in synthesis.
(* blackbox *)
module ODDRX1F (
    input  logic SCLK,
    input  logic RST,
    input  logic D0,
    input  logic D1,
    output logic Q
);
`ifndef SYNTHESIS
  logic high_q, low_q;
  always_ff @(posedge SCLK) begin
    high_q <= D0 && !RST;
    low_q  <= D1 && !RST;
  end
  assign Q = SCLK ? high_q : low_q;
`endif
endmodule
