// The ports of the ECP5's PLL that ecpix5_clocks connects, for synthesis; simulation does not have it.
// verilator lint_off UNDRIVEN
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off UNUSEDPARAM
(* blackbox *)
module EHXPLLL #(
    parameter int CLKI_DIV = 1,
    parameter int CLKFB_DIV = 1,
    parameter string FEEDBK_PATH = "CLKOP",
    parameter string CLKOP_ENABLE = "ENABLED",
    parameter int CLKOP_DIV = 8,
    parameter int CLKOP_CPHASE = 0,
    parameter string CLKOS_ENABLE = "DISABLED",
    parameter int CLKOS_DIV = 8,
    parameter int CLKOS_CPHASE = 0
) (
    input  logic CLKI,
    input  logic CLKFB,
    output logic CLKOP,
    output logic CLKOS,
    output logic LOCK,
    input  logic RST,
    input  logic STDBY,
    input  logic PHASESEL0,
    input  logic PHASESEL1,
    input  logic PHASEDIR,
    input  logic PHASESTEP,
    input  logic PHASELOADREG,
    input  logic PLLWAKESYNC,
    input  logic ENCLKOP,
    input  logic ENCLKOS,
    input  logic ENCLKOS2,
    input  logic ENCLKOS3
);
endmodule
