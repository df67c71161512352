// turnpike_nic with accounts and proofs in DRAM, and the items of its key-value store, if it has one.
module nic_dram
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
    parameter int unsigned AccountLines = 64,
    // See kv_store.
    parameter bit Kv = 1'b0,
    parameter int unsigned KvBuckets = 512,
    parameter int unsigned KvBlocks = 256,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned HostKeepWidth = HostWidth / 8,
    localparam int unsigned AccountLineWidth = $clog2(AccountLines),
    localparam int unsigned ProofWays = 4,
    localparam int unsigned ProofAddrWidth = $clog2(ProofSets * ProofWays * 16),
    localparam int unsigned ProofSlotWidth = 6,
    localparam int unsigned KvAddrWidth = $clog2(KvBlocks) + $clog2(2 * kv_pkg::LastRows),
    localparam int unsigned KvSlotWidth = 6
) (
    // Timing of the memories, see dram_model.
    input  logic  [                            15:0]                least_i,
    input  logic  [                            15:0]                spread_i,
    input  logic  [                            15:0]                refresh_i,
    input  logic  [                            15:0]                gap_i,
    // The NIC's.
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
    output logic  [                            31:0]                csr_read_data_o
);
  logic [1:0][1:0] account_read_valid, account_read_ready, account_data_valid;
  logic [1:0][1:0] account_write_valid, account_write_ready, account_written;
  logic [1:0][1:0][AccountIndexWidth-1:0] account_read_addr, account_write_addr;
  logic [1:0][1:0][AccountLineWidth-1:0] account_read_line, account_data_line;
  logic [1:0][1:0][transfer_pkg::AccountWays-1:0] account_write_ways;
  transfer_pkg::bucket_t [1:0][1:0] account_data;
  transfer_pkg::account_t [1:0][1:0] account_write_data;
  logic proof_read_valid, proof_read_ready, proof_data_valid, proof_write_valid, proof_write_ready, proof_written;
  logic [ProofAddrWidth-1:0] proof_read_addr, proof_write_addr;
  logic [ProofSlotWidth-1:0] proof_read_slot, proof_data_slot;
  logic [511:0] proof_data, proof_write_data;
  logic kv_read_valid, kv_read_ready, kv_data_valid, kv_write_valid, kv_write_ready, kv_written;
  logic [KvAddrWidth-1:0] kv_read_addr, kv_write_addr;
  logic [KvSlotWidth-1:0] kv_read_slot, kv_data_slot;
  logic [511:0] kv_data, kv_write_data;

  turnpike_nic #(
      .DataWidth        (DataWidth),
      .HostWidth        (HostWidth),
      .Ports            (Ports),
      .AccountIndexWidth(AccountIndexWidth),
      .WindowBits       (WindowBits),
      .WindowIndexWidth (WindowIndexWidth),
      .ProofSets        (ProofSets),
      .ProofWays        (ProofWays),
      .AccountLines     (AccountLines),
      .AccountsExternal (1'b1),
      .ProofsExternal   (1'b1),
      .Kv               (Kv),
      .KvBuckets        (KvBuckets),
      .KvBlocks         (KvBlocks)
  ) u_nic (
      .clk_i,
      .rst_ni,
      .rx_valid_i,
      .rx_ready_o,
      .rx_data_i,
      .rx_keep_i,
      .rx_last_i,
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
      .from_host_valid_i,
      .from_host_ready_o,
      .from_host_data_i,
      .from_host_keep_i,
      .from_host_last_i,
      .from_host_meta_i,
      .csr_valid_i,
      .csr_write_i,
      .csr_address_i,
      .csr_write_data_i,
      .csr_read_valid_o,
      .csr_read_data_o,
      .account_read_valid_o  (account_read_valid),
      .account_read_ready_i  (account_read_ready),
      .account_read_addr_o   (account_read_addr),
      .account_read_line_o   (account_read_line),
      .account_data_valid_i  (account_data_valid),
      .account_data_line_i   (account_data_line),
      .account_data_i        (account_data),
      .account_write_valid_o (account_write_valid),
      .account_write_ready_i (account_write_ready),
      .account_write_addr_o  (account_write_addr),
      .account_write_ways_o  (account_write_ways),
      .account_write_data_o  (account_write_data),
      .account_written_i     (account_written),
      .proof_read_valid_o    (proof_read_valid),
      .proof_read_ready_i    (proof_read_ready),
      .proof_read_addr_o     (proof_read_addr),
      .proof_read_slot_o     (proof_read_slot),
      .proof_data_valid_i    (proof_data_valid),
      .proof_data_slot_i     (proof_data_slot),
      .proof_data_i          (proof_data),
      .proof_write_valid_o   (proof_write_valid),
      .proof_write_ready_i   (proof_write_ready),
      .proof_write_addr_o    (proof_write_addr),
      .proof_write_data_o    (proof_write_data),
      .proof_written_i       (proof_written),
      .kv_read_valid_o        (kv_read_valid),
      .kv_read_ready_i        (kv_read_ready),
      .kv_read_addr_o         (kv_read_addr),
      .kv_read_slot_o         (kv_read_slot),
      .kv_data_valid_i        (kv_data_valid),
      .kv_data_slot_i         (kv_data_slot),
      .kv_data_i              (kv_data),
      .kv_write_valid_o       (kv_write_valid),
      .kv_write_ready_i       (kv_write_ready),
      .kv_write_addr_o        (kv_write_addr),
      .kv_write_data_o        (kv_write_data),
      .kv_written_i           (kv_written)
  );

  dram_halves #(
      .Ports    (2),
      .AddrWidth(AccountIndexWidth),
      .IdWidth  (AccountLineWidth),
      .Lanes    (transfer_pkg::AccountWays),
      .LaneWidth($bits(transfer_pkg::account_t))
  ) u_accounts (
      .clk_i,
      .rst_ni,
      .least_i,
      .spread_i,
      .refresh_i,
      .gap_i,
      .read_valid_i (account_read_valid),
      .read_ready_o (account_read_ready),
      .read_addr_i  (account_read_addr),
      .read_id_i    (account_read_line),
      .data_valid_o (account_data_valid),
      .data_id_o    (account_data_line),
      .data_o       (account_data),
      .write_valid_i(account_write_valid),
      .write_ready_o(account_write_ready),
      .write_addr_i (account_write_addr),
      .write_lanes_i(account_write_ways),
      .write_data_i (account_write_data),
      .written_o    (account_written)
  );

  dram_model #(
      .AddrWidth(ProofAddrWidth),
      .IdWidth(ProofSlotWidth),
      .Lanes(1),
      .LaneWidth(512)
  ) u_proofs (
      .clk_i,
      .rst_ni,
      .least_i,
      .spread_i,
      .refresh_i,
      .gap_i,
      .read_valid_i (proof_read_valid),
      .read_ready_o (proof_read_ready),
      .read_addr_i  (proof_read_addr),
      .read_id_i    (proof_read_slot),
      .data_valid_o (proof_data_valid),
      .data_id_o    (proof_data_slot),
      .data_o       (proof_data),
      .write_valid_i(proof_write_valid),
      .write_ready_o(proof_write_ready),
      .write_addr_i (proof_write_addr),
      .write_lanes_i(1'b1),
      .write_data_i (proof_write_data),
      .written_o    (proof_written)
  );

  if (Kv) begin : gen_kv
    dram_model #(
        .AddrWidth(KvAddrWidth),
        .IdWidth  (KvSlotWidth),
        .Lanes    (1),
        .LaneWidth(512)
    ) u_items (
        .clk_i,
        .rst_ni,
        .least_i,
        .spread_i,
        .refresh_i,
        .gap_i,
        .read_valid_i (kv_read_valid),
        .read_ready_o (kv_read_ready),
        .read_addr_i  (kv_read_addr),
        .read_id_i    (kv_read_slot),
        .data_valid_o (kv_data_valid),
        .data_id_o    (kv_data_slot),
        .data_o       (kv_data),
        .write_valid_i(kv_write_valid),
        .write_ready_o(kv_write_ready),
        .write_addr_i (kv_write_addr),
        .write_lanes_i(1'b1),
        .write_data_i (kv_write_data),
        .written_o    (kv_written)
    );
  end else begin : gen_kv
    assign {kv_read_ready, kv_data_valid, kv_data_slot, kv_data, kv_write_ready, kv_written} = '0;
    logic unused_kv;
    assign unused_kv = ^{kv_read_valid, kv_read_addr, kv_read_slot, kv_write_valid, kv_write_addr, kv_write_data};
  end
endmodule
