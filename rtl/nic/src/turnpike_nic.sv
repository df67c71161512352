// The NIC: network ports, a host, and the engines between them. A packet that no engine takes goes to the host
// unmodified.
//
//   ports, host -> nic_ingress_path -> nic_engines -> nic_egress_path -> ports, host
//                          +-------- unmodified --------------^
//
// Everything here shares one clock and reset; a board synchronises its ports to this clock. See docs/rtl-nic.md.

`include "assertions.svh"
`include "registers.svh"

module turnpike_nic
  import wire_pkg::*;
  import host_pkg::*;
  import nic_pkg::*;
#(
    // Width of a network port, and of the host's streams.
    parameter int unsigned DataWidth = 64,
    parameter int unsigned HostWidth = 512,
    parameter int unsigned Ports = 4,
    // See store_controller.
    parameter int unsigned AccountIndexWidth = 8,
    parameter int unsigned WindowBits = 10,
    parameter int unsigned WindowIndexWidth = 10,
    // See proof_cache. 0 sets: no cache, and proof frames go to the host.
    parameter int unsigned ProofSets = 64,
    parameter int unsigned ProofWays = 4,
    parameter int unsigned ProofMisses = 64,
    // Accounts, and replies of the proof cache, in external memory; else on chip. Lines: see store_controller.
    parameter bit AccountsExternal = 1'b0,
    parameter int unsigned AccountLines = 64,
    parameter bit ProofsExternal = 1'b0,
    // Verification engines: the number for signatures, one for Merkle roots, one for Equihash with these parameters. 0:
    // none.
    parameter int unsigned VerifySignatures = 0,
    parameter bit VerifyRoots = 1'b0,
    parameter int unsigned VerifyEquihashN = 0,
    parameter int unsigned VerifyEquihashK = 0,
    // The key-value store, with its items in external memory, see kv_store.
    parameter bit Kv = 1'b0,
    parameter int unsigned KvBuckets = 512,
    parameter int unsigned KvBlocks = 256,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned HostKeepWidth = HostWidth / 8,
    localparam int unsigned AccountLineWidth = $clog2(AccountLines),
    localparam int unsigned ProofAddrWidth = ProofSets > 0 ? $clog2(ProofSets * ProofWays * 16) : 1,
    localparam int unsigned ProofSlotWidth = ProofsExternal ? 6 : 2,
    localparam int unsigned KvAddrWidth = $clog2(KvBlocks) + $clog2(2 * kv_pkg::LastRows),
    localparam int unsigned KvSlotWidth = 6
) (
    input  logic                                                clk_i,
    input  logic                                                rst_ni,
    // Network ports: packets without preamble and frame check sequence.
    input  logic  [                       Ports-1:0]                rx_valid_i,
    output logic  [                       Ports-1:0]                rx_ready_o,
    input  logic  [                       Ports-1:0][DataWidth-1:0] rx_data_i,
    input  logic  [                       Ports-1:0][KeepWidth-1:0] rx_keep_i,
    input  logic  [                       Ports-1:0]                rx_last_i,
    output logic  [                       Ports-1:0]                tx_valid_o,
    input  logic  [                       Ports-1:0]                tx_ready_i,
    output logic  [                       Ports-1:0][DataWidth-1:0] tx_data_o,
    output logic  [                       Ports-1:0][KeepWidth-1:0] tx_keep_o,
    output logic  [                       Ports-1:0]                tx_last_o,
    // Packets to and from the host; `meta` is the same for all words of a packet.
    output logic                                                to_host_valid_o,
    input  logic                                                to_host_ready_i,
    output logic  [                   HostWidth-1:0]                to_host_data_o,
    output logic  [               HostKeepWidth-1:0]                to_host_keep_o,
    output logic                                                to_host_last_o,
    output meta_t                                               to_host_meta_o,
    input  logic                                                from_host_valid_i,
    output logic                                                from_host_ready_o,
    input  logic  [                   HostWidth-1:0]                from_host_data_i,
    input  logic  [               HostKeepWidth-1:0]                from_host_keep_i,
    input  logic                                                from_host_last_i,
    input  meta_t                                               from_host_meta_i,
    // Registers: no back-pressure, read data come in the next cycle. See nic_csr.
    input  logic                                                csr_valid_i,
    input  logic                                                csr_write_i,
    input  logic  [   nic_csr_pkg::AddressWidth-1:0]                csr_address_i,
    input  logic  [                            31:0]                csr_write_data_i,
    output logic                                                csr_read_valid_o,
    output logic  [                            31:0]                csr_read_data_o,
    // Memory of the accounts: two ports to each half, [half][port], see store_controller. Reads are answered in any
    // order; each port's writes are acknowledged in order. No row is read and written at the same time. Idle if the
    // accounts are on chip.
    output logic  [1:0][1:0]                                        account_read_valid_o,
    input  logic  [1:0][1:0]                                        account_read_ready_i,
    output logic  [1:0][1:0][AccountIndexWidth-1:0]                 account_read_addr_o,
    output logic  [1:0][1:0][ AccountLineWidth-1:0]                 account_read_line_o,
    input  logic  [1:0][1:0]                                        account_data_valid_i,
    input  logic  [1:0][1:0][ AccountLineWidth-1:0]                 account_data_line_i,
    input  transfer_pkg::bucket_t [1:0][1:0]                        account_data_i,
    output logic  [1:0][1:0]                                        account_write_valid_o,
    input  logic  [1:0][1:0]                                        account_write_ready_i,
    output logic  [1:0][1:0][AccountIndexWidth-1:0]                 account_write_addr_o,
    output logic  [1:0][1:0][transfer_pkg::AccountWays-1:0]         account_write_ways_o,
    output transfer_pkg::account_t [1:0][1:0]                       account_write_data_o,
    input  logic  [1:0][1:0]                                        account_written_i,
    // Memory of the proof cache's replies, in words of 64 bytes, see proof_cache: the same rules.
    output logic                                                    proof_read_valid_o,
    input  logic                                                    proof_read_ready_i,
    output logic  [               ProofAddrWidth-1:0]                proof_read_addr_o,
    output logic  [               ProofSlotWidth-1:0]                proof_read_slot_o,
    input  logic                                                    proof_data_valid_i,
    input  logic  [               ProofSlotWidth-1:0]                proof_data_slot_i,
    input  logic  [                           511:0]                proof_data_i,
    output logic                                                    proof_write_valid_o,
    input  logic                                                    proof_write_ready_i,
    output logic  [               ProofAddrWidth-1:0]                proof_write_addr_o,
    output logic  [                           511:0]                proof_write_data_o,
    input  logic                                                    proof_written_i,
    // Memory of the key-value store's items, in rows of 64 bytes, see kv_store: the same rules.
    output logic                                                    kv_read_valid_o,
    input  logic                                                    kv_read_ready_i,
    output logic  [                  KvAddrWidth-1:0]                kv_read_addr_o,
    output logic  [                  KvSlotWidth-1:0]                kv_read_slot_o,
    input  logic                                                    kv_data_valid_i,
    input  logic  [                  KvSlotWidth-1:0]                kv_data_slot_i,
    input  logic  [                           511:0]                kv_data_i,
    output logic                                                    kv_write_valid_o,
    input  logic                                                    kv_write_ready_i,
    output logic  [                  KvAddrWidth-1:0]                kv_write_addr_o,
    output logic  [                           511:0]                kv_write_data_o,
    input  logic                                                    kv_written_i
);
  `PARAMETER_CHECK(width, DataWidth inside {64, 128, 256, 512}, "turnpike_nic: DataWidth must be 64, 128, 256 or 512")
  `PARAMETER_CHECK(host_width, HostWidth inside {64, 128, 256, 512},
                   "turnpike_nic: HostWidth must be 64, 128, 256 or 512")
  `PARAMETER_CHECK(ports, Ports >= 1 && Ports <= 8, "turnpike_nic: Ports must be from 1 to 8")

  // Internal ports: those of the network, then the host.
  localparam int unsigned PortWidth = $clog2(Ports + 1);
  localparam int unsigned LimitWidth = AccountIndexWidth + 4;
  localparam int unsigned IdWidth = $clog2(ProofMisses);
  localparam int unsigned Sources = BasicSources + 32'(Kv);
  localparam logic [verify_frame_pkg::Schemes-1:0] VerifyEngines = {
    VerifyEquihashN > 0, VerifyRoots, VerifySignatures > 0
  };
  typedef logic [PortWidth-1:0] port_t;

  ////////////////////////////////////////////////////////////////////////
  // Registers. They stay out of reset while the data path is stopped.

  nic_csr_pkg::config_t csr;
  nic_csr_pkg::events_t events;
  nic_csr_pkg::kv_config_t kv_csr;
  nic_csr_pkg::kv_events_t kv_events;
  nic_csr #(
      .Ports        (Ports),
      .Retries      (2 ** WindowBits),
      .VerifyEngines(32'(VerifyEngines)),
      .Kv           (Kv)
  ) u_csr (
      .clk_i,
      .rst_ni,
      .valid_i     (csr_valid_i),
      .write_i     (csr_write_i),
      .address_i   (csr_address_i),
      .write_data_i(csr_write_data_i),
      .read_valid_o(csr_read_valid_o),
      .read_data_o (csr_read_data_o),
      .config_o    (csr),
      .events_i    (events),
      .kv_config_o (kv_csr),
      .kv_events_i (kv_events)
  );
  logic run, run_n, quiet;
  assign run_n = rst_ni && run;
  if (AccountsExternal || ProofsExternal || Kv) begin : gen_run
    // Memory requests of a stopped data path must not be answered to the next one, so a restart waits for them.
    logic may_run_q;
    assign run = csr.control.run && may_run_q;
    `FF(may_run_q, csr.control.run && (may_run_q || quiet), 1'b0)
  end else begin : gen_run
    assign run = csr.control.run;
    logic unused_quiet;
    assign unused_quiet = quiet;
  end

  ////////////////////////////////////////////////////////////////////////
  // Ingress. Nothing is accepted while the data path is stopped.

  // With drop set nothing may stall, so verify frames without room in the engines go to the host, like other packets
  // that no engine takes.
  logic take_verify, verify_room;
  assign take_verify = csr.control.verify && VerifyEngines != '0 && (verify_room || !csr.control.drop);

  logic [Ports-1:0] rx_ready, rx_dropped;
  logic from_host_ready, selected_valid, selected_ready, selected_trusted;
  word_t   selected;
  port_t   selected_port;
  engine_e selected_engine;
  word_t   command_word;
  meta_t   command_meta;
  logic send_valid, send_ready, fill_valid, fill_ready, announce_valid, announce_ready;
  assign rx_ready_o = {Ports{run}} & rx_ready;
  assign from_host_ready_o = run && from_host_ready;
  nic_ingress_path #(
      .DataWidth(DataWidth),
      .HostWidth(HostWidth),
      .Ports    (Ports),
      .Kv       (Kv)
  ) u_ingress_path (
      .clk_i,
      .rst_ni           (run_n),
      .address_i        (csr.address),
      .udp_port_i       (csr.udp_port),
      .trusted_address_i(csr.trusted_address),
      .trusted_mask_i   (csr.trusted_mask),
      .promise_i        (csr.promise),
      .kv_udp_port_i    (kv_csr.kv_udp_port),
      .take_compact_i   (csr.control.compact),
      .take_batch_i     (csr.control.batch),
      .take_proof_i     (csr.control.proof && ProofSets > 0),
      .take_verify_i    (take_verify),
      .drop_i           (csr.control.drop),
      .rx_valid_i,
      .rx_ready_o       (rx_ready),
      .rx_data_i,
      .rx_keep_i,
      .rx_last_i,
      .rx_dropped_o     (rx_dropped),
      .from_host_valid_i,
      .from_host_ready_o(from_host_ready),
      .from_host_data_i,
      .from_host_keep_i,
      .from_host_last_i,
      .from_host_meta_i,
      .valid_o          (selected_valid),
      .ready_i          (selected_ready),
      .word_o           (selected),
      .port_o           (selected_port),
      .engine_o         (selected_engine),
      .trusted_o        (selected_trusted),
      .command_word_o   (command_word),
      .command_meta_o   (command_meta),
      .send_valid_o     (send_valid),
      .send_ready_i     (send_ready),
      .fill_valid_o     (fill_valid),
      .fill_ready_i     (fill_ready),
      .announce_valid_o (announce_valid),
      .announce_ready_i (announce_ready)
  );

  logic pass_valid, pass_ready, compact_valid, compact_ready, batch_valid, batch_ready, proof_valid, proof_ready;
  logic verify_valid, verify_ready, kv_valid, kv_ready;
  assign pass_valid = selected_valid && selected_engine == ForHost;
  assign compact_valid = selected_valid && selected_engine == ForCompact;
  assign batch_valid = selected_valid && selected_engine == ForBatch;
  assign proof_valid = selected_valid && selected_engine == ForProof;
  assign verify_valid = selected_valid && selected_engine == ForVerify;
  assign kv_valid = Kv && selected_valid && selected_engine == ForKv;
  always_comb begin
    unique case (selected_engine)
      ForHost: selected_ready = pass_ready;
      ForCompact: selected_ready = compact_ready;
      ForBatch: selected_ready = batch_ready;
      ForProof: selected_ready = proof_ready;
      ForVerify: selected_ready = verify_ready;
      ForKv: selected_ready = !Kv || kv_ready;
      default: selected_ready = 1'b1;
    endcase
  end

  ////////////////////////////////////////////////////////////////////////
  // Engines.

  // Egress streams of packets, and their ports: the host's, then replies.
  logic [Sources-1:0] out_valid, out_ready;
  word_t [Sources-1:0] out_word;
  port_t [Sources-1:0] out_port;
  assign out_valid[SourceSent] = send_valid;
  assign out_word[SourceSent] = command_word;
  assign out_port[SourceSent] = port_t'(command_meta.port);
  assign send_ready = out_ready[SourceSent];

  logic record_valid, record_ready, miss_valid, miss_ready, miss_fill, lost_valid, lost_ready;
  logic operation_done, filled, fill_refused, verify_pass_valid, verify_pass_ready;
  word_t verify_pass_word;
  port_t verify_pass_port;
  logic kv_host_valid, kv_host_ready, kv_host_executed, kv_host_no_room, kv_executed;
  word_t kv_host_word;
  port_t kv_host_port;
  logic [verify_frame_pkg::Schemes-1:0] verified;
  host_pkg::record_t record;
  logic [IdWidth-1:0] miss_id, lost_id;
  word_t miss_word;
  port_t miss_port;
  // A limit with more bits than the table can reach limits nothing.
  logic [LimitWidth-1:0] account_limit;
  assign account_limit = (csr.account_limit >> LimitWidth) == '0 ? csr.account_limit[LimitWidth-1:0] : '1;
  nic_engines #(
      .Ports            (Ports),
      .AccountIndexWidth(AccountIndexWidth),
      .WindowBits       (WindowBits),
      .WindowIndexWidth (WindowIndexWidth),
      .ProofSets        (ProofSets),
      .ProofWays        (ProofWays),
      .ProofMisses      (ProofMisses),
      .AccountsExternal (AccountsExternal),
      .AccountLines     (AccountLines),
      .ProofsExternal   (ProofsExternal),
      .VerifySignatures (VerifySignatures),
      .VerifyRoots      (VerifyRoots),
      .VerifyEquihashN  (VerifyEquihashN),
      .VerifyEquihashK  (VerifyEquihashK),
      .Kv               (Kv),
      .KvBuckets        (KvBuckets),
      .KvBlocks         (KvBlocks)
  ) u_engines (
      .clk_i,
      .rst_ni,
      .run_i           (run),
      .quiet_o         (quiet),
      .secret_i        (csr.secret),
      .limit_i         (account_limit),
      .retry_tick_i    (csr.retry_tick),
      .record_enable_i (csr.control.record),
      .promise_i       (csr.promise),
      .proof_secrets_i (csr.proof_secret),
      .kv_key_secrets_i(kv_csr.kv_key_secret),
      .kv_table_secrets_i(kv_csr.kv_table_secret),
      .kv_now_i        (kv_csr.kv_now),
      .kv_series_i     (kv_csr.kv_series),
      .compact_valid_i (compact_valid),
      .compact_ready_o (compact_ready),
      .batch_valid_i   (batch_valid),
      .batch_ready_o   (batch_ready),
      .proof_valid_i   (proof_valid),
      .proof_ready_o   (proof_ready),
      .verify_valid_i  (verify_valid),
      .verify_ready_o  (verify_ready),
      .kv_valid_i      (kv_valid),
      .kv_ready_o      (kv_ready),
      .word_i          (selected),
      .port_i          (selected_port),
      .trusted_i       (selected_trusted),
      .verify_room_o   (verify_room),
      .reply_valid_o   (out_valid[Sources-1:1]),
      .reply_ready_i   (out_ready[Sources-1:1]),
      .reply_word_o    (out_word[Sources-1:1]),
      .reply_port_o    (out_port[Sources-1:1]),
      .record_valid_o  (record_valid),
      .record_ready_i  (record_ready),
      .record_o        (record),
      .miss_valid_o    (miss_valid),
      .miss_ready_i    (miss_ready),
      .miss_word_o     (miss_word),
      .miss_port_o     (miss_port),
      .miss_fill_o     (miss_fill),
      .miss_id_o       (miss_id),
      .lost_valid_i    (lost_valid),
      .lost_ready_o    (lost_ready),
      .lost_id_i       (lost_id),
      .verify_pass_valid_o(verify_pass_valid),
      .verify_pass_ready_i(verify_pass_ready),
      .verify_pass_word_o(verify_pass_word),
      .verify_pass_port_o(verify_pass_port),
      .kv_host_valid_o (kv_host_valid),
      .kv_host_ready_i (kv_host_ready),
      .kv_host_word_o  (kv_host_word),
      .kv_host_port_o  (kv_host_port),
      .kv_host_executed_o(kv_host_executed),
      .kv_host_no_room_o(kv_host_no_room),
      .command_word_i  (command_word),
      .fill_valid_i    (fill_valid),
      .fill_ready_o    (fill_ready),
      .fill_id_i       (command_meta.id[IdWidth-1:0]),
      .fill_none_i     (command_meta.kind == HostNone),
      .announce_valid_i(announce_valid),
      .announce_ready_o(announce_ready),
      .done_o          (operation_done),
      .verified_o      (verified),
      .kv_executed_o   (kv_executed),
      .filled_o        (filled),
      .fill_refused_o  (fill_refused),
      .account_read_valid_o,
      .account_read_ready_i,
      .account_read_addr_o,
      .account_read_line_o,
      .account_data_valid_i,
      .account_data_line_i,
      .account_data_i,
      .account_write_valid_o,
      .account_write_ready_i,
      .account_write_addr_o,
      .account_write_ways_o,
      .account_write_data_o,
      .account_written_i,
      .proof_read_valid_o,
      .proof_read_ready_i,
      .proof_read_addr_o,
      .proof_read_slot_o,
      .proof_data_valid_i,
      .proof_data_slot_i,
      .proof_data_i,
      .proof_write_valid_o,
      .proof_write_ready_i,
      .proof_write_addr_o,
      .proof_write_data_o,
      .proof_written_i,
      .kv_read_valid_o,
      .kv_read_ready_i,
      .kv_read_addr_o,
      .kv_read_slot_o,
      .kv_data_valid_i,
      .kv_data_slot_i,
      .kv_data_i,
      .kv_write_valid_o,
      .kv_write_ready_i,
      .kv_write_addr_o,
      .kv_write_data_o,
      .kv_written_i
  );

  ////////////////////////////////////////////////////////////////////////
  // Egress.

  logic host_dropped, kv_dropped;
  nic_egress_path #(
      .DataWidth  (DataWidth),
      .HostWidth  (HostWidth),
      .Ports      (Ports),
      .ProofMisses(ProofMisses),
      .Kv         (Kv)
  ) u_egress_path (
      .clk_i,
      .rst_ni        (run_n),
      .hold_i        (csr.control.hold),
      .drop_i        (csr.control.drop),
      .valid_i       (out_valid),
      .ready_o       (out_ready),
      .word_i        (out_word),
      .port_i        (out_port),
      .pass_valid_i  (pass_valid),
      .pass_ready_o  (pass_ready),
      .pass_word_i   (selected),
      .pass_port_i   (selected_port),
      .verify_pass_valid_i(verify_pass_valid),
      .verify_pass_ready_o(verify_pass_ready),
      .verify_pass_word_i(verify_pass_word),
      .verify_pass_port_i(verify_pass_port),
      .miss_valid_i  (miss_valid),
      .miss_ready_o  (miss_ready),
      .miss_word_i   (miss_word),
      .miss_port_i   (miss_port),
      .miss_fill_i   (miss_fill),
      .miss_id_i     (miss_id),
      .lost_valid_o  (lost_valid),
      .lost_ready_i  (lost_ready),
      .lost_id_o     (lost_id),
      .record_valid_i(record_valid),
      .record_ready_o(record_ready),
      .record_i      (record),
      .kv_valid_i    (kv_host_valid),
      .kv_ready_o    (kv_host_ready),
      .kv_word_i     (kv_host_word),
      .kv_port_i     (kv_host_port),
      .kv_executed_i (kv_host_executed),
      .kv_no_room_i  (kv_host_no_room),
      .tx_valid_o,
      .tx_ready_i,
      .tx_data_o,
      .tx_keep_o,
      .tx_last_o,
      .to_host_valid_o,
      .to_host_ready_i,
      .to_host_data_o,
      .to_host_keep_o,
      .to_host_last_o,
      .to_host_meta_o,
      .host_dropped_o(host_dropped),
      .kv_dropped_o  (kv_dropped)
  );

  ////////////////////////////////////////////////////////////////////////
  // Events to count, a cycle later.

  nic_csr_pkg::events_t happens;
  `FF(events, happens, '0)
  always_comb begin
    happens = '0;
    for (int unsigned port = 0; port < Ports; port++) begin
      happens.rx_packets[port] = rx_valid_i[port] && rx_ready_o[port] && rx_last_i[port];
      happens.tx_packets[port] = tx_valid_o[port] && tx_ready_i[port] && tx_last_o[port];
      happens.rx_dropped[port] = rx_dropped[port];
    end
    happens.compact_packets = compact_valid && compact_ready;
    happens.batch_packets = batch_valid && batch_ready && selected.last;
    happens.operations = operation_done;
    happens.proof_hits = out_valid[SourceProof] && out_ready[SourceProof] && out_word[SourceProof].last;
    happens.proof_misses = miss_valid && miss_ready && miss_word.last;
    happens.fills = filled;
    happens.fills_refused = fill_refused;
    happens.host_packets = pass_valid && pass_ready && selected.last;
    happens.host_dropped = host_dropped;
    happens.verify_packets = out_valid[SourceVerify] && out_ready[SourceVerify] && out_word[SourceVerify].last;
    happens.verify_passed = verify_pass_valid && verify_pass_ready && verify_pass_word.last;
    happens.verify_signatures = verified[verify_frame_pkg::SchemeSignature];
    happens.verify_roots = verified[verify_frame_pkg::SchemeRoot];
    happens.verify_headers = verified[verify_frame_pkg::SchemeHeader];
    happens.sent_packets = send_valid && send_ready && command_word.last;
  end

  if (Kv) begin : gen_kv_events
    nic_csr_pkg::kv_events_t kv_happens;
    assign kv_happens.kv_executed = kv_executed;
    assign kv_happens.kv_passed = kv_host_valid && kv_host_ready && kv_host_word.last && !kv_host_executed;
    assign kv_happens.kv_dropped = kv_dropped;
    `FF(kv_events, kv_happens, '0)
  end else begin : gen_kv_events
    assign kv_events = '0;
    logic unused_events;
    assign unused_events = ^{kv_executed, kv_dropped};
  end
endmodule
