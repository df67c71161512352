// The memory of the accounts, for simulation: a DRAM for each half, with two ports.
module accounts_dram
  import transfer_pkg::*;
#(
    parameter int unsigned AddrWidth = 10,
    parameter int unsigned LineWidth = 6
) (
    input  logic                           clk_i,
    input  logic                           rst_ni,
    // Timing, see dram_model.
    input  logic     [15:0]                least_i,
    input  logic     [15:0]                spread_i,
    input  logic     [15:0]                refresh_i,
    input  logic     [15:0]                gap_i,
    // [half][port], see store_controller.
    input  logic     [1:0][1:0]                  read_valid_i,
    output logic     [1:0][1:0]                  read_ready_o,
    input  logic     [1:0][1:0][  AddrWidth-1:0] read_addr_i,
    input  logic     [1:0][1:0][  LineWidth-1:0] read_line_i,
    output logic     [1:0][1:0]                  data_valid_o,
    output logic     [1:0][1:0][  LineWidth-1:0] data_line_o,
    output bucket_t  [1:0][1:0]                  data_o,
    input  logic     [1:0][1:0]                  write_valid_i,
    output logic     [1:0][1:0]                  write_ready_o,
    input  logic     [1:0][1:0][  AddrWidth-1:0] write_addr_i,
    input  logic     [1:0][1:0][AccountWays-1:0] write_ways_i,
    input  account_t [1:0][1:0]                  write_data_i,
    output logic     [1:0][1:0]                  written_o
);
  for (genvar half = 0; half < 2; half++) begin : gen_half
    dram_model #(
        .Ports    (2),
        .AddrWidth(AddrWidth),
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
        .read_valid_i (read_valid_i[half]),
        .read_ready_o (read_ready_o[half]),
        .read_addr_i  (read_addr_i[half]),
        .read_id_i    (read_line_i[half]),
        .data_valid_o (data_valid_o[half]),
        .data_id_o    (data_line_o[half]),
        .data_o       (data_o[half]),
        .write_valid_i(write_valid_i[half]),
        .write_ready_o(write_ready_o[half]),
        .write_addr_i (write_addr_i[half]),
        .write_lanes_i(write_ways_i[half]),
        .write_data_i (write_data_i[half]),
        .written_o    (written_o[half])
    );
  end
endmodule
