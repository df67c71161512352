// kv_store with a DRAM at its memory port.
module kv_store_dram
  import wire_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned Buckets = 16,
    parameter int unsigned Blocks = 16,
    localparam int unsigned AddrWidth = $clog2(Blocks) + $clog2(2 * LastRows),
    localparam int unsigned SlotWidth = 6,
    localparam int unsigned CountWidth = $clog2(2 * 8 * Buckets + 16 + 1)
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  logic     [3:0][63:0]      secrets_i,
    input  logic     [31:0]           now_i,
    input  logic     [14:0]           series_i,
    // Timing of the memory, see dram_model.
    input  logic     [15:0]           least_i,
    input  logic     [15:0]           spread_i,
    input  logic     [15:0]           refresh_i,
    input  logic     [15:0]           gap_i,
    input  logic                      operation_valid_i,
    output logic                      operation_ready_o,
    input  request_t                  operation_i,
    input  logic     [127:0]          fingerprint_i,
    input  logic                      body_valid_i,
    output logic                      body_ready_o,
    input  logic     [WordWidth-1:0]  body_i,
    output logic                      verdict_valid_o,
    input  logic                      verdict_ready_i,
    output verdict_t                  verdict_o,
    output logic                      row_valid_o,
    input  logic                      row_ready_i,
    output logic     [WordWidth-1:0]  row_o,
    output logic                      row_last_o,
    output logic     [CountWidth-1:0] count_o
);
  logic read_valid, read_ready, data_valid, write_valid, write_ready, written;
  logic [AddrWidth-1:0] read_addr, write_addr;
  logic [SlotWidth-1:0] read_slot, data_slot;
  logic [WordWidth-1:0] data, write_data;

  kv_store #(
      .Buckets(Buckets),
      .Blocks (Blocks)
  ) u_store (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .now_i,
      .series_i,
      .operation_valid_i,
      .operation_ready_o,
      .operation_i,
      .fingerprint_i,
      .body_valid_i,
      .body_ready_o,
      .body_i,
      .verdict_valid_o,
      .verdict_ready_i,
      .verdict_o,
      .row_valid_o,
      .row_ready_i,
      .row_o,
      .row_last_o,
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
