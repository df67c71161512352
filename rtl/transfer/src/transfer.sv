// The transfer engine: packets with operations in, replies out. What it takes has passed the packet selector, the first stage of the data path;
// here are the other three.

`include "assertions.svh"

module transfer
  import wire_pkg::*;
  import transfer_pkg::*;
#(
    parameter int unsigned AccountIndexWidth = 8,
    parameter int unsigned WindowBits = 10,
    parameter int unsigned WindowIndexWidth = 10,
    // Where a packet came from and its reply goes to: at most 8 bits.
    parameter int unsigned PortWidth = 3,
    localparam int unsigned LimitWidth = AccountIndexWidth + 4
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    // Configuration: constant after the reset.
    input  logic    [         127:0] secret_i,
    input  logic    [LimitWidth-1:0] limit_i,
    // Whether what was done is told.
    input  logic                     tells_i,
    // Packets of compact frames.
    input  logic                     compact_valid_i,
    output logic                     compact_ready_o,
    input  packet_t                  compact_packet_i,
    input  logic                     compact_trusted_i,
    input  logic    [ PortWidth-1:0] compact_port_i,
    // Their replies, a word each.
    output logic                     reply_valid_o,
    input  logic                     reply_ready_i,
    output logic    [         511:0] reply_data_o,
    output logic    [ PortWidth-1:0] reply_port_o,
    // What was done.
    output logic                     record_valid_o,
    input  logic                     record_ready_i,
    output record_t                  record_o
);
  `PARAMETER_CHECK(port, PortWidth >= 1 && PortWidth <= 8, "transfer: PortWidth has to be from 1 to 8")

  // Packets that wait for their results: as many as the store controller takes, and those on the way to it.
  localparam int unsigned Waiting = 24;
  localparam int unsigned Records = 4;

  // A packet waits while its operation is executed; both are taken together.
  typedef struct packed {
    logic [PortWidth-1:0] port;
    packet_t packet;
  } waiting_t;
  logic waiting_ready, waiting_valid, waiting_take, operation_ready, execute_valid, execute_ready;
  waiting_t waiting;
  operation_t operation, execute;
  assign compact_ready_o = waiting_ready && operation_ready;
  command_extractor u_extractor (
      .compact_i  (compact_packet_i.compact),
      .trusted_i  (compact_trusted_i),
      .operation_o(operation)
  );
  skid #(
      .Width($bits(operation_t))
  ) u_operation (
      .clk_i,
      .rst_ni,
      .valid_i(compact_valid_i && waiting_ready),
      .ready_o(operation_ready),
      .data_i (operation),
      .valid_o(execute_valid),
      .ready_i(execute_ready),
      .data_o (execute)
  );
  logic [$clog2(Waiting+1)-1:0] waiting_count;
  fifo #(
      .Width($bits(waiting_t)),
      .Depth(Waiting)
  ) u_waiting (
      .clk_i,
      .rst_ni,
      .valid_i(compact_valid_i && operation_ready),
      .ready_o(waiting_ready),
      .data_i ({compact_port_i, compact_packet_i}),
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

  // A result goes to the reply and to the record in the same cycle.
  logic generator_ready, generator_result_ready, record_ready, told;
  logic [$clog2(Records+1)-1:0] records;
  record_t record;
  assign told = !tells_i || record_ready;
  assign result_ready = generator_result_ready;
  assign waiting_take = generator_ready;
  assign record = '{
      command: waiting.packet.compact.command,
      transaction: waiting.packet.compact.transaction,
      source: waiting.packet.compact.source,
      destination: waiting.packet.compact.destination,
      amount: waiting.packet.compact.amount,
      status: 16'(result.status),
      reserved: '0,
      in_batch: 1'b0,
      port: 8'(waiting.port),
      value: result.value
  };
  fifo #(
      .Width($bits(record_t)),
      .Depth(Records)
  ) u_records (
      .clk_i,
      .rst_ni,
      .valid_i(tells_i && generator_result_ready),
      .ready_o(record_ready),
      .data_i (record),
      .valid_o(record_valid_o),
      .ready_i(record_ready_i),
      .data_o (record_o),
      .count_o(records)
  );

  packet_generator #(
      .PortWidth(PortWidth)
  ) u_generator (
      .clk_i,
      .rst_ni,
      .packet_valid_i(waiting_valid),
      .packet_ready_o(generator_ready),
      .packet_i      (waiting.packet),
      .port_i        (waiting.port),
      .result_valid_i(result_valid && told),
      .result_ready_o(generator_result_ready),
      .result_i      (result),
      .valid_o       (reply_valid_o),
      .ready_i       (reply_ready_i),
      .data_o        (reply_data_o),
      .port_o        (reply_port_o)
  );

  `ASSERT(results_have_packets, !result_valid || waiting_count != '0)
  `ASSERT(records_have_results, !record_valid_o || records != '0)
endmodule
