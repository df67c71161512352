// Egress: sends replies and the host's packets to the ports; sends to the host the replies that it holds, packets that
// no engine took, proofs that are not in the cache, records, and requests of memcached.
//
//   sources -> nic_egress -> ports
//   sources, packets and misses, records, requests of memcached -> nic_egress -> host

`include "assertions.svh"

module nic_egress_path
  import wire_pkg::*;
  import host_pkg::*;
  import nic_pkg::*;
#(
    // See turnpike_nic.
    parameter int unsigned DataWidth = 64,
    parameter int unsigned HostWidth = 512,
    parameter int unsigned Ports = 4,
    parameter int unsigned ProofMisses = 64,
    parameter bit Kv = 1'b0,
    localparam int unsigned Sources = BasicSources + 32'(Kv),
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned HostKeepWidth = HostWidth / 8,
    localparam int unsigned PortWidth = $clog2(Ports + 1),
    localparam int unsigned IdWidth = $clog2(ProofMisses)
) (
    input  logic                                  clk_i,
    input  logic                                  rst_ni,
    // Configuration. hold_i: replies to operations go to the host, which holds them. drop_i: packets are dropped if the
    // host has no room.
    input  logic                                  hold_i,
    input  logic                                  drop_i,
    // Packets for ports; nic_pkg defines the order of their sources.
    input  logic  [      Sources-1:0]                valid_i,
    output logic  [      Sources-1:0]                ready_o,
    input  word_t [      Sources-1:0]                word_i,
    input  logic  [      Sources-1:0][PortWidth-1:0] port_i,
    // Packets that no engine took.
    input  logic                                  pass_valid_i,
    output logic                                  pass_ready_o,
    input  word_t                                 pass_word_i,
    input  logic  [    PortWidth-1:0]                pass_port_i,
    // Verify frames that the engines do not take.
    input  logic                                  verify_pass_valid_i,
    output logic                                  verify_pass_ready_o,
    input  word_t                                 verify_pass_word_i,
    input  logic  [    PortWidth-1:0]                verify_pass_port_i,
    // Proofs that are not in the cache, and ids of those that were dropped.
    input  logic                                  miss_valid_i,
    output logic                                  miss_ready_o,
    input  word_t                                 miss_word_i,
    input  logic  [    PortWidth-1:0]                miss_port_i,
    input  logic                                  miss_fill_i,
    input  logic  [      IdWidth-1:0]                miss_id_i,
    output logic                                  lost_valid_o,
    input  logic                                  lost_ready_i,
    output logic  [      IdWidth-1:0]                lost_id_o,
    // Executed operations.
    input  logic                                  record_valid_i,
    output logic                                  record_ready_o,
    input  host_pkg::record_t                 record_i,
    // Requests of memcached, with `Kv`: those that were executed are never dropped.
    input  logic                                  kv_valid_i,
    output logic                                  kv_ready_o,
    input  word_t                                 kv_word_i,
    input  logic  [    PortWidth-1:0]                kv_port_i,
    input  logic                                  kv_executed_i,
    input  logic                                  kv_no_room_i,
    // Network ports.
    output logic  [        Ports-1:0]                tx_valid_o,
    input  logic  [        Ports-1:0]                tx_ready_i,
    output logic  [        Ports-1:0][DataWidth-1:0] tx_data_o,
    output logic  [        Ports-1:0][KeepWidth-1:0] tx_keep_o,
    output logic  [        Ports-1:0]                tx_last_o,
    // Host, and whether a packet for it was dropped.
    output logic                                  to_host_valid_o,
    input  logic                                  to_host_ready_i,
    output logic  [    HostWidth-1:0]                to_host_data_o,
    output logic  [HostKeepWidth-1:0]                to_host_keep_o,
    output logic                                  to_host_last_o,
    output meta_t                                 to_host_meta_o,
    output logic                                  host_dropped_o,
    output logic                                  kv_dropped_o
);
  typedef logic [PortWidth-1:0] port_t;
  localparam port_t Host = port_t'(Ports);

  logic [Sources-1:0] out_to_host;
  logic [Sources-1:0][Ports:0] out_accepts;
  for (genvar source = 0; source < Sources; source++) begin : gen_out
    assign out_to_host[source] = port_i[source] == Host ||
        (hold_i && (source == SourceCompact || source == SourceBatch));
    always_comb begin
      ready_o[source] = out_to_host[source] && out_accepts[source][Ports];
      for (int unsigned port = 0; port < Ports; port++) begin
        if (!out_to_host[source] && port_i[source] == port_t'(port)) ready_o[source] = out_accepts[source][port];
      end
    end
  end

  for (genvar port = 0; port < Ports; port++) begin : gen_tx
    logic [Sources-1:0] valid, ready;
    logic unused_tx_user, unused_dropped, unused_dropped_user;
    for (genvar source = 0; source < Sources; source++) begin : gen_source
      assign valid[source] = valid_i[source] && !out_to_host[source] && port_i[source] == port_t'(port);
      assign out_accepts[source][port] = ready[source];
    end
    nic_egress #(
        .DataWidth(DataWidth),
        .Sources  (Sources)
    ) u_egress (
        .clk_i,
        .rst_ni,
        .drop_i        (1'b0),
        .dropped_o     (unused_dropped),
        .dropped_user_o(unused_dropped_user),
        .valid_i(valid),
        .ready_o(ready),
        .word_i,
        .user_i ('0),
        .valid_o(tx_valid_o[port]),
        .ready_i(tx_ready_i[port]),
        .data_o (tx_data_o[port]),
        .keep_o (tx_keep_o[port]),
        .last_o (tx_last_o[port]),
        .user_o (unused_tx_user)
    );
  end

  function automatic logic [7:0] outside(port_t port);
    return port == Host ? PortHost : 8'(port);
  endfunction

  // Packets that no engine took, and proof misses: these may be dropped if the host is slow.
  logic asked_valid, asked_ready;
  word_t asked;
  meta_t asked_meta, dropped_meta;
  meta_t [2:0] source_meta;
  // A miss without an id is treated like any other packet.
  assign source_meta = {
    16'd0,
    outside(verify_pass_port_i),
    HostPacket,
    16'(miss_fill_i ? miss_id_i : '0),
    outside(miss_port_i),
    miss_fill_i ? HostMiss : HostPacket,
    16'd0,
    outside(pass_port_i),
    HostPacket
  };
  nic_egress #(
      .DataWidth(WordWidth),
      .UserWidth($bits(meta_t)),
      .Sources  (3)
  ) u_asked (
      .clk_i,
      .rst_ni,
      .drop_i,
      .dropped_o     (host_dropped_o),
      .dropped_user_o(dropped_meta),
      .valid_i       ({verify_pass_valid_i, miss_valid_i, pass_valid_i}),
      .ready_o       ({verify_pass_ready_o, miss_ready_o, pass_ready_o}),
      .word_i        ({verify_pass_word_i, miss_word_i, pass_word_i}),
      .user_i        (source_meta),
      .valid_o       (asked_valid),
      .ready_i       (asked_ready),
      .data_o        (asked.data),
      .keep_o        (asked.keep),
      .last_o        (asked.last),
      .user_o        (asked_meta)
  );
  // As deep as there are ids, so it is never full.
  logic lost_ready;
  logic [$clog2(ProofMisses+1)-1:0] unused_lost;
  fifo #(
      .Width(IdWidth),
      .Depth(ProofMisses)
  ) u_lost (
      .clk_i,
      .rst_ni,
      .valid_i(host_dropped_o && dropped_meta.kind == HostMiss),
      .ready_o(lost_ready),
      .data_i (dropped_meta.id[IdWidth-1:0]),
      .valid_o(lost_valid_o),
      .ready_i(lost_ready_i),
      .data_o (lost_id_o),
      .count_o(unused_lost)
  );
  logic unused_dropped_port;
  assign unused_dropped_port = ^dropped_meta;
  `ASSERT(ids_have_room, lost_ready || !host_dropped_o || dropped_meta.kind != HostMiss)

  // Sources of the host's stream: those of the ports, then these, then records.
  localparam int unsigned Asked = Sources;
  localparam int unsigned Recorded = Sources + 1;
  localparam int unsigned Stored = Sources + 2;
  localparam int unsigned HostSources = Sources + 2 + 32'(Kv);
  logic [HostSources-1:0] host_valid, host_accepts;
  word_t [HostSources-1:0] host_word;
  meta_t [HostSources-1:0] host_meta;
  for (genvar source = 0; source < Sources; source++) begin : gen_held
    assign host_valid[source] = valid_i[source] && out_to_host[source];
    assign host_word[source] = word_i[source];
    assign host_meta[source] = '{id: '0, port: outside(port_i[source]), kind: HostReply};
    assign out_accepts[source][Ports] = host_accepts[source];
  end
  assign host_valid[Asked] = asked_valid;
  assign host_word[Asked] = asked;
  assign host_meta[Asked] = asked_meta;
  assign asked_ready = host_accepts[Asked];
  // Records have the first byte lowest, like packets.
  assign host_valid[Recorded] = record_valid_i;
  assign host_word[Recorded] = '{last: 1'b1, keep: 64'hffff_ffff, data: swap_bytes({record_i, 256'b0})};
  assign host_meta[Recorded] = '{id: '0, port: '0, kind: HostRecord};
  assign record_ready_o = host_accepts[Recorded];

  if (Kv) begin : gen_kv
    // A single queue, since the host executes in the order of its packets.
    meta_t meta;
    assign meta = '{
            id: kv_no_room_i ? KvNoRoom : '0,
            port: outside(kv_port_i),
            kind: kv_executed_i ? HostExecuted : HostPacket
        };
    packet_fifo #(
        .UserWidth($bits(meta_t))
    ) u_packets (
        .clk_i,
        .rst_ni,
        .drop_i   (drop_i && !kv_executed_i),
        .dropped_o(kv_dropped_o),
        .valid_i  (kv_valid_i),
        .ready_o  (kv_ready_o),
        .word_i   (kv_word_i),
        .user_i   (meta),
        .valid_o  (host_valid[Stored]),
        .ready_i  (host_accepts[Stored]),
        .word_o   (host_word[Stored]),
        .user_o   (host_meta[Stored])
    );
  end else begin : gen_kv
    assign {kv_ready_o, kv_dropped_o} = '0;
    logic unused_kv;
    assign unused_kv = ^{kv_valid_i, kv_word_i, kv_port_i, kv_executed_i, kv_no_room_i};
  end

  logic  unused_host_dropped;
  meta_t unused_host_meta;
  nic_egress #(
      .DataWidth(HostWidth),
      .UserWidth($bits(meta_t)),
      .Sources  (HostSources)
  ) u_to_host (
      .clk_i,
      .rst_ni,
      .drop_i        (1'b0),
      .dropped_o     (unused_host_dropped),
      .dropped_user_o(unused_host_meta),
      .valid_i       (host_valid),
      .ready_o       (host_accepts),
      .word_i        (host_word),
      .user_i        (host_meta),
      .valid_o       (to_host_valid_o),
      .ready_i       (to_host_ready_i),
      .data_o        (to_host_data_o),
      .keep_o        (to_host_keep_o),
      .last_o        (to_host_last_o),
      .user_o        (to_host_meta_o)
  );
endmodule
