// RGMII v2.0 on ECP5 pins: GMII on one side, both edges of the clock on the other. With `ecpix5_clocks`, the only files
// with the vendor's cells.
//
// Receive: the PHY (KSZ9031) delays its clock by 1.2 ns, so the pins have no delay. Transmit: the clock leaves TxDelay
// steps of 25 ps late, 2 ns: the PHY samples in the middle of a half period of 4 ns.

module rgmii #(
    parameter int unsigned TxDelay = 80
) (
    // GMII, at the clock of each direction.
    input  logic       tx_clk_i,
    input  logic [7:0] txd_i,
    input  logic       tx_en_i,
    output logic [7:0] rxd_o,
    output logic       rx_dv_o,
    output logic       rx_er_o,
    // Pins.
    input  logic       rx_clk_i,
    input  logic       rx_ctl_i,
    input  logic [3:0] rxd_i,
    output logic       tx_clk_o,
    output logic       tx_ctl_o,
    output logic [3:0] txd_o
);
  // Each nibble and the control bit: the lower nibble at the rising edge.
  logic [4:0] rx_first, rx_second;
  for (genvar pin = 0; pin < 5; pin++) begin : gen_rx
    IDDRX1F u_in (
        .D   (pin < 4 ? rxd_i[pin%4] : rx_ctl_i),
        .SCLK(rx_clk_i),
        .RST (1'b0),
        .Q0  (rx_first[pin]),
        .Q1  (rx_second[pin])
    );
  end
  assign rxd_o   = {rx_second[3:0], rx_first[3:0]};
  assign rx_dv_o = rx_first[4];
  assign rx_er_o = rx_first[4] ^ rx_second[4];

  logic [4:0] tx_pin;
  for (genvar pin = 0; pin < 5; pin++) begin : gen_tx
    ODDRX1F u_out (
        .SCLK(tx_clk_i),
        .RST (1'b0),
        .D0  (pin < 4 ? txd_i[pin%4] : tx_en_i),
        // No error is sent.
        .D1  (pin < 4 ? txd_i[4+pin%4] : tx_en_i),
        .Q   (tx_pin[pin])
    );
  end
  assign {tx_ctl_o, txd_o} = tx_pin;

  logic tx_clk;
  ODDRX1F u_tx_clk (
      .SCLK(tx_clk_i),
      .RST (1'b0),
      .D0  (1'b1),
      .D1  (1'b0),
      .Q   (tx_clk)
  );
  DELAYG #(
      .DEL_MODE ("USER_DEFINED"),
      .DEL_VALUE(TxDelay)
  ) u_tx_delay (
      .A(tx_clk),
      .Z(tx_clk_o)
  );
endmodule
