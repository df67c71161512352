// Turnpike between Corundum's MACs and queues: the NIC answers frames to its own address, all others pass with their
// `tuser`. The NIC's host is a node on the same machine, which reaches it by frames of the host link through port 0.
//
//   network rx -> frame_router -+-> frame_gate -> turnpike_nic -> frame_closer -> frame_merge -> network tx
//                               +-> frame_merge -> host rx   |                        ^
//   host tx ---> frame_router --|---------^------------------|------------------------+
//                     +-> host_link_registers, host_link <---+
//
// A network port is a MAC's, a host port the queues' that Corundum pairs it with. See docs/mqnic.md.

`include "assertions.svh"
`include "registers.svh"

module mqnic_app
  import host_link_pkg::*;
  import mqnic_app_pkg::*;
#(
    parameter int unsigned Ports = 1,
    // `tuser` of received frames: bit 0 marks a bad frame, the timestamp follows, if any.
    parameter int unsigned RxUserWidth = 97,
    // Tag of sent frames. The upper bit is set in Corundum's own ones.
    parameter int unsigned TagWidth = 6,
    parameter int unsigned TimestampWidth = 96,
    parameter int unsigned AddressWidth = 24,
    // Cycles of 4 ns: a seventh of a second, which is the retry time, and 1 ms of silence until the host link sends
    // again.
    parameter int unsigned TickCycles = 35714285,
    parameter int unsigned LinkTimeout = 250000,
    // Locally administered; another one for each block on a network.
    parameter logic [47:0] MacAddress = 48'h020000000001,
    // See store_controller.
    parameter int unsigned AccountIndexWidth = 11,
    parameter int unsigned WindowBits = 14,
    parameter int unsigned WindowIndexWidth = 13,
    // `tuser` of sent frames: bit 0 marks a bad frame, the tag follows.
    localparam int unsigned TxUserWidth = TagWidth + 1,
    localparam int unsigned DataWidth = wire_pkg::WordWidth,
    localparam int unsigned KeepWidth = wire_pkg::WordBytes
) (
    input  logic                                       clk_i,
    input  logic                                       rst_ni,
    // AXI4-Lite: registers.
    input  logic                                       awvalid_i,
    output logic                                       awready_o,
    input  logic [AddressWidth-1:0]                    awaddr_i,
    input  logic                                       wvalid_i,
    output logic                                       wready_o,
    input  logic [            31:0]                    wdata_i,
    input  logic [             3:0]                    wstrb_i,
    output logic                                       bvalid_o,
    input  logic                                       bready_i,
    output logic [             1:0]                    bresp_o,
    input  logic                                       arvalid_i,
    output logic                                       arready_o,
    input  logic [AddressWidth-1:0]                    araddr_i,
    output logic                                       rvalid_o,
    input  logic                                       rready_i,
    output logic [            31:0]                    rdata_o,
    output logic [             1:0]                    rresp_o,
    // Received frames: from the MAC, and to the host.
    input  logic [       Ports-1:0]                    net_rx_valid_i,
    output logic [       Ports-1:0]                    net_rx_ready_o,
    input  logic [       Ports-1:0][DataWidth-1:0]     net_rx_data_i,
    input  logic [       Ports-1:0][KeepWidth-1:0]     net_rx_keep_i,
    input  logic [       Ports-1:0]                    net_rx_last_i,
    input  logic [       Ports-1:0][RxUserWidth-1:0]   net_rx_user_i,
    output logic [       Ports-1:0]                    host_rx_valid_o,
    input  logic [       Ports-1:0]                    host_rx_ready_i,
    output logic [       Ports-1:0][DataWidth-1:0]     host_rx_data_o,
    output logic [       Ports-1:0][KeepWidth-1:0]     host_rx_keep_o,
    output logic [       Ports-1:0]                    host_rx_last_o,
    output logic [       Ports-1:0][RxUserWidth-1:0]   host_rx_user_o,
    // Frames to send: from the host, and to the MAC.
    input  logic [       Ports-1:0]                    host_tx_valid_i,
    output logic [       Ports-1:0]                    host_tx_ready_o,
    input  logic [       Ports-1:0][DataWidth-1:0]     host_tx_data_i,
    input  logic [       Ports-1:0][KeepWidth-1:0]     host_tx_keep_i,
    input  logic [       Ports-1:0]                    host_tx_last_i,
    input  logic [       Ports-1:0][TxUserWidth-1:0]   host_tx_user_i,
    output logic [       Ports-1:0]                    net_tx_valid_o,
    input  logic [       Ports-1:0]                    net_tx_ready_i,
    output logic [       Ports-1:0][DataWidth-1:0]     net_tx_data_o,
    output logic [       Ports-1:0][KeepWidth-1:0]     net_tx_keep_o,
    output logic [       Ports-1:0]                    net_tx_last_o,
    output logic [       Ports-1:0][TxUserWidth-1:0]   net_tx_user_o,
    // Completions of sent frames: from the MAC, and to the host.
    input  logic [       Ports-1:0]                    net_cpl_valid_i,
    output logic [       Ports-1:0]                    net_cpl_ready_o,
    input  logic [       Ports-1:0][TimestampWidth-1:0] net_cpl_ts_i,
    input  logic [       Ports-1:0][TagWidth-1:0]      net_cpl_tag_i,
    output logic [       Ports-1:0]                    host_cpl_valid_o,
    input  logic [       Ports-1:0]                    host_cpl_ready_i,
    output logic [       Ports-1:0][TimestampWidth-1:0] host_cpl_ts_o,
    output logic [       Ports-1:0][TagWidth-1:0]      host_cpl_tag_o
);
  `PARAMETER_CHECK(ports, Ports >= 1 && Ports <= 8, "mqnic_app: Ports must be from 1 to 8")
  `PARAMETER_CHECK(tag, TagWidth >= 2, "mqnic_app: TagWidth must be at least 2")

  // Width of the host link.
  localparam int unsigned LinkWidth = 8 * host_link_pkg::WordBytes;
  localparam int unsigned LinkKeepWidth = host_link_pkg::WordBytes;
  // Tag of the NIC's frames: without the upper bit, no descriptor of Corundum's waits for it.
  localparam logic [TagWidth-1:0] NicTag = '0;

  ////////////////////////////////////////////////////////////////////////
  // Registers: accesses by AXI4-Lite, those of the host link, and the tick's writes when there are none.

  logic access_valid, access_write, link_access_valid, link_access_ready, link_access_write, tick_valid, tick_ready;
  logic [15:0] access_address, link_access_address;
  logic [31:0] access_data, link_access_data, tick_data, read_data, block_data_q, nic_read_data;
  logic [47:0] link_access_source;
  axil_registers #(
      .AddressWidth(AddressWidth)
  ) u_axil (
      .clk_i,
      .rst_ni,
      .awvalid_i,
      .awready_o,
      .awaddr_i,
      .wvalid_i,
      .wready_o,
      .wdata_i,
      .wstrb_i,
      .bvalid_o,
      .bready_i,
      .bresp_o,
      .arvalid_i,
      .arready_o,
      .araddr_i,
      .rvalid_o,
      .rready_i,
      .rdata_o,
      .rresp_o,
      .access_valid_o  (access_valid),
      .access_write_o  (access_write),
      .access_address_o(access_address),
      .access_data_o   (access_data),
      .read_data_i     (read_data)
  );
  retry_ticker #(
      .Cycles(TickCycles)
  ) u_ticker (
      .clk_i,
      .rst_ni,
      .valid_o     (tick_valid),
      .ready_i     (tick_ready),
      .write_data_o(tick_data)
  );

  logic valid, write, nic_access, tick, writes_control, unused_read_valid, on_block_q, opens;
  logic [15:0] address;
  logic [31:0] write_data;
  assign valid = access_valid || link_access_valid;
  assign link_access_ready = !access_valid;
  assign write = access_valid ? access_write : link_access_write;
  assign address = access_valid ? access_address : link_access_address;
  assign write_data = access_valid ? access_data : link_access_data;
  assign nic_access = valid && address[15:12] == '0;
  assign tick_ready = !nic_access;
  assign tick = tick_valid && tick_ready;
  assign writes_control = nic_access && write && address[11:2] == nic_csr_pkg::ControlWord;
  // AXI4-Lite has no address for the frames of a session.
  assign opens = link_access_valid && link_access_ready && link_access_write && link_access_address == SessionRegister;

  // The NIC never stalls a port, whatever is written: the host's frames are next.
  localparam nic_csr_pkg::control_t Drop = '{drop: 1'b1, default: '0};

  // Whether the NIC runs, as it knows in the same cycle, and its address.
  logic run_q;
  logic [31:0] address_q;
  `FFE(run_q, write_data[0], writes_control, 1'b0)
  `FFE(address_q, write_data, nic_access && write && address[11:2] == nic_csr_pkg::AddressWord, '0)

  // Registers of the block: frames for the NIC, packets for the node that were dropped, the session of the host link,
  // how often it sent again, and frames of it that came from the network.
  logic [Ports-1:0] received, forged;
  logic host_dropped, replays;
  logic [31:0] received_q, host_dropped_q, replays_q, forged_q, session;
  `FF(received_q, received_q + 32'($countones(received)), '0)
  `FF(forged_q, forged_q + 32'($countones(forged)), '0)
  `FF(host_dropped_q, host_dropped_q + 32'(host_dropped), '0)
  `FF(replays_q, replays_q + 32'(replays), '0)
  always_ff @(posedge clk_i) begin
    on_block_q <= address[15:12] != '0;
    unique case ({
      address[15:2], 2'b00
    })
      ReceivedRegister:    block_data_q <= received_q;
      HostPacketsRegister: block_data_q <= host_dropped_q;
      SessionRegister:     block_data_q <= session;
      ReplaysRegister:     block_data_q <= replays_q;
      ForgedRegister:      block_data_q <= forged_q;
      default:             block_data_q <= '0;
    endcase
  end
  assign read_data = on_block_q ? block_data_q : nic_read_data;

  ////////////////////////////////////////////////////////////////////////
  // Ports.

  // The host link's frames, of port 0.
  logic link_in_valid, link_in_ready, link_in_last, link_out_valid, link_out_ready, link_out_last;
  logic [DataWidth-1:0] link_in_data, link_out_data;
  logic [KeepWidth-1:0] link_in_keep, link_out_keep;
  logic [Ports-1:0] nic_rx_valid, nic_rx_ready, nic_tx_valid, nic_tx_ready, nic_tx_last;
  logic [Ports-1:0][DataWidth-1:0] nic_tx_data;
  logic [Ports-1:0][KeepWidth-1:0] nic_tx_keep;

  for (genvar port = 0; port < Ports; port++) begin : gen_port
    // Received frames.
    logic for_nic_valid, for_nic_ready, pass_valid, pass_ready, link_valid, link_ready;
    frame_router #(
        .Outputs(RxOutputs)
    ) u_rx_router (
        .clk_i,
        .rst_ni,
        .select_i (route_received(net_rx_data_i[port], net_rx_keep_i[port], run_q, address_q, MacAddress)),
        .valid_i  (net_rx_valid_i[port]),
        .ready_o  (net_rx_ready_o[port]),
        .last_i   (net_rx_last_i[port]),
        .valid_o  ({pass_valid, for_nic_valid}),
        .ready_i  ({pass_ready, for_nic_ready}),
        .dropped_o(forged[port])
    );
    assign received[port] = for_nic_valid && for_nic_ready && net_rx_last_i[port];
    frame_gate u_gate (
        .clk_i,
        .rst_ni,
        .open_i (run_q),
        .valid_i(for_nic_valid),
        .ready_o(for_nic_ready),
        .last_i (net_rx_last_i[port]),
        .valid_o(nic_rx_valid[port]),
        .ready_i(nic_rx_ready[port])
    );
    frame_merge #(
        .DataWidth(DataWidth),
        .UserWidth(RxUserWidth)
    ) u_host_rx (
        .clk_i,
        .rst_ni,
        .valid_i({link_valid, pass_valid}),
        .ready_o({link_ready, pass_ready}),
        .data_i ({link_out_data, net_rx_data_i[port]}),
        .keep_i ({link_out_keep, net_rx_keep_i[port]}),
        .last_i ({link_out_last, net_rx_last_i[port]}),
        // The link's frames were not received at any time.
        .user_i ({{RxUserWidth{1'b0}}, net_rx_user_i[port]}),
        .valid_o(host_rx_valid_o[port]),
        .ready_i(host_rx_ready_i[port]),
        .data_o (host_rx_data_o[port]),
        .keep_o (host_rx_keep_o[port]),
        .last_o (host_rx_last_o[port]),
        .user_o (host_rx_user_o[port])
    );

    // Frames to send. One that is cut is marked, so that Corundum's queue drops it.
    logic sent_valid, sent_ready, closed_valid, closed_ready, closed_last, is_cut;
    logic [DataWidth-1:0] closed_data;
    logic [KeepWidth-1:0] closed_keep;
    frame_closer #(
        .DataWidth(DataWidth)
    ) u_closer (
        .clk_i,
        .rst_ni,
        .open_i  (run_q),
        .valid_i (nic_tx_valid[port]),
        .ready_o (nic_tx_ready[port]),
        .data_i  (nic_tx_data[port]),
        .keep_i  (nic_tx_keep[port]),
        .last_i  (nic_tx_last[port]),
        .valid_o (closed_valid),
        .ready_i (closed_ready),
        .data_o  (closed_data),
        .keep_o  (closed_keep),
        .last_o  (closed_last),
        .closes_o(is_cut)
    );
    frame_merge #(
        .DataWidth(DataWidth),
        .UserWidth(TxUserWidth)
    ) u_net_tx (
        .clk_i,
        .rst_ni,
        .valid_i({closed_valid, sent_valid}),
        .ready_o({closed_ready, sent_ready}),
        .data_i ({closed_data, host_tx_data_i[port]}),
        .keep_i ({closed_keep, host_tx_keep_i[port]}),
        .last_i ({closed_last, host_tx_last_i[port]}),
        .user_i ({NicTag, is_cut, host_tx_user_i[port]}),
        .valid_o(net_tx_valid_o[port]),
        .ready_i(net_tx_ready_i[port]),
        .data_o (net_tx_data_o[port]),
        .keep_o (net_tx_keep_o[port]),
        .last_o (net_tx_last_o[port]),
        .user_o (net_tx_user_o[port])
    );

    // Completions. No descriptor waits for those of the NIC's frames. A frame of the host link has none from a MAC, and
    // its descriptor waits; its next completion takes at least two cycles, those of its words, so others get through.
    logic linked_valid, linked_ready, own, cpl_valid, cpl_ready;
    logic [TagWidth-1:0] linked_tag;
    assign own = net_cpl_tag_i[port] == NicTag;
    assign cpl_valid = linked_valid || (net_cpl_valid_i[port] && !own);
    assign linked_ready = cpl_ready;
    assign net_cpl_ready_o[port] = own || (cpl_ready && !linked_valid);
    skid #(
        .Width(TimestampWidth + TagWidth)
    ) u_completions (
        .clk_i,
        .rst_ni,
        .valid_i(cpl_valid),
        .ready_o(cpl_ready),
        .data_i (linked_valid ? {{TimestampWidth{1'b0}}, linked_tag} : {net_cpl_ts_i[port], net_cpl_tag_i[port]}),
        .valid_o(host_cpl_valid_o[port]),
        .ready_i(host_cpl_ready_i[port]),
        .data_o ({host_cpl_ts_o[port], host_cpl_tag_o[port]})
    );

    if (port == 0) begin : gen_link
      // The last word waits for room for its completion.
      logic routed_valid, routed_ready, has_room, completes, unused_dropped;
      frame_router #(
          .Outputs(TxOutputs)
      ) u_tx_router (
          .clk_i,
          .rst_ni,
          .select_i (route_sent(host_tx_data_i[port], host_tx_keep_i[port], MacAddress)),
          .valid_i  (host_tx_valid_i[port]),
          .ready_o  (host_tx_ready_o[port]),
          .last_i   (host_tx_last_i[port]),
          .valid_o  ({sent_valid, routed_valid}),
          .ready_i  ({sent_ready, routed_ready}),
          .dropped_o(unused_dropped)
      );
      assign link_in_valid = routed_valid && (has_room || !host_tx_last_i[port]);
      assign routed_ready = link_in_ready && (has_room || !host_tx_last_i[port]);
      assign link_in_data = host_tx_data_i[port];
      assign link_in_keep = host_tx_keep_i[port];
      assign link_in_last = host_tx_last_i[port];
      assign completes = link_in_valid && link_in_ready && link_in_last;
      stage #(
          .Width(TagWidth)
      ) u_linked (
          .clk_i,
          .rst_ni,
          .valid_i(completes),
          .ready_o(has_room),
          .data_i (host_tx_user_i[port][TxUserWidth-1:1]),
          .valid_o(linked_valid),
          .ready_i(linked_ready),
          .data_o (linked_tag)
      );
      assign link_valid = link_out_valid;
      assign link_out_ready = link_ready;
    end else begin : gen_link
      assign sent_valid = host_tx_valid_i[port];
      assign host_tx_ready_o[port] = sent_ready;
      assign {linked_valid, linked_tag, link_valid} = '0;
      logic unused_ready;
      assign unused_ready = ^{linked_ready, link_ready};
    end
  end

  ////////////////////////////////////////////////////////////////////////
  // The host link: between two frames to any port, it is as on a board's cable.

  logic narrow_valid, narrow_ready, narrow_last, segment_valid, segment_ready, segment_last;
  logic link_valid, link_ready, link_last, answer_valid, answer_ready, answer_last;
  logic out_valid, out_ready, out_last;
  logic [LinkWidth-1:0] narrow_data, segment_data, link_data, answer_data, out_data;
  logic [LinkKeepWidth-1:0] narrow_keep, segment_keep, link_keep, out_keep;
  logic to_host_valid, to_host_ready, to_host_last, from_host_valid, from_host_ready, from_host_last;
  logic [LinkWidth-1:0] to_host_data, from_host_data;
  logic [LinkKeepWidth-1:0] to_host_keep, from_host_keep;
  nic_pkg::meta_t to_host_meta, from_host_meta;
  stream_narrow #(
      .WideWidth(DataWidth),
      .DataWidth(LinkWidth)
  ) u_narrow (
      .clk_i,
      .rst_ni,
      .valid_i(link_in_valid),
      .ready_o(link_in_ready),
      .data_i (link_in_data),
      .keep_i (link_in_keep),
      .last_i (link_in_last),
      .valid_o(narrow_valid),
      .ready_i(narrow_ready),
      .data_o (narrow_data),
      .keep_o (narrow_keep),
      .last_o (narrow_last)
  );
  host_link_registers u_link_registers (
      .clk_i,
      .rst_ni,
      .address_i       (MacAddress),
      .valid_i         (narrow_valid),
      .ready_o         (narrow_ready),
      .data_i          (narrow_data),
      .keep_i          (narrow_keep),
      .last_i          (narrow_last),
      .other_valid_o   (segment_valid),
      .other_ready_i   (segment_ready),
      .other_data_o    (segment_data),
      .other_keep_o    (segment_keep),
      .other_last_o    (segment_last),
      .access_valid_o  (link_access_valid),
      .access_ready_i  (link_access_ready),
      .access_write_o  (link_access_write),
      .access_address_o(link_access_address),
      .access_data_o   (link_access_data),
      .access_source_o (link_access_source),
      .read_data_i     (read_data),
      .reply_valid_o   (answer_valid),
      .reply_ready_i   (answer_ready),
      .reply_data_o    (answer_data),
      .reply_last_o    (answer_last)
  );
  host_link #(
      .Timeout(LinkTimeout)
  ) u_link (
      .clk_i,
      .rst_ni,
      .address_i     (MacAddress),
      .open_i        (opens),
      .open_session_i(link_access_data),
      .open_peer_i   (link_access_source),
      .session_o     (session),
      .rx_valid_i    (segment_valid),
      .rx_ready_o    (segment_ready),
      .rx_data_i     (segment_data),
      .rx_keep_i     (segment_keep),
      .rx_last_i     (segment_last),
      // Segments of another session, or without one.
      .other_valid_o (),
      .other_ready_i (1'b1),
      .other_data_o  (),
      .other_keep_o  (),
      .other_last_o  (),
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
  logic unused_sender;
  stream_arbiter #(
      .DataWidth(LinkWidth),
      .Ports    (2)
  ) u_senders (
      .clk_i,
      .rst_ni,
      .valid_i({link_valid, answer_valid}),
      .ready_o({link_ready, answer_ready}),
      .data_i ({link_data, answer_data}),
      .keep_i ({link_keep, {LinkKeepWidth{1'b1}}}),
      .last_i ({link_last, answer_last}),
      .valid_o(out_valid),
      .ready_i(out_ready),
      .data_o (out_data),
      .keep_o (out_keep),
      .last_o (out_last),
      .port_o (unused_sender)
  );
  stream_widen #(
      .DataWidth(LinkWidth),
      .WideWidth(DataWidth)
  ) u_widen (
      .clk_i,
      .rst_ni,
      .valid_i(out_valid),
      .ready_o(out_ready),
      .data_i (out_data),
      .keep_i (out_keep),
      .last_i (out_last),
      .valid_o(link_out_valid),
      .ready_i(link_out_ready),
      .data_o (link_out_data),
      .keep_o (link_out_keep),
      .last_o (link_out_last)
  );

  ////////////////////////////////////////////////////////////////////////
  // The NIC.

  turnpike_nic #(
      .DataWidth        (DataWidth),
      .HostWidth        (LinkWidth),
      .Ports            (Ports),
      .AccountIndexWidth(AccountIndexWidth),
      .WindowBits       (WindowBits),
      .WindowIndexWidth (WindowIndexWidth),
      // Only a host with all chains can fill a proof cache, and the node on a link does not.
      .ProofSets        (0),
      .ProofMisses      (4)
  ) u_nic (
      .clk_i,
      .rst_ni,
      .rx_valid_i          (nic_rx_valid),
      .rx_ready_o          (nic_rx_ready),
      .rx_data_i           (net_rx_data_i),
      .rx_keep_i           (net_rx_keep_i),
      .rx_last_i           (net_rx_last_i),
      .tx_valid_o          (nic_tx_valid),
      .tx_ready_i          (nic_tx_ready),
      .tx_data_o           (nic_tx_data),
      .tx_keep_o           (nic_tx_keep),
      .tx_last_o           (nic_tx_last),
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
endmodule
