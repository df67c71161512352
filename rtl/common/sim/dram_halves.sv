// Memory of a store in two halves, for simulation: one DRAM per half, both with the same timing.
module dram_halves #(
    // Of each half.
    parameter int unsigned Ports = 1,
    parameter int unsigned AddrWidth = 10,
    parameter int unsigned IdWidth = 6,
    parameter int unsigned Lanes = 8,
    parameter int unsigned LaneWidth = 64
) (
    input  logic                                                  clk_i,
    input  logic                                                  rst_ni,
    // Timing, and a half's ports: see dram_model.
    input  logic [15:0]                                           least_i,
    input  logic [15:0]                                           spread_i,
    input  logic [15:0]                                           refresh_i,
    input  logic [15:0]                                           gap_i,
    input  logic [1:0][Ports-1:0]                                 read_valid_i,
    output logic [1:0][Ports-1:0]                                 read_ready_o,
    input  logic [1:0][Ports-1:0][AddrWidth-1:0]                  read_addr_i,
    input  logic [1:0][Ports-1:0][  IdWidth-1:0]                  read_id_i,
    output logic [1:0][Ports-1:0]                                 data_valid_o,
    output logic [1:0][Ports-1:0][  IdWidth-1:0]                  data_id_o,
    output logic [1:0][Ports-1:0][    Lanes-1:0][LaneWidth-1:0]   data_o,
    input  logic [1:0][Ports-1:0]                                 write_valid_i,
    output logic [1:0][Ports-1:0]                                 write_ready_o,
    input  logic [1:0][Ports-1:0][AddrWidth-1:0]                  write_addr_i,
    input  logic [1:0][Ports-1:0][    Lanes-1:0]                  write_lanes_i,
    input  logic [1:0][Ports-1:0][LaneWidth-1:0]                  write_data_i,
    output logic [1:0][Ports-1:0]                                 written_o
);
  for (genvar half = 0; half < 2; half++) begin : gen_half
    dram_model #(
        .Ports    (Ports),
        .AddrWidth(AddrWidth),
        .IdWidth  (IdWidth),
        .Lanes    (Lanes),
        .LaneWidth(LaneWidth)
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
        .read_id_i    (read_id_i[half]),
        .data_valid_o (data_valid_o[half]),
        .data_id_o    (data_id_o[half]),
        .data_o       (data_o[half]),
        .write_valid_i(write_valid_i[half]),
        .write_ready_o(write_ready_o[half]),
        .write_addr_i (write_addr_i[half]),
        .write_lanes_i(write_lanes_i[half]),
        .write_data_i (write_data_i[half]),
        .written_o    (written_o[half])
    );
  end
endmodule
