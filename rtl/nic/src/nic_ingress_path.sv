// Ingress: merges packets of the ports, and packets that the host injects, into one stream; the packet selector chooses
// the engine for each. Everything else from the host is a command for the later stages.
//
//   ports -> nic_ingress -> arbiter -> packet_selector -> engines, or the host
//   host  -> nic_ingress ----^   +-> to be sent, fills, announcements

module nic_ingress_path
  import wire_pkg::*;
  import host_pkg::*;
  import nic_pkg::*;
#(
    // See turnpike_nic.
    parameter int unsigned DataWidth = 64,
    parameter int unsigned HostWidth = 512,
    parameter int unsigned Ports = 4,
    parameter bit Kv = 1'b0,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned HostKeepWidth = HostWidth / 8,
    // Internal ports: those of the network, then the host.
    localparam int unsigned PortWidth = $clog2(Ports + 1)
) (
    input  logic                                clk_i,
    input  logic                                rst_ni,
    // Configuration: see packet_selector. With drop_i, ports never stall.
    input  logic    [           31:0]                address_i,
    input  logic    [           15:0]                udp_port_i,
    input  logic    [           31:0]                trusted_address_i,
    input  logic    [           31:0]                trusted_mask_i,
    input  logic    [            7:0]                promise_i,
    input  logic    [           15:0]                kv_udp_port_i,
    input  logic                                take_compact_i,
    input  logic                                take_batch_i,
    input  logic                                take_proof_i,
    input  logic                                take_verify_i,
    input  logic                                drop_i,
    // Network ports, and which of them dropped a packet.
    input  logic    [      Ports-1:0]                rx_valid_i,
    output logic    [      Ports-1:0]                rx_ready_o,
    input  logic    [      Ports-1:0][DataWidth-1:0] rx_data_i,
    input  logic    [      Ports-1:0][KeepWidth-1:0] rx_keep_i,
    input  logic    [      Ports-1:0]                rx_last_i,
    output logic    [      Ports-1:0]                rx_dropped_o,
    // Host.
    input  logic                                from_host_valid_i,
    output logic                                from_host_ready_o,
    input  logic    [  HostWidth-1:0]                from_host_data_i,
    input  logic    [HostKeepWidth-1:0]              from_host_keep_i,
    input  logic                                from_host_last_i,
    input  meta_t                               from_host_meta_i,
    // Packets, each with its engine.
    output logic                                valid_o,
    input  logic                                ready_i,
    output word_t                               word_o,
    output logic    [  PortWidth-1:0]                port_o,
    output engine_e                             engine_o,
    output logic                                trusted_o,
    // Commands of the host, and their kind: at most one is valid.
    output word_t                               command_word_o,
    output meta_t                               command_meta_o,
    output logic                                send_valid_o,
    input  logic                                send_ready_i,
    output logic                                fill_valid_o,
    input  logic                                fill_ready_i,
    output logic                                announce_valid_o,
    input  logic                                announce_ready_i
);
  typedef logic [PortWidth-1:0] port_t;
  localparam port_t Host = port_t'(Ports);

  logic [Ports:0] in_valid, in_ready, in_last;
  word_t [Ports:0] in_word;
  logic [Ports:0][WordWidth-1:0] in_data;
  logic [Ports:0][WordBytes-1:0] in_keep;
  logic [Ports-1:0] unused_user;
  for (genvar port = 0; port < Ports; port++) begin : gen_rx
    nic_ingress #(
        .DataWidth(DataWidth)
    ) u_ingress (
        .clk_i,
        .rst_ni,
        .drop_i,
        .dropped_o(rx_dropped_o[port]),
        .valid_i(rx_valid_i[port]),
        .ready_o(rx_ready_o[port]),
        .data_i (rx_data_i[port]),
        .keep_i (rx_keep_i[port]),
        .last_i (rx_last_i[port]),
        .user_i (1'b0),
        .valid_o(in_valid[port]),
        .ready_i(in_ready[port]),
        .word_o (in_word[port]),
        .user_o (unused_user[port])
    );
  end
  for (genvar port = 0; port <= Ports; port++) begin : gen_in
    assign {in_last[port], in_keep[port], in_data[port]} = in_word[port];
  end

  logic sent_valid, sent_ready, command_valid, command_ready, unused_dropped;
  word_t sent_word;
  meta_t sent_meta;
  nic_ingress #(
      .DataWidth(HostWidth),
      .UserWidth($bits(meta_t))
  ) u_from_host (
      .clk_i,
      .rst_ni,
      .drop_i   (1'b0),
      .dropped_o(unused_dropped),
      .valid_i(from_host_valid_i),
      .ready_o(from_host_ready_o),
      .data_i (from_host_data_i),
      .keep_i (from_host_keep_i),
      .last_i (from_host_last_i),
      .user_i (from_host_meta_i),
      .valid_o(sent_valid),
      .ready_i(sent_ready),
      .word_o (sent_word),
      .user_o (sent_meta)
  );
  stage #(
      .Width($bits(word_t) + $bits(meta_t))
  ) u_command (
      .clk_i,
      .rst_ni,
      .valid_i(sent_valid),
      .ready_o(sent_ready),
      .data_i ({sent_meta, sent_word}),
      .valid_o(command_valid),
      .ready_i(command_ready),
      .data_o ({command_meta_o, command_word_o})
  );

  // Routes the host's packets by kind. Unknown kinds and ports are discarded.
  logic known_port, from_itself, sends, injects, fills, announces;
  port_t inject_port;
  assign known_port = command_meta_o.port < 8'(Ports);
  assign from_itself = command_meta_o.port == PortHost;
  assign sends = command_meta_o.kind == HostSend && known_port;
  assign injects = command_meta_o.kind == HostInject && (known_port || from_itself);
  assign fills = command_meta_o.kind == HostFill || command_meta_o.kind == HostNone;
  assign announces = command_meta_o.kind == HostAnnounce;
  assign inject_port = from_itself ? Host : port_t'(command_meta_o.port);
  assign send_valid_o = command_valid && sends;
  assign fill_valid_o = command_valid && fills;
  assign announce_valid_o = command_valid && announces;
  assign in_valid[Ports] = command_valid && injects;
  assign in_word[Ports] = command_word_o;
  always_comb begin
    command_ready = 1'b1;
    if (sends) command_ready = send_ready_i;
    else if (injects) command_ready = in_ready[Ports];
    else if (fills) command_ready = fill_ready_i;
    else if (announces) command_ready = announce_ready_i;
  end
  logic chosen_valid, chosen_ready, arriving_valid, arriving_ready;
  word_t chosen, arriving;
  port_t chosen_at, chosen_port, arriving_port;
  stream_arbiter #(
      .DataWidth(WordWidth),
      .Ports    (Ports + 1)
  ) u_arbiter (
      .clk_i,
      .rst_ni,
      .valid_i(in_valid),
      .ready_o(in_ready),
      .data_i (in_data),
      .keep_i (in_keep),
      .last_i (in_last),
      .valid_o(chosen_valid),
      .ready_i(chosen_ready),
      .data_o (chosen.data),
      .keep_o (chosen.keep),
      .last_o (chosen.last),
      .port_o (chosen_at)
  );
  assign chosen_port = chosen_at == Host ? inject_port : chosen_at;
  skid #(
      .Width($bits(word_t) + PortWidth)
  ) u_arriving (
      .clk_i,
      .rst_ni,
      .valid_i(chosen_valid),
      .ready_o(chosen_ready),
      .data_i ({chosen_port, chosen}),
      .valid_o(arriving_valid),
      .ready_i(arriving_ready),
      .data_o ({arriving_port, arriving})
  );

  packet_selector #(
      .PortWidth(PortWidth),
      .Kv       (Kv)
  ) u_selector (
      .clk_i,
      .rst_ni,
      .address_i,
      .udp_port_i,
      .trusted_address_i,
      .trusted_mask_i,
      .promise_i,
      .kv_udp_port_i,
      .take_compact_i,
      .take_batch_i,
      .take_proof_i,
      .take_verify_i,
      .valid_i          (arriving_valid),
      .ready_o          (arriving_ready),
      .word_i           (arriving),
      .port_i           (arriving_port),
      .valid_o,
      .ready_i,
      .word_o,
      .port_o,
      .engine_o,
      .trusted_o
  );
endmodule
