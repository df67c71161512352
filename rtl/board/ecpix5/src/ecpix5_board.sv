// Everything on the ECPIX-5 but its PLL: one gigabit port, the NIC with a ledger on the chip, and a serial console for
// the registers. There is no host yet: packets for it are counted and dropped.
//
//   RGMII <-> rgmii <-> gigabit_mac <-> turnpike_nic -> host packets: counted
//   UART  <-> register_console -> registers of the NIC, and of the board

module ecpix5_board
  import mac_pkg::*;
#(
    // Cycles of the core at 62.5 MHz: of a bit at 115,200 baud, of a seventh of a second, of a light, of the PHY's
    // reset (it needs 10 ms from its supply; this is 17).
    parameter int unsigned BitCycles = 543,
    parameter int unsigned TickCycles = 8928571,
    parameter int unsigned LightCycles = 3125000,
    parameter int unsigned PhyResetCycles = 1048576,
    // See store_controller. 4,096 accounts and 2,048 operations to remember: with the queues, most of the device's 208
    // block RAMs.
    parameter int unsigned AccountIndexWidth = 9,
    parameter int unsigned WindowBits = 11,
    parameter int unsigned WindowIndexWidth = 10
) (
    // The core's clock of 62.5 MHz, the transmitter's of 125 MHz; the reset is synchronised here to each clock.
    input  logic       clk_i,
    input  logic       tx_clk_i,
    input  logic       rst_ni,
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
  localparam int unsigned DataWidth = 128;
  localparam int unsigned KeepWidth = DataWidth / 8;
  // The narrowest: its packets are dropped.
  localparam int unsigned HostWidth = 64;

  ////////////////////////////////////////////////////////////////////////
  // Resets.

  logic rst_n, tx_rst_n, rx_rst_n;
  reset_synchronizer u_tx_reset (
      .clk_i (tx_clk_i),
      .rst_ni(rst_ni),
      .rst_no(tx_rst_n)
  );
  reset_synchronizer u_reset (
      .clk_i (clk_i),
      .rst_ni(rst_ni),
      .rst_no(rst_n)
  );
  reset_synchronizer u_rx_reset (
      .clk_i (rgmii_rx_clk_i),
      .rst_ni(rst_ni),
      .rst_no(rx_rst_n)
  );
  logic [$clog2(PhyResetCycles)-1:0] phy_wait_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) begin
      phy_wait_q <= '0;
      phy_rst_no <= 1'b0;
    end else begin
      phy_wait_q <= phy_wait_q + 1'b1;
      if (32'(phy_wait_q) == PhyResetCycles - 1) phy_rst_no <= 1'b1;
    end
  end

  ////////////////////////////////////////////////////////////////////////
  // The cable.

  logic [7:0] rxd, txd;
  logic rx_dv, rx_er, tx_en;
  rgmii u_rgmii (
      .tx_clk_i,
      .txd_i   (txd),
      .tx_en_i (tx_en),
      .rxd_o   (rxd),
      .rx_dv_o (rx_dv),
      .rx_er_o (rx_er),
      .rx_clk_i(rgmii_rx_clk_i),
      .rx_ctl_i(rgmii_rx_ctl_i),
      .rxd_i   (rgmii_rxd_i),
      .tx_clk_o(rgmii_tx_clk_o),
      .tx_ctl_o(rgmii_tx_ctl_o),
      .txd_o   (rgmii_txd_o)
  );

  logic rx_valid, rx_ready, rx_last, tx_valid, tx_ready, tx_last, status_valid;
  logic [DataWidth-1:0] rx_data, tx_data;
  logic [KeepWidth-1:0] rx_keep, tx_keep;
  rx_status_e status;
  gigabit_mac #(
      .DataWidth(DataWidth)
  ) u_mac (
      .rx_clk_i         (rgmii_rx_clk_i),
      .rx_rst_ni        (rx_rst_n),
      .rxd_i            (rxd),
      .rx_dv_i          (rx_dv),
      .rx_er_i          (rx_er),
      .tx_clk_i         (tx_clk_i),
      .tx_rst_ni        (tx_rst_n),
      .txd_o            (txd),
      .tx_en_o          (tx_en),
      .clk_i            (clk_i),
      .rst_ni           (rst_n),
      .valid_o          (rx_valid),
      .ready_i          (rx_ready),
      .data_o           (rx_data),
      .keep_o           (rx_keep),
      .last_o           (rx_last),
      .valid_i          (tx_valid),
      .ready_o          (tx_ready),
      .data_i           (tx_data),
      .keep_i           (tx_keep),
      .last_i           (tx_last),
      .rx_status_valid_o(status_valid),
      .rx_status_o      (status)
  );

  // Between frames the PHY sends its link's state: up, speed (two bits, 2 is a gigabit), full duplex.
  logic [3:0] link_q;
  logic link_up;
  always_ff @(posedge rgmii_rx_clk_i or negedge rx_rst_n) begin
    if (!rx_rst_n) link_q <= '0;
    else if (!rx_dv && !rx_er) link_q <= rxd[3:0];
  end
  synchronizer u_link (
      .clk_i (clk_i),
      .rst_ni(rst_n),
      .data_i(link_q == 4'b1101),
      .data_o(link_up)
  );

  ////////////////////////////////////////////////////////////////////////
  // Registers: the console's accesses, and the tick's writes when there are none.

  logic uart_valid, reply_valid, reply_ready, access_valid, access_write, tick_valid, tick_ready;
  logic [7:0] uart_data, reply_data;
  logic [15:0] access_address;
  logic [31:0] access_data, tick_data, read_data, board_data_q, nic_data;
  uart_rx #(
      .BitCycles(BitCycles)
  ) u_uart_rx (
      .clk_i  (clk_i),
      .rst_ni (rst_n),
      .line_i (uart_rx_i),
      .valid_o(uart_valid),
      .data_o (uart_data)
  );
  uart_tx #(
      .BitCycles(BitCycles)
  ) u_uart_tx (
      .clk_i  (clk_i),
      .rst_ni (rst_n),
      .valid_i(reply_valid),
      .ready_o(reply_ready),
      .data_i (reply_data),
      .line_o (uart_tx_o)
  );
  register_console u_console (
      .clk_i       (clk_i),
      .rst_ni      (rst_n),
      .rx_valid_i  (uart_valid),
      .rx_data_i   (uart_data),
      .tx_valid_o  (reply_valid),
      .tx_ready_i  (reply_ready),
      .tx_data_o   (reply_data),
      .valid_o     (access_valid),
      .ready_i     (1'b1),
      .write_o     (access_write),
      .address_o   (access_address),
      .write_data_o(access_data),
      .read_data_i (read_data)
  );
  retry_ticker #(
      .Cycles(TickCycles)
  ) u_ticker (
      .clk_i       (clk_i),
      .rst_ni      (rst_n),
      .valid_o     (tick_valid),
      .ready_i     (tick_ready),
      .write_data_o(tick_data)
  );
  logic nic_access, unused_read_valid, on_board_q;
  assign nic_access = access_valid && access_address[15:12] == '0;
  assign tick_ready = !nic_access;

  // Registers of the board at 0x1000: received frames by status, packets for the host that were dropped, the link.
  logic [7:0][31:0] counter_q;
  logic [7:0] counts;
  logic host_valid, host_last;
  always_comb begin
    counts = '0;
    counts[status] = status_valid;
    counts[7] = host_valid && host_last;
  end
  for (genvar at = 0; at < 8; at++) begin : gen_counter
    always_ff @(posedge clk_i or negedge rst_n) begin
      if (!rst_n) counter_q[at] <= '0;
      else if (counts[at]) counter_q[at] <= counter_q[at] + 32'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    on_board_q   <= access_address[15:12] != '0;
    board_data_q <= access_address[5] ? 32'(link_up) : counter_q[access_address[4:2]];
  end
  assign read_data = on_board_q ? board_data_q : nic_data;

  ////////////////////////////////////////////////////////////////////////
  // The NIC.

  logic unused_from_host_ready, unused_proof_read, unused_proof_write, unused_host;
  logic [HostWidth-1:0] unused_host_data;
  logic [HostWidth/8-1:0] unused_host_keep;
  nic_pkg::meta_t unused_host_meta;
  turnpike_nic #(
      .DataWidth        (DataWidth),
      .HostWidth        (HostWidth),
      .Ports            (1),
      .AccountIndexWidth(AccountIndexWidth),
      .WindowBits       (WindowBits),
      .WindowIndexWidth (WindowIndexWidth),
      .ProofSets        (0),
      .ProofMisses      (4)
  ) u_nic (
      .clk_i               (clk_i),
      .rst_ni              (rst_n),
      .rx_valid_i          (rx_valid),
      .rx_ready_o          (rx_ready),
      .rx_data_i           (rx_data),
      .rx_keep_i           (rx_keep),
      .rx_last_i           (rx_last),
      .tx_valid_o          (tx_valid),
      .tx_ready_i          (tx_ready),
      .tx_data_o           (tx_data),
      .tx_keep_o           (tx_keep),
      .tx_last_o           (tx_last),
      .to_host_valid_o     (host_valid),
      .to_host_ready_i     (1'b1),
      .to_host_data_o      (unused_host_data),
      .to_host_keep_o      (unused_host_keep),
      .to_host_last_o      (host_last),
      .to_host_meta_o      (unused_host_meta),
      .from_host_valid_i   (1'b0),
      .from_host_ready_o   (unused_from_host_ready),
      .from_host_data_i    ('0),
      .from_host_keep_i    ('0),
      .from_host_last_i    (1'b0),
      .from_host_meta_i    ('0),
      .csr_valid_i         (nic_access || tick_valid),
      .csr_write_i         (nic_access ? access_write : 1'b1),
      .csr_address_i       (nic_access ? access_address[11:0] : {nic_csr_pkg::RetryTickWord, 2'b00}),
      .csr_write_data_i    (nic_access ? access_data : tick_data),
      .csr_read_valid_o    (unused_read_valid),
      .csr_read_data_o     (nic_data),
      // Accounts are on the chip.
      .account_read_valid_o(),
      .account_read_ready_i('0),
      .account_read_addr_o (),
      .account_read_line_o (),
      .account_data_valid_i('0),
      .account_data_line_i ('0),
      .account_data_i      ('0),
      .account_write_valid_o(),
      .account_write_ready_i('0),
      .account_write_addr_o(),
      .account_write_ways_o(),
      .account_write_data_o(),
      .account_written_i   ('0),
      .proof_read_valid_o  (),
      .proof_read_ready_i  (1'b0),
      .proof_read_addr_o   (),
      .proof_read_slot_o   (),
      .proof_data_valid_i  (1'b0),
      .proof_data_slot_i   ('0),
      .proof_data_i        ('0),
      .proof_write_valid_o (),
      .proof_write_ready_i (1'b0),
      .proof_write_addr_o  (),
      .proof_write_data_o  (),
      .proof_written_i     (1'b0),
      .kv_read_valid_o     (),
      .kv_read_ready_i     ('0),
      .kv_read_addr_o      (),
      .kv_read_slot_o      (),
      .kv_data_valid_i     ('0),
      .kv_data_slot_i      ('0),
      .kv_data_i           ('0),
      .kv_write_valid_o    (),
      .kv_write_ready_i    ('0),
      .kv_write_addr_o     (),
      .kv_write_data_o     (),
      .kv_written_i        ('0)
  );

  ////////////////////////////////////////////////////////////////////////
  // Lights, see docs/board.md.

  logic [25:0] heartbeat_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) heartbeat_q <= '0;
    else heartbeat_q <= heartbeat_q + 26'd1;
  end
  logic [3:0] shown;
  logic replies;
  assign replies = tx_valid && tx_ready && tx_last;
  light #(
      .Cycles(LightCycles)
  ) u_lights[3:0] (
      .clk_i  (clk_i),
      .rst_ni (rst_n),
      .event_i({counts[7], replies, status_valid && status != RxGood, counts[RxGood]}),
      .on_o   (shown)
  );
  // Heartbeat; link; frames received, and those that were not correct; replies, and packets that were dropped.
  assign led_green_no = ~{shown[2], shown[0], link_up, heartbeat_q[25]};
  assign led_red_no   = ~{1'b0, shown[1], !link_up, 1'b0};
  assign led_blue_no  = ~{shown[3], 3'b000};
endmodule
