// The clocks that the board makes of its oscillator of 100 MHz: 125 MHz for transmission, and the core's. Not
// simulated: testbenches drive both clocks.
module ecpix5_clocks (
    input  logic clk100_i,
    output logic tx_clk_o,
    output logic core_clk_o,
    output logic locked_o
);
  // 100 MHz / 4 * 5 = 125 MHz; the oscillator of the PLL runs at 625 MHz, within its range of 400 to 800 MHz. The core
  // has a tenth of that. Divisors, phases and filter are those that ecppll computes.
  (* ICP_CURRENT = "12", LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
  EHXPLLL #(
      .CLKI_DIV    (4),
      .CLKFB_DIV   (5),
      .FEEDBK_PATH ("CLKOP"),
      .CLKOP_ENABLE("ENABLED"),
      .CLKOP_DIV   (5),
      .CLKOP_CPHASE(2),
      .CLKOS_ENABLE("ENABLED"),
      .CLKOS_DIV   (10),
      .CLKOS_CPHASE(2)
  ) u_pll (
      .CLKI        (clk100_i),
      .CLKFB       (tx_clk_o),
      .CLKOP       (tx_clk_o),
      .CLKOS       (core_clk_o),
      .LOCK        (locked_o),
      .RST         (1'b0),
      .STDBY       (1'b0),
      .PHASESEL0   (1'b0),
      .PHASESEL1   (1'b0),
      .PHASEDIR    (1'b1),
      .PHASESTEP   (1'b1),
      .PHASELOADREG(1'b1),
      .PLLWAKESYNC (1'b0),
      .ENCLKOP     (1'b0),
      .ENCLKOS     (1'b0),
      .ENCLKOS2    (1'b0),
      .ENCLKOS3    (1'b0)
  );
endmodule
