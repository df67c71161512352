// The engines between ingress and egress: transfers, the proof cache and the key-value store, with paths to their
// memories, and verification.

`include "registers.svh"

module nic_engines
  import wire_pkg::*;
  import nic_pkg::*;
#(
    // See turnpike_nic.
    parameter int unsigned Ports = 4,
    parameter int unsigned AccountIndexWidth = 8,
    parameter int unsigned WindowBits = 10,
    parameter int unsigned WindowIndexWidth = 10,
    parameter int unsigned ProofSets = 64,
    parameter int unsigned ProofWays = 4,
    parameter int unsigned ProofMisses = 64,
    parameter bit AccountsExternal = 1'b0,
    parameter int unsigned AccountLines = 64,
    parameter bit ProofsExternal = 1'b0,
    parameter int unsigned VerifySignatures = 0,
    parameter bit VerifyRoots = 1'b0,
    parameter int unsigned VerifyEquihashN = 0,
    parameter int unsigned VerifyEquihashK = 0,
    parameter bit Kv = 1'b0,
    parameter int unsigned KvBuckets = 512,
    parameter int unsigned KvBlocks = 256,
    localparam int unsigned Replies = BasicSources - 1 + 32'(Kv),
    localparam int unsigned PortWidth = $clog2(Ports + 1),
    localparam int unsigned LimitWidth = AccountIndexWidth + 4,
    localparam int unsigned IdWidth = $clog2(ProofMisses),
    localparam int unsigned AccountLineWidth = $clog2(AccountLines),
    localparam int unsigned ProofAddrWidth = ProofSets > 0 ? $clog2(ProofSets * ProofWays * 16) : 1,
    localparam int unsigned ProofSlotWidth = ProofsExternal ? 6 : 2,
    localparam int unsigned KvAddrWidth = $clog2(KvBlocks) + $clog2(2 * kv_pkg::LastRows),
    localparam int unsigned KvSlotWidth = 6
) (
    input  logic                                                clk_i,
    input  logic                                                rst_ni,
    // The engines are in reset unless run_i is set. quiet_o: no memory request is unanswered.
    input  logic                                                run_i,
    output logic                                                quiet_o,
    // Configuration: constant while running, except the retry tick. See transfer and proof.
    input  logic  [                           127:0]                secret_i,
    input  logic  [                  LimitWidth-1:0]                limit_i,
    input  logic                                                retry_tick_i,
    input  logic                                                record_enable_i,
    input  logic  [                             7:0]                promise_i,
    input  logic  [                           511:0]                proof_secrets_i,
    input  logic  [                          2175:0]                kv_key_secrets_i,
    input  logic  [                           255:0]                kv_table_secrets_i,
    input  logic  [                            31:0]                kv_now_i,  // not constant
    input  logic  [                            14:0]                kv_series_i,
    // Packets: `valid` selects the engine.
    input  logic                                                compact_valid_i,
    output logic                                                compact_ready_o,
    input  logic                                                batch_valid_i,
    output logic                                                batch_ready_o,
    input  logic                                                proof_valid_i,
    output logic                                                proof_ready_o,
    input  logic                                                verify_valid_i,
    output logic                                                verify_ready_o,
    input  logic                                                kv_valid_i,
    output logic                                                kv_ready_o,
    input  word_t                                               word_i,
    input  logic  [                   PortWidth-1:0]                port_i,
    input  logic                                                trusted_i,
    // The verification engines have room for a packet besides those inside the selector.
    output logic                                                verify_room_o,
    // Replies; nic_pkg defines their order.
    output logic  [                     Replies-1:0]                reply_valid_o,
    input  logic  [                     Replies-1:0]                reply_ready_i,
    output word_t [                     Replies-1:0]                reply_word_o,
    output logic  [                     Replies-1:0][PortWidth-1:0] reply_port_o,
    // Executed operations.
    output logic                                                record_valid_o,
    input  logic                                                record_ready_i,
    output host_pkg::record_t                               record_o,
    // Proofs that are not in the cache, with an id if the host must answer; and ids of those that were dropped on their
    // way to the host.
    output logic                                                miss_valid_o,
    input  logic                                                miss_ready_i,
    output word_t                                               miss_word_o,
    output logic  [                   PortWidth-1:0]                miss_port_o,
    output logic                                                miss_fill_o,
    output logic  [                     IdWidth-1:0]                miss_id_o,
    input  logic                                                lost_valid_i,
    output logic                                                lost_ready_o,
    input  logic  [                     IdWidth-1:0]                lost_id_i,
    // Verify frames that the engines do not take.
    output logic                                                verify_pass_valid_o,
    input  logic                                                verify_pass_ready_i,
    output word_t                                               verify_pass_word_o,
    output logic  [                   PortWidth-1:0]                verify_pass_port_o,
    // Requests of memcached for the host, in order: those that the store has executed, except reads, and all others.
    output logic                                                kv_host_valid_o,
    input  logic                                                kv_host_ready_i,
    output word_t                                               kv_host_word_o,
    output logic  [                   PortWidth-1:0]                kv_host_port_o,
    output logic                                                kv_host_executed_o,
    output logic                                                kv_host_no_room_o,
    // Commands of the host to the cache: the body of a reply to a miss, or none; a change of a chain.
    input  word_t                                               command_word_i,
    input  logic                                                fill_valid_i,
    output logic                                                fill_ready_o,
    input  logic  [                     IdWidth-1:0]                fill_id_i,
    input  logic                                                fill_none_i,
    input  logic                                                announce_valid_i,
    output logic                                                announce_ready_o,
    // Events to count: an operation, messages by engine, a request of memcached, a cached fill, a rejected fill.
    output logic                                                done_o,
    output logic  [       verify_frame_pkg::Schemes-1:0]                verified_o,
    output logic                                                kv_executed_o,
    output logic                                                filled_o,
    output logic                                                fill_refused_o,
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
  logic run_n;
  assign run_n = rst_ni && run_i;

  logic [1:0][1:0] accounts_quiet, account_read_valid, account_read_ready, account_write_valid, account_write_ready;
  logic [1:0][1:0][AccountIndexWidth-1:0] account_read_addr, account_write_addr;
  logic [1:0][1:0][AccountLineWidth-1:0] account_read_line;
  logic [1:0][1:0][transfer_pkg::AccountWays-1:0] account_write_ways;
  transfer_pkg::account_t [1:0][1:0] account_write_data;
  if (AccountsExternal) begin : gen_accounts
    for (genvar half = 0; half < 2; half++) begin : gen_half
      for (genvar port = 0; port < 2; port++) begin : gen_port
        memory_isolate #(
            .ReadWidth (AccountIndexWidth + AccountLineWidth),
            .WriteWidth(AccountIndexWidth + transfer_pkg::AccountWays + $bits(transfer_pkg::account_t))
        ) u_isolate (
            .clk_i,
            .rst_ni,
            .run_i,
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

  logic retry_tick_q;
  `FF(retry_tick_q, retry_tick_i, 1'b0)
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
      .secret_i,
      .limit_i,
      .retry_tick_i       (retry_tick_i != retry_tick_q),
      .record_enable_i,
      .promise_i,
      .compact_valid_i,
      .compact_ready_o,
      .compact_packet_i   (swap_bytes(word_i.data)),
      .compact_trusted_i  (trusted_i),
      .compact_port_i     (port_i),
      .reply_valid_o      (reply_valid_o[ReplyCompact]),
      .reply_ready_i      (reply_ready_i[ReplyCompact]),
      .reply_word_o       (reply_word_o[ReplyCompact]),
      .reply_port_o       (reply_port_o[ReplyCompact]),
      .batch_valid_i,
      .batch_ready_o,
      .batch_word_i       (word_i),
      .batch_port_i       (port_i),
      .batch_reply_valid_o(reply_valid_o[ReplyBatch]),
      .batch_reply_ready_i(reply_ready_i[ReplyBatch]),
      .batch_reply_word_o (reply_word_o[ReplyBatch]),
      .batch_reply_port_o (reply_port_o[ReplyBatch]),
      .done_o,
      .record_valid_o,
      .record_ready_i,
      .record_o,
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

  logic proofs_quiet, proof_read_valid, proof_read_ready, proof_write_valid, proof_write_ready;
  logic [ProofAddrWidth-1:0] proof_read_addr, proof_write_addr;
  logic [ProofSlotWidth-1:0] proof_read_slot;
  logic [511:0] proof_write_data;
  if (ProofsExternal) begin : gen_proofs
    memory_isolate #(
        .ReadWidth (ProofAddrWidth + ProofSlotWidth),
        .WriteWidth(ProofAddrWidth + 512)
    ) u_isolate (
        .clk_i,
        .rst_ni,
        .run_i,
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
  logic kv_quiet;
  assign quiet_o = &accounts_quiet && proofs_quiet && kv_quiet;

  if (ProofSets > 0) begin : gen_proof
    // Fills come from the host. A miss dropped on its way to the host is filled with none.
    logic answer_valid, answer_ready, answer_is_lost, fill_valid, fill_ready, fill_none;
    word_t answer, fill_word;
    logic [IdWidth-1:0] fill_id;
    stream_arbiter #(
        .DataWidth(WordWidth),
        .Ports    (2)
    ) u_fills (
        .clk_i,
        .rst_ni (run_n),
        .valid_i({lost_valid_i, fill_valid_i}),
        .ready_o({lost_ready_o, fill_ready_o}),
        .data_i ({WordWidth'(0), command_word_i.data}),
        .keep_i ({~WordBytes'(0), command_word_i.keep}),
        .last_i ({1'b1, command_word_i.last}),
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
          answer_is_lost ? lost_id_i : fill_id_i,
          answer_is_lost || fill_none_i
        }),
        .valid_o(fill_valid),
        .ready_i(fill_ready),
        .data_o ({fill_word, fill_id, fill_none})
    );

    proof #(
        .Sets     (ProofSets),
        .Ways     (ProofWays),
        .Misses   (ProofMisses),
        .PortWidth(PortWidth),
        .External (ProofsExternal)
    ) u_proof (
        .clk_i,
        .rst_ni          (run_n),
        .secrets_i       (proof_secrets_i),
        .valid_i         (proof_valid_i),
        .ready_o         (proof_ready_o),
        .word_i          (word_i),
        .port_i          (port_i),
        .reply_valid_o   (reply_valid_o[ReplyProof]),
        .reply_ready_i   (reply_ready_i[ReplyProof]),
        .reply_word_o    (reply_word_o[ReplyProof]),
        .reply_port_o    (reply_port_o[ReplyProof]),
        .miss_valid_o,
        .miss_ready_i,
        .miss_word_o,
        .miss_port_o,
        .miss_fill_o,
        .miss_id_o,
        .fill_valid_i    (fill_valid),
        .fill_ready_o    (fill_ready),
        .fill_word_i     (fill_word),
        .fill_id_i       (fill_id),
        .fill_none_i     (fill_none),
        .announce_valid_i(announce_valid_i),
        .announce_ready_o(announce_ready_o),
        .announce_word_i (command_word_i),
        .filled_o        (filled_o),
        .refused_o       (fill_refused_o),
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
  end else begin : gen_proof
    // Nothing is routed to it. What the host has for it is discarded.
    assign {proof_ready_o, miss_valid_o, miss_fill_o, filled_o, fill_refused_o} = '0;
    assign {miss_word_o, miss_port_o, miss_id_o} = '0;
    assign {lost_ready_o, fill_ready_o, announce_ready_o} = '1;
    assign reply_valid_o[ReplyProof] = 1'b0;
    assign {reply_word_o[ReplyProof], reply_port_o[ReplyProof]} = '0;
    assign {proof_read_valid, proof_read_addr, proof_read_slot} = '0;
    assign {proof_write_valid, proof_write_addr, proof_write_data} = '0;
    logic unused_proof;
    assign unused_proof = ^{
      proof_secrets_i, proof_valid_i, miss_ready_i, reply_ready_i[ReplyProof],
      lost_valid_i, lost_id_i, fill_valid_i, fill_id_i, fill_none_i, announce_valid_i, command_word_i,
      proof_read_ready, proof_data_valid_i, proof_data_slot_i, proof_data_i, proof_write_ready, proof_written_i
    };
  end

  if (VerifySignatures > 0 || VerifyRoots || VerifyEquihashN > 0) begin : gen_verify
    verify #(
        .SignatureEngines(VerifySignatures),
        .Roots           (VerifyRoots),
        .EquihashN       (VerifyEquihashN),
        .EquihashK       (VerifyEquihashK),
        .PortWidth       (PortWidth)
    ) u_verify (
        .clk_i,
        .rst_ni       (run_n),
        .valid_i      (verify_valid_i),
        .ready_o      (verify_ready_o),
        .word_i,
        .port_i,
        .room_o       (verify_room_o),
        .reply_valid_o(reply_valid_o[ReplyVerify]),
        .reply_ready_i(reply_ready_i[ReplyVerify]),
        .reply_word_o (reply_word_o[ReplyVerify]),
        .reply_port_o (reply_port_o[ReplyVerify]),
        .pass_valid_o (verify_pass_valid_o),
        .pass_ready_i (verify_pass_ready_i),
        .pass_word_o  (verify_pass_word_o),
        .pass_port_o  (verify_pass_port_o),
        .done_o       (verified_o)
    );
  end else begin : gen_verify
    // Nothing is routed to it.
    assign {verify_ready_o, verify_room_o, verify_pass_valid_o, verified_o} = '0;
    assign {verify_pass_word_o, verify_pass_port_o} = '0;
    assign reply_valid_o[ReplyVerify] = 1'b0;
    assign {reply_word_o[ReplyVerify], reply_port_o[ReplyVerify]} = '0;
    logic unused_verify;
    assign unused_verify = ^{verify_valid_i, verify_pass_ready_i, reply_ready_i[ReplyVerify]};
  end

  if (Kv) begin : gen_kv
    logic read_valid, read_ready, write_valid, write_ready;
    logic [KvAddrWidth-1:0] read_addr, write_addr;
    logic [KvSlotWidth-1:0] read_slot;
    logic [511:0] write_data;
    memory_isolate #(
        .ReadWidth (KvAddrWidth + KvSlotWidth),
        .WriteWidth(KvAddrWidth + 512)
    ) u_isolate (
        .clk_i,
        .rst_ni,
        .run_i,
        .quiet_o      (kv_quiet),
        .read_valid_i (read_valid),
        .read_ready_o (read_ready),
        .read_i       ({read_addr, read_slot}),
        .write_valid_i(write_valid),
        .write_ready_o(write_ready),
        .write_i      ({write_addr, write_data}),
        .read_valid_o (kv_read_valid_o),
        .read_ready_i (kv_read_ready_i),
        .read_o       ({kv_read_addr_o, kv_read_slot_o}),
        .answered_i   (kv_data_valid_i),
        .write_valid_o(kv_write_valid_o),
        .write_ready_i(kv_write_ready_i),
        .write_o      ({kv_write_addr_o, kv_write_data_o}),
        .written_i    (kv_written_i)
    );
    logic [$clog2(2*8*KvBuckets+16+1)-1:0] unused_count;
    kv #(
        .Buckets  (KvBuckets),
        .Blocks   (KvBlocks),
        .PortWidth(PortWidth)
    ) u_kv (
        .clk_i,
        .rst_ni         (run_n),
        .key_secrets_i  (kv_key_secrets_i),
        .table_secrets_i(kv_table_secrets_i),
        .now_i          (kv_now_i),
        .series_i       (kv_series_i),
        .valid_i        (kv_valid_i),
        .ready_o        (kv_ready_o),
        .word_i,
        .port_i,
        .from_host_i    (port_i == PortWidth'(Ports)),
        .reply_valid_o  (reply_valid_o[ReplyKv]),
        .reply_ready_i  (reply_ready_i[ReplyKv]),
        .reply_o        (reply_word_o[ReplyKv]),
        .reply_port_o   (reply_port_o[ReplyKv]),
        .host_valid_o   (kv_host_valid_o),
        .host_ready_i   (kv_host_ready_i),
        .host_o         (kv_host_word_o),
        .host_port_o    (kv_host_port_o),
        .host_executed_o(kv_host_executed_o),
        .host_no_room_o (kv_host_no_room_o),
        .executed_o     (kv_executed_o),
        .read_valid_o   (read_valid),
        .read_ready_i   (read_ready),
        .read_addr_o    (read_addr),
        .read_slot_o    (read_slot),
        .data_valid_i   (kv_data_valid_i),
        .data_slot_i    (kv_data_slot_i),
        .data_i         (kv_data_i),
        .write_valid_o  (write_valid),
        .write_ready_i  (write_ready),
        .write_addr_o   (write_addr),
        .write_data_o   (write_data),
        .written_i      (kv_written_i),
        .count_o        (unused_count)
    );
  end else begin : gen_kv
    // Nothing is routed to it.
    assign kv_quiet = 1'b1;
    assign {kv_ready_o, kv_host_valid_o, kv_host_word_o, kv_host_port_o, kv_host_executed_o, kv_host_no_room_o} = '0;
    assign kv_executed_o = 1'b0;
    assign {kv_read_valid_o, kv_read_addr_o, kv_read_slot_o} = '0;
    assign {kv_write_valid_o, kv_write_addr_o, kv_write_data_o} = '0;
    logic unused_kv;
    assign unused_kv = ^{
      kv_key_secrets_i, kv_table_secrets_i, kv_now_i, kv_series_i, kv_valid_i, kv_host_ready_i,
      kv_read_ready_i, kv_data_valid_i, kv_data_slot_i, kv_data_i, kv_write_ready_i, kv_written_i
    };
  end
endmodule
