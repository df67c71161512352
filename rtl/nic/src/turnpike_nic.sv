// The NIC: network ports, a host, and between them the engines. What no engine takes goes to the host as it came.
//
//   ports -> nic_ingress -> arbiter -> packet_selector -> transfer -> nic_egress -> ports
//                              ^              |
//                      host ---+              +-> host
//
// Clock and reset are those of everything here; a board brings its ports to this clock. See docs/rtl-nic.md.

`include "assertions.svh"
`include "registers.svh"

module turnpike_nic
  import wire_pkg::*;
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
    // See proof_cache.
    parameter int unsigned ProofSets = 64,
    parameter int unsigned ProofWays = 4,
    parameter int unsigned ProofMisses = 64,
    // Accounts, and the replies of the proof cache, in external memory; else on the chip. Lines: see store_controller.
    parameter bit AccountsExternal = 1'b0,
    parameter int unsigned AccountLines = 64,
    parameter bit ProofsExternal = 1'b0,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned HostKeepWidth = HostWidth / 8,
    localparam int unsigned AccountLineWidth = $clog2(AccountLines),
    localparam int unsigned ProofAddrWidth = $clog2(ProofSets * ProofWays * 16),
    localparam int unsigned ProofSlotWidth = ProofsExternal ? 6 : 2
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
    // Packets to the host, and from it; `meta` is the same for all words of a packet.
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
    // Registers: never refused, what was read comes in the next cycle. See nic_csr.
    input  logic                                                csr_valid_i,
    input  logic                                                csr_write_i,
    input  logic  [   nic_csr_pkg::AddressWidth-1:0]                csr_address_i,
    input  logic  [                            31:0]                csr_write_data_i,
    output logic                                                csr_read_valid_o,
    output logic  [                            31:0]                csr_read_data_o,
    // Memory of the accounts: two ports to each half, [half][port], see store_controller. Reads are answered in any order, each port's writes
    // are told of in order. No row is read and written at a time. Idle where the accounts are on the chip.
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
    // Memory of the proof cache's replies, in words of 64 bytes, see proof_cache: under the same rules.
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
    input  logic                                                    proof_written_i
);
  `PARAMETER_CHECK(width, DataWidth inside {64, 128, 256, 512}, "turnpike_nic: DataWidth has to be 64, 128, 256 or 512")
  `PARAMETER_CHECK(host_width, HostWidth inside {64, 128, 256, 512},
                   "turnpike_nic: HostWidth has to be 64, 128, 256 or 512")
  `PARAMETER_CHECK(ports, Ports >= 1 && Ports <= 8, "turnpike_nic: Ports has to be from 1 to 8")

  // Ports inside: those of the network, and the host as the last.
  localparam int unsigned PortWidth = $clog2(Ports + 1);
  localparam int unsigned LimitWidth = AccountIndexWidth + 4;
  localparam int unsigned IdWidth = $clog2(ProofMisses);
  typedef logic [PortWidth-1:0] port_t;
  localparam port_t Host = port_t'(Ports);

  ////////////////////////////////////////////////////////////////////////
  // Registers. They alone are not in reset while the data path does not run.

  nic_csr_pkg::config_t csr;
  nic_csr_pkg::events_t events;
  nic_csr #(
      .Ports  (Ports),
      .Retries(2 ** WindowBits)
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
      .events_i    (events)
  );
  logic run, run_n, quiet;
  assign run_n = rst_ni && run;
  if (AccountsExternal || ProofsExternal) begin : gen_run
    // What a data path that has ended asked of the memory is not for the next one.
    logic may_run_q;
    assign run = csr.control.run && may_run_q;
    `FF(may_run_q, csr.control.run && (may_run_q || quiet), 1'b0)
  end else begin : gen_run
    assign run = csr.control.run;
    logic unused_quiet;
    assign unused_quiet = quiet;
  end

  ////////////////////////////////////////////////////////////////////////
  // In: ports, and what the host injects.

  logic [Ports:0] in_valid, in_ready, in_last;
  word_t [Ports:0] in_word;
  logic [Ports:0][WordWidth-1:0] in_data;
  logic [Ports:0][WordBytes-1:0] in_keep;
  logic [Ports-1:0] rx_ready, rx_dropped, unused_user;
  for (genvar port = 0; port < Ports; port++) begin : gen_rx
    assign rx_ready_o[port] = run && rx_ready[port];
    nic_ingress #(
        .DataWidth(DataWidth)
    ) u_ingress (
        .clk_i,
        .rst_ni (run_n),
        .drop_i   (csr.control.drop),
        .dropped_o(rx_dropped[port]),
        .valid_i(rx_valid_i[port]),
        .ready_o(rx_ready[port]),
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

  logic host_ready, sent_valid, sent_ready, command_valid, command_ready, unused_command_dropped;
  word_t sent_word, command_word;
  meta_t sent_meta, command_meta;
  assign from_host_ready_o = run && host_ready;
  nic_ingress #(
      .DataWidth(HostWidth),
      .UserWidth($bits(meta_t))
  ) u_from_host (
      .clk_i,
      .rst_ni (run_n),
      .drop_i   (1'b0),
      .dropped_o(unused_command_dropped),
      .valid_i(from_host_valid_i),
      .ready_o(host_ready),
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
      .rst_ni (run_n),
      .valid_i(sent_valid),
      .ready_o(sent_ready),
      .data_i ({sent_meta, sent_word}),
      .valid_o(command_valid),
      .ready_i(command_ready),
      .data_o ({command_meta, command_word})
  );

  // What the host sends goes where its kind says. Kinds that there are not, and ports, end here.
  logic known_port, from_itself, sends, injects, fills, announces, send_ready, fill_ready, announce_ready;
  port_t inject_port;
  assign known_port = command_meta.port < 8'(Ports);
  assign from_itself = command_meta.port == HostPort;
  assign sends = command_meta.kind == HostSend && known_port;
  assign injects = command_meta.kind == HostInject && (known_port || from_itself);
  assign fills = command_meta.kind == HostFill || command_meta.kind == HostNone;
  assign announces = command_meta.kind == HostAnnounce;
  assign inject_port = from_itself ? Host : port_t'(command_meta.port);
  assign in_valid[Ports] = command_valid && injects;
  assign in_word[Ports] = command_word;
  always_comb begin
    command_ready = 1'b1;
    if (sends) command_ready = send_ready;
    else if (injects) command_ready = in_ready[Ports];
    else if (fills) command_ready = fill_ready;
    else if (announces) command_ready = announce_ready;
  end
  logic chosen_valid, chosen_ready, arriving_valid, arriving_ready;
  word_t chosen, arriving;
  port_t chosen_at, chosen_port, arriving_port;
  stream_arbiter #(
      .DataWidth(WordWidth),
      .Ports    (Ports + 1)
  ) u_arbiter (
      .clk_i,
      .rst_ni (run_n),
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
      .rst_ni (run_n),
      .valid_i(chosen_valid),
      .ready_o(chosen_ready),
      .data_i ({chosen_port, chosen}),
      .valid_o(arriving_valid),
      .ready_i(arriving_ready),
      .data_o ({arriving_port, arriving})
  );

  ////////////////////////////////////////////////////////////////////////
  // The stages.

  logic selected_valid, selected_ready, selected_trusted;
  word_t   selected;
  port_t   selected_port;
  engine_e selected_engine;
  packet_selector #(
      .PortWidth(PortWidth)
  ) u_selector (
      .clk_i,
      .rst_ni           (run_n),
      .address_i        (csr.address),
      .udp_port_i       (csr.udp_port),
      .trusted_address_i(csr.trusted_address),
      .trusted_mask_i   (csr.trusted_mask),
      .promise_i        (csr.promise),
      .take_compact_i   (csr.control.compact),
      .take_batch_i     (csr.control.batch),
      .take_proof_i     (csr.control.proof),
      .valid_i          (arriving_valid),
      .ready_o          (arriving_ready),
      .word_i           (arriving),
      .port_i           (arriving_port),
      .valid_o          (selected_valid),
      .ready_i          (selected_ready),
      .word_o           (selected),
      .port_o           (selected_port),
      .engine_o         (selected_engine),
      .trusted_o        (selected_trusted)
  );

  logic pass_valid, pass_ready, compact_valid, compact_ready, batch_valid, batch_ready, proof_valid, proof_ready;
  assign pass_valid = selected_valid && selected_engine == ForHost;
  assign compact_valid = selected_valid && selected_engine == ForCompact;
  assign batch_valid = selected_valid && selected_engine == ForBatch;
  assign proof_valid = selected_valid && selected_engine == ForProof;
  always_comb begin
    unique case (selected_engine)
      ForHost: selected_ready = pass_ready;
      ForCompact: selected_ready = compact_ready;
      ForBatch: selected_ready = batch_ready;
      ForProof: selected_ready = proof_ready;
    endcase
  end

  // Streams of packets on their way out, and the ports that they are for.
  localparam int unsigned Sent = 0;
  localparam int unsigned Compact = 1;
  localparam int unsigned Batch = 2;
  localparam int unsigned Proof = 3;
  localparam int unsigned Sources = 4;
  logic [Sources-1:0] out_valid, out_ready;
  word_t [Sources-1:0] out_word;
  port_t [Sources-1:0] out_port;
  assign out_valid[Sent] = command_valid && sends;
  assign out_word[Sent] = command_word;
  assign out_port[Sent] = port_t'(command_meta.port);
  assign send_ready = out_ready[Sent];

  logic [1:0][1:0] accounts_quiet, account_read_valid, account_read_ready, account_write_valid, account_write_ready;
  logic [1:0][1:0][AccountIndexWidth-1:0] account_read_addr, account_write_addr;
  logic [1:0][1:0][AccountLineWidth-1:0] account_read_line;
  logic [1:0][1:0][transfer_pkg::AccountWays-1:0] account_write_ways;
  transfer_pkg::account_t [1:0][1:0] account_write_data;
  if (AccountsExternal) begin : gen_accounts
    for (genvar half = 0; half < 2; half++) begin : gen_half
      for (genvar port = 0; port < 2; port++) begin : gen_port
        memory_gate #(
            .ReadWidth (AccountIndexWidth + AccountLineWidth),
            .WriteWidth(AccountIndexWidth + transfer_pkg::AccountWays + $bits(transfer_pkg::account_t))
        ) u_gate (
            .clk_i,
            .rst_ni,
            .run_i        (run),
            .quiet_o      (accounts_quiet[half][port]),
            .read_valid_i (account_read_valid[half][port]),
            .read_ready_o (account_read_ready[half][port]),
            .read_i       ({account_read_addr[half][port], account_read_line[half][port]}),
            .write_valid_i(account_write_valid[half][port]),
            .write_ready_o(account_write_ready[half][port]),
            .write_i({account_write_addr[half][port], account_write_ways[half][port], account_write_data[half][port]}),
            .read_valid_o (account_read_valid_o[half][port]),
            .read_ready_i (account_read_ready_i[half][port]),
            .read_o       ({account_read_addr_o[half][port], account_read_line_o[half][port]}),
            .answered_i   (account_data_valid_i[half][port]),
            .write_valid_o(account_write_valid_o[half][port]),
            .write_ready_i(account_write_ready_i[half][port]),
            .write_o({
              account_write_addr_o[half][port], account_write_ways_o[half][port], account_write_data_o[half][port]
            }),
            .written_i    (account_written_i[half][port])
        );
      end
    end
  end else begin : gen_accounts
    assign accounts_quiet = '1;
    assign {account_read_ready, account_write_ready} = {account_read_ready_i, account_write_ready_i};
    assign {account_read_valid_o, account_read_addr_o, account_read_line_o} = {
      account_read_valid, account_read_addr, account_read_line
    };
    assign {account_write_valid_o, account_write_addr_o, account_write_ways_o, account_write_data_o} = {
      account_write_valid, account_write_addr, account_write_ways, account_write_data
    };
  end

  logic record_valid, record_ready, operation_done, retry_tick_q;
  `FF(retry_tick_q, csr.retry_tick, 1'b0)
  transfer_pkg::record_t record;
  transfer #(
      .AccountIndexWidth(AccountIndexWidth),
      .WindowBits       (WindowBits),
      .WindowIndexWidth (WindowIndexWidth),
      .External         (AccountsExternal),
      .Lines            (AccountLines),
      .PortWidth        (PortWidth)
  ) u_transfer (
      .clk_i,
      .rst_ni             (run_n),
      .secret_i           (csr.secret),
      .limit_i            (csr.account_limit[LimitWidth-1:0]),
      .retry_tick_i       (csr.retry_tick != retry_tick_q),
      .tells_i            (csr.control.record),
      .promise_i          (csr.promise),
      .compact_valid_i    (compact_valid),
      .compact_ready_o    (compact_ready),
      .compact_packet_i   (swap_bytes(selected.data)),
      .compact_trusted_i  (selected_trusted),
      .compact_port_i     (selected_port),
      .reply_valid_o      (out_valid[Compact]),
      .reply_ready_i      (out_ready[Compact]),
      .reply_word_o       (out_word[Compact]),
      .reply_port_o       (out_port[Compact]),
      .batch_valid_i      (batch_valid),
      .batch_ready_o      (batch_ready),
      .batch_word_i       (selected),
      .batch_port_i       (selected_port),
      .batch_reply_valid_o(out_valid[Batch]),
      .batch_reply_ready_i(out_ready[Batch]),
      .batch_reply_word_o (out_word[Batch]),
      .batch_reply_port_o (out_port[Batch]),
      .done_o             (operation_done),
      .record_valid_o     (record_valid),
      .record_ready_i     (record_ready),
      .record_o           (record),
      .mem_read_valid_o   (account_read_valid),
      .mem_read_ready_i   (account_read_ready),
      .mem_read_addr_o    (account_read_addr),
      .mem_read_line_o    (account_read_line),
      .mem_data_valid_i   (account_data_valid_i),
      .mem_data_line_i    (account_data_line_i),
      .mem_data_i         (account_data_i),
      .mem_write_valid_o  (account_write_valid),
      .mem_write_ready_i  (account_write_ready),
      .mem_write_addr_o   (account_write_addr),
      .mem_write_ways_o   (account_write_ways),
      .mem_write_data_o   (account_write_data),
      .mem_written_i      (account_written_i)
  );

  logic miss_valid, miss_ready, miss_fill, filled, fill_refused, lost_valid;
  logic [IdWidth-1:0] miss_id, lost_id;
  word_t miss_word;
  port_t miss_port;
  // Fills are the host's, and those that misses get which were dropped on their way to it: none.
  logic answer_valid, answer_ready, answer_is_lost, fill_valid, fill_takes, fill_none, lost_takes;
  word_t answer, fill_word;
  logic [IdWidth-1:0] fill_id;
  stream_arbiter #(
      .DataWidth(WordWidth),
      .Ports    (2)
  ) u_fills (
      .clk_i,
      .rst_ni (run_n),
      .valid_i({lost_valid, command_valid && fills}),
      .ready_o({lost_takes, fill_ready}),
      .data_i ({WordWidth'(0), command_word.data}),
      .keep_i ({~WordBytes'(0), command_word.keep}),
      .last_i ({1'b1, command_word.last}),
      .valid_o(answer_valid),
      .ready_i(answer_ready),
      .data_o (answer.data),
      .keep_o (answer.keep),
      .last_o (answer.last),
      .port_o (answer_is_lost)
  );
  stage #(
      .Width($bits(word_t) + IdWidth + 1)
  ) u_fill (
      .clk_i,
      .rst_ni (run_n),
      .valid_i(answer_valid),
      .ready_o(answer_ready),
      .data_i ({
        answer,
        answer_is_lost ? lost_id : command_meta.id[IdWidth-1:0],
        answer_is_lost || command_meta.kind == HostNone
      }),
      .valid_o(fill_valid),
      .ready_i(fill_takes),
      .data_o ({fill_word, fill_id, fill_none})
  );
  logic proofs_quiet, proof_read_valid, proof_read_ready, proof_write_valid, proof_write_ready;
  logic [ProofAddrWidth-1:0] proof_read_addr, proof_write_addr;
  logic [ProofSlotWidth-1:0] proof_read_slot;
  logic [511:0] proof_write_data;
  if (ProofsExternal) begin : gen_proofs
    memory_gate #(
        .ReadWidth (ProofAddrWidth + ProofSlotWidth),
        .WriteWidth(ProofAddrWidth + 512)
    ) u_gate (
        .clk_i,
        .rst_ni,
        .run_i        (run),
        .quiet_o      (proofs_quiet),
        .read_valid_i (proof_read_valid),
        .read_ready_o (proof_read_ready),
        .read_i       ({proof_read_addr, proof_read_slot}),
        .write_valid_i(proof_write_valid),
        .write_ready_o(proof_write_ready),
        .write_i      ({proof_write_addr, proof_write_data}),
        .read_valid_o (proof_read_valid_o),
        .read_ready_i (proof_read_ready_i),
        .read_o       ({proof_read_addr_o, proof_read_slot_o}),
        .answered_i   (proof_data_valid_i),
        .write_valid_o(proof_write_valid_o),
        .write_ready_i(proof_write_ready_i),
        .write_o      ({proof_write_addr_o, proof_write_data_o}),
        .written_i    (proof_written_i)
    );
  end else begin : gen_proofs
    assign proofs_quiet = 1'b1;
    assign {proof_read_ready, proof_write_ready} = {proof_read_ready_i, proof_write_ready_i};
    assign {proof_read_valid_o, proof_read_addr_o, proof_read_slot_o} = {
      proof_read_valid, proof_read_addr, proof_read_slot
    };
    assign {proof_write_valid_o, proof_write_addr_o, proof_write_data_o} = {
      proof_write_valid, proof_write_addr, proof_write_data
    };
  end
  assign quiet = &accounts_quiet && proofs_quiet;

  proof #(
      .Sets     (ProofSets),
      .Ways     (ProofWays),
      .Misses   (ProofMisses),
      .PortWidth(PortWidth),
      .External (ProofsExternal)
  ) u_proof (
      .clk_i,
      .rst_ni          (run_n),
      .secrets_i       (csr.proof_secret),
      .valid_i         (proof_valid),
      .ready_o         (proof_ready),
      .word_i          (selected),
      .port_i          (selected_port),
      .reply_valid_o   (out_valid[Proof]),
      .reply_ready_i   (out_ready[Proof]),
      .reply_word_o    (out_word[Proof]),
      .reply_port_o    (out_port[Proof]),
      .miss_valid_o    (miss_valid),
      .miss_ready_i    (miss_ready),
      .miss_word_o     (miss_word),
      .miss_port_o     (miss_port),
      .miss_fill_o     (miss_fill),
      .miss_id_o       (miss_id),
      .fill_valid_i    (fill_valid),
      .fill_ready_o    (fill_takes),
      .fill_word_i     (fill_word),
      .fill_id_i       (fill_id),
      .fill_none_i     (fill_none),
      .announce_valid_i(command_valid && announces),
      .announce_ready_o(announce_ready),
      .announce_word_i (command_word),
      .filled_o        (filled),
      .refused_o       (fill_refused),
      .mem_read_valid_o (proof_read_valid),
      .mem_read_ready_i (proof_read_ready),
      .mem_read_addr_o  (proof_read_addr),
      .mem_read_slot_o  (proof_read_slot),
      .mem_data_valid_i (proof_data_valid_i),
      .mem_data_slot_i  (proof_data_slot_i),
      .mem_data_i       (proof_data_i),
      .mem_write_valid_o(proof_write_valid),
      .mem_write_ready_i(proof_write_ready),
      .mem_write_addr_o (proof_write_addr),
      .mem_write_data_o (proof_write_data),
      .mem_written_i    (proof_written_i)
  );

  ////////////////////////////////////////////////////////////////////////
  // Out: to a port, or to the host what is for it and what is held.

  logic [Sources-1:0] out_to_host;
  logic [Sources-1:0][Ports:0] out_accepts;
  for (genvar source = 0; source < Sources; source++) begin : gen_out
    assign out_to_host[source] = out_port[source] == Host ||
        (csr.control.hold && (source == Compact || source == Batch));
    always_comb begin
      out_ready[source] = out_to_host[source] && out_accepts[source][Ports];
      for (int unsigned port = 0; port < Ports; port++) begin
        if (!out_to_host[source] && out_port[source] == port_t'(port)) out_ready[source] = out_accepts[source][port];
      end
    end
  end

  for (genvar port = 0; port < Ports; port++) begin : gen_tx
    logic [Sources-1:0] valid, ready;
    logic unused_tx_user, unused_dropped, unused_dropped_user;
    for (genvar source = 0; source < Sources; source++) begin : gen_source
      assign valid[source] = out_valid[source] && !out_to_host[source] && out_port[source] == port_t'(port);
      assign out_accepts[source][port] = ready[source];
    end
    nic_egress #(
        .DataWidth(DataWidth),
        .Sources  (Sources)
    ) u_egress (
        .clk_i,
        .rst_ni (run_n),
        .drop_i        (1'b0),
        .dropped_o     (unused_dropped),
        .dropped_user_o(unused_dropped_user),
        .valid_i(valid),
        .ready_o(ready),
        .word_i (out_word),
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
    return port == Host ? HostPort : 8'(port);
  endfunction

  // Packets that no engine took, and proofs that are not in the cache: what may be dropped where the host is slow.
  logic asked_valid, asked_ready, host_dropped;
  word_t asked;
  meta_t asked_meta, dropped_meta;
  meta_t [1:0] source_meta;
  // One without an id is a packet like any other.
  assign source_meta = {
    16'(miss_fill ? miss_id : '0),
    outside(miss_port),
    miss_fill ? HostMiss : HostPacket,
    16'd0,
    outside(selected_port),
    HostPacket
  };
  nic_egress #(
      .DataWidth(WordWidth),
      .UserWidth($bits(meta_t)),
      .Sources  (2)
  ) u_asked (
      .clk_i,
      .rst_ni        (run_n),
      .drop_i        (csr.control.drop),
      .dropped_o     (host_dropped),
      .dropped_user_o(dropped_meta),
      .valid_i       ({miss_valid, pass_valid}),
      .ready_o       ({miss_ready, pass_ready}),
      .word_i        ({miss_word, selected}),
      .user_i        (source_meta),
      .valid_o       (asked_valid),
      .ready_i       (asked_ready),
      .data_o        (asked.data),
      .keep_o        (asked.keep),
      .last_o        (asked.last),
      .user_o        (asked_meta)
  );
  // As many as there are ids, so it is never full.
  logic lost_ready;
  logic [$clog2(ProofMisses+1)-1:0] unused_lost;
  fifo #(
      .Width(IdWidth),
      .Depth(ProofMisses)
  ) u_lost (
      .clk_i,
      .rst_ni (run_n),
      .valid_i(host_dropped && dropped_meta.kind == HostMiss),
      .ready_o(lost_ready),
      .data_i (dropped_meta.id[IdWidth-1:0]),
      .valid_o(lost_valid),
      .ready_i(lost_takes),
      .data_o (lost_id),
      .count_o(unused_lost)
  );
  logic unused_dropped_port;
  assign unused_dropped_port = ^dropped_meta;
  `ASSERT(ids_have_room, lost_ready || !host_dropped || dropped_meta.kind != HostMiss)

  // The host's: the sources of ports, then these, then records.
  localparam int unsigned Asked = Sources;
  localparam int unsigned Recorded = Sources + 1;
  localparam int unsigned HostSources = Sources + 2;
  logic [HostSources-1:0] host_valid, host_accepts;
  word_t [HostSources-1:0] host_word;
  meta_t [HostSources-1:0] host_meta;
  for (genvar source = 0; source < Sources; source++) begin : gen_held
    assign host_valid[source] = out_valid[source] && out_to_host[source];
    assign host_word[source] = out_word[source];
    assign host_meta[source] = '{id: '0, port: outside(out_port[source]), kind: HostReply};
    assign out_accepts[source][Ports] = host_accepts[source];
  end
  assign host_valid[Asked] = asked_valid;
  assign host_word[Asked] = asked;
  assign host_meta[Asked] = asked_meta;
  assign asked_ready = host_accepts[Asked];
  // Records have the first byte lowest, as packets have.
  assign host_valid[Recorded] = record_valid;
  assign host_word[Recorded] = '{last: 1'b1, keep: 64'hffff_ffff, data: swap_bytes({record, 256'b0})};
  assign host_meta[Recorded] = '{id: '0, port: '0, kind: HostRecord};
  assign record_ready = host_accepts[Recorded];
  logic  unused_host_dropped;
  meta_t unused_host_meta;
  nic_egress #(
      .DataWidth(HostWidth),
      .UserWidth($bits(meta_t)),
      .Sources  (HostSources)
  ) u_to_host (
      .clk_i,
      .rst_ni        (run_n),
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

  ////////////////////////////////////////////////////////////////////////
  // What is counted, a cycle later.

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
    happens.proof_hits = out_valid[Proof] && out_ready[Proof] && out_word[Proof].last;
    happens.proof_misses = miss_valid && miss_ready && miss_word.last;
    happens.fills = filled;
    happens.fills_refused = fill_refused;
    happens.host_packets = pass_valid && pass_ready && selected.last;
    happens.host_dropped = host_dropped;
    happens.sent_packets = out_valid[Sent] && out_ready[Sent] && command_word.last;
  end
endmodule
