// The transfer engine: a packet stream in; replies and what is for the host out. Four stages, of which the first three are the names of the
// data path in crates/nic.
//
// Inside, a packet of 64 bytes is one word, at any width of the streams outside.

`include "assertions.svh"

module transfer
  import wire_pkg::*;
  import transfer_pkg::*;
#(
    parameter int unsigned DataWidth = 512,
    parameter int unsigned AccountIndexWidth = 8,
    parameter int unsigned WindowBits = 10,
    parameter int unsigned WindowIndexWidth = 10,
    localparam int unsigned KeepWidth = DataWidth / 8,
    localparam int unsigned LimitWidth = AccountIndexWidth + 4
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // Configuration: constant after the reset.
    input  logic [         127:0] secret_i,
    input  logic [LimitWidth-1:0] limit_i,
    input  logic [          31:0] address_i,
    input  logic [          15:0] port_i,
    input  logic [          31:0] trusted_address_i,
    input  logic [          31:0] trusted_mask_i,
    // Packets from the network.
    input  logic                  valid_i,
    output logic                  ready_o,
    input  logic [ DataWidth-1:0] data_i,
    input  logic [ KeepWidth-1:0] keep_i,
    input  logic                  last_i,
    // Replies to the network.
    output logic                  valid_o,
    input  logic                  ready_i,
    output logic [ DataWidth-1:0] data_o,
    output logic [ KeepWidth-1:0] keep_o,
    output logic                  last_o,
    // Packets to the host, as they came.
    output logic                  host_valid_o,
    input  logic                  host_ready_i,
    output logic [ DataWidth-1:0] host_data_o,
    output logic [ KeepWidth-1:0] host_keep_o,
    output logic                  host_last_o
);
  `PARAMETER_CHECK(width, DataWidth inside {64, 128, 256, 512}, "transfer: DataWidth has to be 64, 128, 256 or 512")

  localparam int unsigned Wide = 512;
  // Packets that wait for their results: as many as the store controller takes, and those on the way to it.
  localparam int unsigned Waiting = 24;

  logic wide_valid, wide_ready, wide_last;
  logic [  Wide-1:0] wide_data;
  logic [Wide/8-1:0] wide_keep;
  stream_widen #(
      .DataWidth(DataWidth),
      .WideWidth(Wide)
  ) u_widen (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .data_i,
      .keep_i,
      .last_i,
      .valid_o(wide_valid),
      .ready_i(wide_ready),
      .data_o (wide_data),
      .keep_o (wide_keep),
      .last_o (wide_last)
  );

  logic host_valid, host_ready, host_last, chosen_valid, chosen_ready, chosen_trusted;
  logic [Wide-1:0] host_data;
  logic [Wide/8-1:0] host_keep;
  packet_t chosen;
  packet_selector u_selector (
      .clk_i,
      .rst_ni,
      .address_i,
      .port_i,
      .trusted_address_i,
      .trusted_mask_i,
      .valid_i           (wide_valid),
      .ready_o           (wide_ready),
      .data_i            (wide_data),
      .keep_i            (wide_keep),
      .last_i            (wide_last),
      .host_valid_o      (host_valid),
      .host_ready_i      (host_ready),
      .host_data_o       (host_data),
      .host_keep_o       (host_keep),
      .host_last_o       (host_last),
      .transfer_valid_o  (chosen_valid),
      .transfer_ready_i  (chosen_ready),
      .transfer_packet_o (chosen),
      .transfer_trusted_o(chosen_trusted)
  );

  // A packet waits while its operation is executed; both are taken together.
  logic waiting_ready, waiting_valid, waiting_take, operation_ready, execute_valid, execute_ready;
  packet_t waiting;
  operation_t operation, execute;
  assign chosen_ready = waiting_ready && operation_ready;
  command_extractor u_extractor (
      .compact_i  (chosen.compact),
      .trusted_i  (chosen_trusted),
      .operation_o(operation)
  );
  skid #(
      .Width($bits(operation_t))
  ) u_operation (
      .clk_i,
      .rst_ni,
      .valid_i(chosen_valid && waiting_ready),
      .ready_o(operation_ready),
      .data_i (operation),
      .valid_o(execute_valid),
      .ready_i(execute_ready),
      .data_o (execute)
  );
  logic [$clog2(Waiting+1)-1:0] waiting_count;
  fifo #(
      .Width(Wide),
      .Depth(Waiting)
  ) u_waiting (
      .clk_i,
      .rst_ni,
      .valid_i(chosen_valid && operation_ready),
      .ready_o(waiting_ready),
      .data_i (chosen),
      .valid_o(waiting_valid),
      .ready_i(waiting_take),
      .data_o (waiting),
      .count_o(waiting_count)
  );

  logic result_valid, result_ready;
  result_t result;
  store_controller #(
      .AccountIndexWidth(AccountIndexWidth),
      .WindowBits       (WindowBits),
      .WindowIndexWidth (WindowIndexWidth)
  ) u_store (
      .clk_i,
      .rst_ni,
      .secret_i,
      .limit_i,
      .valid_i    (execute_valid),
      .ready_o    (execute_ready),
      .operation_i(execute),
      .valid_o    (result_valid),
      .ready_i    (result_ready),
      .result_o   (result)
  );

  logic reply_valid, reply_ready, reply_last;
  logic [  Wide-1:0] reply_data;
  logic [Wide/8-1:0] reply_keep;
  packet_generator u_generator (
      .clk_i,
      .rst_ni,
      .packet_valid_i(waiting_valid),
      .packet_ready_o(waiting_take),
      .packet_i      (waiting),
      .result_valid_i(result_valid),
      .result_ready_o(result_ready),
      .result_i      (result),
      .valid_o       (reply_valid),
      .ready_i       (reply_ready),
      .data_o        (reply_data),
      .keep_o        (reply_keep),
      .last_o        (reply_last)
  );

  stream_narrow #(
      .WideWidth(Wide),
      .DataWidth(DataWidth)
  ) u_reply (
      .clk_i,
      .rst_ni,
      .valid_i(reply_valid),
      .ready_o(reply_ready),
      .data_i (reply_data),
      .keep_i (reply_keep),
      .last_i (reply_last),
      .valid_o,
      .ready_i,
      .data_o,
      .keep_o,
      .last_o
  );
  stream_narrow #(
      .WideWidth(Wide),
      .DataWidth(DataWidth)
  ) u_host (
      .clk_i,
      .rst_ni,
      .valid_i(host_valid),
      .ready_o(host_ready),
      .data_i (host_data),
      .keep_i (host_keep),
      .last_i (host_last),
      .valid_o(host_valid_o),
      .ready_i(host_ready_i),
      .data_o (host_data_o),
      .keep_o (host_keep_o),
      .last_o (host_last_o)
  );

  `ASSERT(results_have_packets, !result_valid || waiting_count != '0)
endmodule
