// Everything on the ECPIX-5 but its PLL: one gigabit port, the NIC with a ledger on the chip, its host on the same
// cable, and a serial console for the registers.
//
//   RGMII <-> rgmii <-> gigabit_mac -> host_link_registers -> host_link -> frame_gate -> turnpike_nic <-> host_link
//                            ^------------- replies, the link's frames, frame_closer <-------+
//   UART  <-> register_console -> registers of the NIC, and of the board
//
// Without a session of the host link, packets for the host are counted and dropped.

module ecpix5_board
  import host_link_pkg::*;
  import mac_pkg::*;
#(
    // Cycles of the core at 62.5 MHz: of a bit at 115,200 baud, of a seventh of a second, of a light, of the PHY's
    // reset (it needs 10 ms from its supply; this is 17).
    parameter int unsigned BitCycles = 543,
    parameter int unsigned TickCycles = 8928571,
    parameter int unsigned LightCycles = 3125000,
    parameter int unsigned PhyResetCycles = 1048576,
    // Of silence until the host link sends again: 1 ms.
    parameter int unsigned LinkTimeout = 62500,
    // Locally administered; another one for each board on a network.
    parameter logic [47:0] MacAddress = 48'h020000000001,
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
  // That of the host link.
  localparam int unsigned HostWidth = 128;

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
  synchronizer u_link_up (
      .clk_i (clk_i),
      .rst_ni(rst_n),
      .data_i(link_q == 4'b1101),
      .data_o(link_up)
  );

  ////////////////////////////////////////////////////////////////////////
  // Registers: the console's accesses, those of the cable, and the tick's writes when there are none.

  logic uart_valid, reply_valid, reply_ready, access_valid, access_write, tick_valid, tick_ready;
  logic [7:0] uart_data, reply_data;
  logic [15:0] access_address;
  logic [31:0] access_data, tick_data, read_data, board_data_q, nic_read_data;
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
  logic other_valid, other_ready, other_last, cable_valid, cable_ready, cable_write;
  logic answer_valid, answer_ready, answer_last;
  logic [DataWidth-1:0] other_data, answer_data;
  logic [KeepWidth-1:0] other_keep;
  logic [15:0] cable_address;
  logic [31:0] cable_data;
  logic [47:0] cable_source;
  host_link_registers u_link_registers (
      .clk_i           (clk_i),
      .rst_ni          (rst_n),
      .address_i       (MacAddress),
      .valid_i         (rx_valid),
      .ready_o         (rx_ready),
      .data_i          (rx_data),
      .keep_i          (rx_keep),
      .last_i          (rx_last),
      .other_valid_o   (other_valid),
      .other_ready_i   (other_ready),
      .other_data_o    (other_data),
      .other_keep_o    (other_keep),
      .other_last_o    (other_last),
      .access_valid_o  (cable_valid),
      .access_ready_i  (cable_ready),
      .access_write_o  (cable_write),
      .access_address_o(cable_address),
      .access_data_o   (cable_data),
      .access_source_o (cable_source),
      .read_data_i     (read_data),
      .reply_valid_o   (answer_valid),
      .reply_ready_i   (answer_ready),
      .reply_data_o    (answer_data),
      .reply_last_o    (answer_last)
  );

  // The NIC never stalls its port, whatever is written: the frames that follow may have the acknowledgement that it
  // waits for.
  localparam nic_csr_pkg::control_t Drop = '{drop: 1'b1, default: '0};

  logic valid, write, writes_control, nic_access, tick, unused_read_valid, on_board_q;
  logic [15:0] address;
  logic [31:0] write_data;
  assign valid = access_valid || cable_valid;
  assign cable_ready = !access_valid;
  assign write = access_valid ? access_write : cable_write;
  assign address = access_valid ? access_address : cable_address;
  assign write_data = access_valid ? access_data : cable_data;
  assign nic_access = valid && address[15:12] == '0;
  assign tick_ready = !nic_access;
  assign tick = tick_valid && tick_ready;
  assign writes_control = nic_access && write && address[11:2] == nic_csr_pkg::ControlWord;

  // Whether the NIC runs, as it knows in the same cycle.
  logic run_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) run_q <= 1'b0;
    else if (writes_control) run_q <= write_data[0];
  end

  // Registers of the board at 0x1000: received frames by status, packets for the host that were dropped, the link of
  // the cable; the session of the host link, and how often it sent again.
  logic [7:0][31:0] counter_q;
  logic [31:0] session, replays_q;
  logic [7:0] counts;
  logic host_dropped, replays, opens;
  always_comb begin
    counts = '0;
    counts[status] = status_valid;
    counts[HostPacketsRegister[4:2]] = host_dropped;
  end
  // A console has no address for the frames of a session.
  assign opens = cable_valid && cable_ready && cable_write && cable_address == SessionRegister;
  for (genvar at = 0; at < 8; at++) begin : gen_counter
    always_ff @(posedge clk_i or negedge rst_n) begin
      if (!rst_n) counter_q[at] <= '0;
      else if (counts[at]) counter_q[at] <= counter_q[at] + 32'd1;
    end
  end
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) replays_q <= '0;
    else if (replays) replays_q <= replays_q + 32'd1;
  end
  always_ff @(posedge clk_i) begin
    on_board_q <= address[15:12] != '0;
    unique case (address[6:2])
      LinkUpRegister[6:2]:  board_data_q <= 32'(link_up);
      SessionRegister[6:2]: board_data_q <= session;
      ReplaysRegister[6:2]: board_data_q <= replays_q;
      default:              board_data_q <= counter_q[address[4:2]];
    endcase
  end
  assign read_data = on_board_q ? board_data_q : nic_read_data;

  ////////////////////////////////////////////////////////////////////////
  // The host, and what leaves by the cable: replies to accesses, the link's frames, the NIC's.

  logic pass_valid, pass_ready, pass_last, link_valid, link_ready, link_last;
  logic to_host_valid, to_host_ready, to_host_last, from_host_valid, from_host_ready, from_host_last;
  logic [DataWidth-1:0] pass_data, link_data, to_host_data, from_host_data;
  logic [KeepWidth-1:0] pass_keep, link_keep, to_host_keep, from_host_keep;
  nic_pkg::meta_t to_host_meta, from_host_meta;
  host_link #(
      .Timeout(LinkTimeout)
  ) u_link (
      .clk_i         (clk_i),
      .rst_ni        (rst_n),
      .address_i     (MacAddress),
      .open_i        (opens),
      .open_session_i(cable_data),
      .open_peer_i   (cable_source),
      .session_o     (session),
      .rx_valid_i    (other_valid),
      .rx_ready_o    (other_ready),
      .rx_data_i     (other_data),
      .rx_keep_i     (other_keep),
      .rx_last_i     (other_last),
      .other_valid_o (pass_valid),
      .other_ready_i (pass_ready),
      .other_data_o  (pass_data),
      .other_keep_o  (pass_keep),
      .other_last_o  (pass_last),
      .tx_valid_o    (link_valid),
      .tx_ready_i    (link_ready),
      .tx_data_o     (link_data),
      .tx_keep_o     (link_keep),
      .tx_last_o     (link_last),
      .valid_i       (to_host_valid),
      .ready_o       (to_host_ready),
      .data_i        (to_host_data),
      .keep_i        (to_host_keep),
      .last_i        (to_host_last),
      .meta_i        (to_host_meta),
      .valid_o       (from_host_valid),
      .ready_i       (from_host_ready),
      .data_o        (from_host_data),
      .keep_o        (from_host_keep),
      .last_o        (from_host_last),
      .meta_o        (from_host_meta),
      .dropped_o     (host_dropped),
      .replays_o     (replays)
  );
  logic gate_valid, gate_ready, nic_valid, nic_ready, nic_last, closed_valid, closed_ready, closed_last;
  logic [DataWidth-1:0] nic_data, closed_data;
  logic [KeepWidth-1:0] nic_keep, closed_keep;
  frame_gate u_gate (
      .clk_i  (clk_i),
      .rst_ni (rst_n),
      .open_i (run_q),
      .valid_i(pass_valid),
      .ready_o(pass_ready),
      .last_i (pass_last),
      .valid_o(gate_valid),
      .ready_i(gate_ready)
  );
  frame_closer #(
      .DataWidth(DataWidth)
  ) u_closer (
      .clk_i  (clk_i),
      .rst_ni (rst_n),
      .open_i (run_q),
      .valid_i(nic_valid),
      .ready_o(nic_ready),
      .data_i (nic_data),
      .keep_i (nic_keep),
      .last_i (nic_last),
      .valid_o(closed_valid),
      .ready_i(closed_ready),
      .data_o (closed_data),
      .keep_o (closed_keep),
      .last_o (closed_last),
      .closes_o()
  );
  logic [1:0] unused_sender;
  stream_arbiter #(
      .DataWidth(DataWidth),
      .Ports    (3)
  ) u_senders (
      .clk_i  (clk_i),
      .rst_ni (rst_n),
      .valid_i({closed_valid, link_valid, answer_valid}),
      .ready_o({closed_ready, link_ready, answer_ready}),
      .data_i ({closed_data, link_data, answer_data}),
      .keep_i ({closed_keep, link_keep, {KeepWidth{1'b1}}}),
      .last_i ({closed_last, link_last, answer_last}),
      .valid_o(tx_valid),
      .ready_i(tx_ready),
      .data_o (tx_data),
      .keep_o (tx_keep),
      .last_o (tx_last),
      .port_o (unused_sender)
  );

  ////////////////////////////////////////////////////////////////////////
  // The NIC.

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
      .rx_valid_i          (gate_valid),
      .rx_ready_o          (gate_ready),
      .rx_data_i           (pass_data),
      .rx_keep_i           (pass_keep),
      .rx_last_i           (pass_last),
      .tx_valid_o          (nic_valid),
      .tx_ready_i          (nic_ready),
      .tx_data_o           (nic_data),
      .tx_keep_o           (nic_keep),
      .tx_last_o           (nic_last),
      .to_host_valid_o     (to_host_valid),
      .to_host_ready_i     (to_host_ready),
      .to_host_data_o      (to_host_data),
      .to_host_keep_o      (to_host_keep),
      .to_host_last_o      (to_host_last),
      .to_host_meta_o      (to_host_meta),
      .from_host_valid_i   (from_host_valid),
      .from_host_ready_o   (from_host_ready),
      .from_host_data_i    (from_host_data),
      .from_host_keep_i    (from_host_keep),
      .from_host_last_i    (from_host_last),
      .from_host_meta_i    (from_host_meta),
      .csr_valid_i         (nic_access || tick),
      .csr_write_i         (nic_access ? write : 1'b1),
      .csr_address_i       (nic_access ? address[11:0] : {nic_csr_pkg::RetryTickWord, 2'b00}),
      .csr_write_data_i    (nic_access ? write_data | {24'd0, {8{writes_control}} & Drop} : tick_data),
      .csr_read_valid_o    (unused_read_valid),
      .csr_read_data_o     (nic_read_data),
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
      .event_i({counts[HostPacketsRegister[4:2]], replies, status_valid && status != RxGood, counts[RxGood]}),
      .on_o   (shown)
  );
  // Heartbeat; link; frames received, and those that were not correct; replies, and packets that were dropped.
  assign led_green_no = ~{shown[2], shown[0], link_up, heartbeat_q[25]};
  assign led_red_no   = ~{1'b0, shown[1], !link_up, 1'b0};
  assign led_blue_no  = ~{shown[3], 3'b000};
endmodule
