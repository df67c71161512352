// Turnpike's NIC on LambdaConcept's ECPIX-5: the board's PLL, and everything else.
//
// No pin resets the board, because the sources for that pin disagree: it is in reset until the PLL has locked.

module ecpix5_top (
    input  logic       clk100_i,
    input  logic       rgmii_rx_clk_i,
    input  logic       rgmii_rx_ctl_i,
    input  logic [3:0] rgmii_rxd_i,
    output logic       rgmii_tx_clk_o,
    output logic       rgmii_tx_ctl_o,
    output logic [3:0] rgmii_txd_o,
    output logic       phy_rst_no,
    input  logic       uart_rx_i,
    output logic       uart_tx_o,
    // Red, green and blue of four lights: on when low.
    output logic [3:0] led_red_no,
    output logic [3:0] led_green_no,
    output logic [3:0] led_blue_no
);
  logic clk, tx_clk, locked;
  ecpix5_clocks u_clocks (
      .clk100_i,
      .tx_clk_o  (tx_clk),
      .core_clk_o(clk),
      .locked_o  (locked)
  );
  ecpix5_board u_board (
      .clk_i   (clk),
      .tx_clk_i(tx_clk),
      .rst_ni  (locked),
      .rgmii_rx_clk_i,
      .rgmii_rx_ctl_i,
      .rgmii_rxd_i,
      .rgmii_tx_clk_o,
      .rgmii_tx_ctl_o,
      .rgmii_txd_o,
      .phy_rst_no,
      .uart_rx_i,
      .uart_tx_o,
      .led_red_no,
      .led_green_no,
      .led_blue_no
  );
endmodule
