// store_controller with its accounts in a DRAM.
module store_dram
  import transfer_pkg::*;
#(
    parameter int unsigned AccountIndexWidth = 8,
    parameter int unsigned WindowBits = 10,
    parameter int unsigned WindowIndexWidth = 10,
    parameter int unsigned Lines = 64,
    localparam int unsigned LimitWidth = AccountIndexWidth + 4,
    localparam int unsigned LineWidth = $clog2(Lines)
) (
    input  logic                        clk_i,
    input  logic                        rst_ni,
    // Timing of the memory, see dram_model.
    input  logic       [          15:0] least_i,
    input  logic       [          15:0] spread_i,
    input  logic       [          15:0] refresh_i,
    input  logic       [          15:0] gap_i,
    // The memory accepts no writes.
    input  logic                        writes_rest_i,
    input  logic       [         127:0] secret_i,
    input  logic       [LimitWidth-1:0] limit_i,
    // Advances time for remembered operations, see dedup_window.
    input  logic                        retry_tick_i,
    input  logic                        valid_i,
    output logic                        ready_o,
    input  operation_t                  operation_i,
    output logic                        valid_o,
    input  logic                        ready_i,
    output answer_t                     result_o
);
  logic [1:0][1:0] read_valid, read_ready, data_valid, write_valid, write_ready, written;
  logic [1:0][1:0] writes_rest;
  assign writes_rest = {4{writes_rest_i}};
  logic [1:0][1:0][AccountIndexWidth-1:0] read_addr, write_addr;
  logic [1:0][1:0][LineWidth-1:0] read_line, data_line;
  logic [1:0][1:0][AccountWays-1:0] write_ways;
  account_t [1:0][1:0] write_data;
  bucket_t  [1:0][1:0] data;

  store_controller #(
      .AccountIndexWidth(AccountIndexWidth),
      .WindowBits       (WindowBits),
      .WindowIndexWidth (WindowIndexWidth),
      .External         (1'b1),
      .Lines            (Lines)
  ) u_store (
      .clk_i,
      .rst_ni,
      .secret_i,
      .limit_i,
      .retry_tick_i,
      .valid_i,
      .ready_o,
      .operation_i,
      .valid_o,
      .ready_i,
      .result_o,
      .mem_read_valid_o (read_valid),
      .mem_read_ready_i (read_ready),
      .mem_read_addr_o  (read_addr),
      .mem_read_line_o  (read_line),
      .mem_data_valid_i (data_valid),
      .mem_data_line_i  (data_line),
      .mem_data_i       (data),
      .mem_write_valid_o(write_valid),
      .mem_write_ready_i(write_ready & ~writes_rest),
      .mem_write_addr_o (write_addr),
      .mem_write_ways_o (write_ways),
      .mem_write_data_o (write_data),
      .mem_written_i    (written)
  );

  dram_halves #(
      .Ports    (2),
      .AddrWidth(AccountIndexWidth),
      .IdWidth  (LineWidth),
      .Lanes    (AccountWays),
      .LaneWidth($bits(account_t))
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
      .write_valid_i(write_valid & ~writes_rest),
      .write_ready_o(write_ready),
      .write_addr_i (write_addr),
      .write_lanes_i(write_ways),
      .write_data_i (write_data),
      .written_o    (written)
  );
endmodule
