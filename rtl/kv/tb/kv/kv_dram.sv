// The store with a DRAM at its memory port.
module kv_dram
  import wire_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned Buckets = 16,
    parameter int unsigned Blocks = 16,
    parameter int unsigned FingerprintBits = 128,
    parameter int unsigned PortWidth = 3,
    localparam int unsigned Secrets = 34,
    localparam int unsigned AddrWidth = $clog2(Blocks) + $clog2(2 * LastRows),
    localparam int unsigned SlotWidth = 6,
    localparam int unsigned CountWidth = $clog2(2 * 8 * Buckets + 16 + 1)
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic     [Secrets-1:0][63:0] key_secrets_i,
    input  logic     [3:0][63:0]         table_secrets_i,
    input  logic     [31:0]              now_i,
    input  logic     [14:0]              series_i,
    // Timing of the memory, see dram_model.
    input  logic     [15:0]              least_i,
    input  logic     [15:0]              spread_i,
    input  logic     [15:0]              refresh_i,
    input  logic     [15:0]              gap_i,
    input  logic                         valid_i,
    output logic                         ready_o,
    input  word_t                        word_i,
    input  logic     [PortWidth-1:0]     port_i,
    input  logic                         from_host_i,
    output logic                         reply_valid_o,
    input  logic                         reply_ready_i,
    output word_t                        reply_o,
    output logic     [PortWidth-1:0]     reply_port_o,
    output logic                         host_valid_o,
    input  logic                         host_ready_i,
    output word_t                        host_o,
    output logic     [PortWidth-1:0]     host_port_o,
    output logic                         host_executed_o,
    output logic                         host_no_room_o,
    output logic                         executed_o,
    output logic     [CountWidth-1:0]    count_o,
    // Events inside, for the evaluation.
    output logic                         operation_o,      // leaves kv_operations
    output logic                         found_o,          // the table's result
    output logic                         dispatched_o,
    output logic                         waits_o,          // for a write of the block that it reads
    output logic                         item_o,           // its header is here
    output logic                         verdict_o,        // leaves with its packet
    output logic                         built_o           // a word of a reply, without its checksum
);
  assign operation_o = u_kv.operation_valid && u_kv.operation_ready;
  assign found_o = u_kv.u_store.result_valid;
  assign dispatched_o = u_kv.u_store.dispatches;
  assign waits_o = u_kv.u_store.waits && u_kv.u_store.result_valid && u_kv.u_store.conflict;
  assign item_o = u_kv.u_store.reads_header && u_kv.u_store.row_comes;
  assign verdict_o = u_kv.verdict_ready;
  assign built_o = u_kv.u_checksum.valid_i;

  logic read_valid, read_ready, data_valid, write_valid, write_ready, written;
  logic [AddrWidth-1:0] read_addr, write_addr;
  logic [SlotWidth-1:0] read_slot, data_slot;
  logic [WordWidth-1:0] data, write_data;

  kv #(
      .Buckets        (Buckets),
      .Blocks         (Blocks),
      .FingerprintBits(FingerprintBits),
      .PortWidth      (PortWidth)
  ) u_kv (
      .clk_i,
      .rst_ni,
      .key_secrets_i,
      .table_secrets_i,
      .now_i,
      .series_i,
      .valid_i,
      .ready_o,
      .word_i,
      .port_i,
      .from_host_i,
      .reply_valid_o,
      .reply_ready_i,
      .reply_o,
      .reply_port_o,
      .host_valid_o,
      .host_ready_i,
      .host_o,
      .host_port_o,
      .host_executed_o,
      .host_no_room_o,
      .executed_o,
      .read_valid_o (read_valid),
      .read_ready_i (read_ready),
      .read_addr_o  (read_addr),
      .read_slot_o  (read_slot),
      .data_valid_i (data_valid),
      .data_slot_i  (data_slot),
      .data_i       (data),
      .write_valid_o(write_valid),
      .write_ready_i(write_ready),
      .write_addr_o (write_addr),
      .write_data_o (write_data),
      .written_i    (written),
      .count_o
  );

  dram_model #(
      .AddrWidth(AddrWidth),
      .IdWidth  (SlotWidth),
      .Lanes    (1),
      .LaneWidth(WordWidth)
  ) u_dram (
      .clk_i,
      .rst_ni,
      .least_i,
      .spread_i,
      .refresh_i,
      .gap_i,
      .read_valid_i (read_valid),
      .read_ready_o (read_ready),
      .read_addr_i  (read_addr),
      .read_id_i    (read_slot),
      .data_valid_o (data_valid),
      .data_id_o    (data_slot),
      .data_o       (data),
      .write_valid_i(write_valid),
      .write_ready_o(write_ready),
      .write_addr_i (write_addr),
      .write_lanes_i(1'b1),
      .write_data_i (write_data),
      .written_o    (written)
  );
endmodule
