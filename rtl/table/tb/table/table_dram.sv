// table_external with a DRAM at each of its memory ports.
module table_dram
  import table_pkg::*;
#(
    parameter int unsigned Buckets  = 64,
    parameter int unsigned Lines    = 64,
    parameter int unsigned Function = 0,
    localparam int unsigned KeyBytes = 16,
    localparam int unsigned ValueWidth = 64,
    localparam int unsigned TimeWidth = 32,
    localparam int unsigned TagWidth = 8,
    localparam int unsigned Ways = 8,
    localparam int unsigned Stash = 16,
    localparam int unsigned AddrWidth = $clog2(Buckets),
    localparam int unsigned LineWidth = $clog2(Lines),
    localparam int unsigned EntryWidth = 2 + TimeWidth + ValueWidth + 8 * KeyBytes,
    localparam int unsigned CountWidth = $clog2(2 * Ways * Buckets + Stash + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic [     3:0][63:0] secrets_i,
    input  logic [ TimeWidth-1:0] now_i,
    // Timing of the memories, see dram_model.
    input  logic [          15:0] least_i,
    input  logic [          15:0] spread_i,
    input  logic [          15:0] refresh_i,
    input  logic [          15:0] gap_i,
    input  logic                  request_valid_i,
    output logic                  request_ready_o,
    input  op_e                   request_op_i,
    input  logic [8*KeyBytes-1:0] request_key_i,
    input  logic [ValueWidth-1:0] request_value_i,
    input  logic [ TimeWidth-1:0] request_expiry_i,
    input  logic [  TagWidth-1:0] request_tag_i,
    output logic                  result_valid_o,
    input  logic                  result_ready_i,
    output status_e               result_status_o,
    output logic [ValueWidth-1:0] result_value_o,
    output logic [  TagWidth-1:0] result_tag_o,
    output logic [CountWidth-1:0] count_o
);
  logic [1:0] read_valid, read_ready, data_valid, write_valid, write_ready, written;
  logic [1:0][AddrWidth-1:0] read_addr, write_addr;
  logic [1:0][LineWidth-1:0] read_line, data_line;
  logic [1:0][Ways-1:0] write_ways;
  logic [1:0][EntryWidth-1:0] write_data;
  logic [1:0][Ways-1:0][EntryWidth-1:0] data;

  table_external #(
      .Buckets (Buckets),
      .Lines   (Lines),
      .Function(Function)
  ) u_table (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .now_i,
      .request_valid_i,
      .request_ready_o,
      .request_op_i,
      .request_key_i,
      .request_value_i,
      .request_expiry_i,
      .request_tag_i,
      .result_valid_o,
      .result_ready_i,
      .result_status_o,
      .result_value_o,
      .result_tag_o,
      .mem_read_valid_o (read_valid),
      .mem_read_ready_i (read_ready),
      .mem_read_addr_o  (read_addr),
      .mem_read_line_o  (read_line),
      .mem_data_valid_i (data_valid),
      .mem_data_line_i  (data_line),
      .mem_data_i       (data),
      .mem_write_valid_o(write_valid),
      .mem_write_ready_i(write_ready),
      .mem_write_addr_o (write_addr),
      .mem_write_ways_o (write_ways),
      .mem_write_data_o (write_data),
      .mem_written_i    (written),
      .count_o
  );

  dram_halves #(
      .AddrWidth(AddrWidth),
      .IdWidth  (LineWidth),
      .Lanes    (Ways),
      .LaneWidth(EntryWidth)
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
      .read_id_i    (read_line),
      .data_valid_o (data_valid),
      .data_id_o    (data_line),
      .data_o       (data),
      .write_valid_i(write_valid),
      .write_ready_o(write_ready),
      .write_addr_i (write_addr),
      .write_lanes_i(write_ways),
      .write_data_i (write_data),
      .written_o    (written)
  );
endmodule
