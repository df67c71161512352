// Model of an ECP5 cell, after Lattice's FPGA-TN-02035: the bits of both edges, together at the next rising edge. A
// black box in synthesis.
(* blackbox *)
module IDDRX1F (
    input  logic D,
    input  logic SCLK,
    input  logic RST,
    output logic Q0,
    output logic Q1
);
`ifndef SYNTHESIS
  logic rising_q, falling_q;
  always_ff @(posedge SCLK) begin
    rising_q <= D && !RST;
    Q0 <= rising_q;
    Q1 <= falling_q;
  end
  always_ff @(negedge SCLK) begin
    falling_q <= D && !RST;
  end
`endif
endmodule
