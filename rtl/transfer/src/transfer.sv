// Transfer engine: packets with operations in, replies out. Its input has passed the packet selector, the first stage
// of the data path; this module holds the other three stages.

`include "assertions.svh"
`include "registers.svh"

module transfer
  import frame_pkg::*;
  import wire_pkg::*;
  import transfer_pkg::*;
#(
    parameter int unsigned AccountIndexWidth = 8,
    parameter int unsigned WindowBits = 10,
    parameter int unsigned WindowIndexWidth = 10,
    // Accounts in external memory, see store_controller.
    parameter bit External = 1'b0,
    parameter int unsigned Lines = 64,
    // Width of the port that a packet came from and its reply goes to: at most 8 bits.
    parameter int unsigned PortWidth = 3,
    localparam int unsigned LimitWidth = AccountIndexWidth + 4,
    localparam int unsigned LineWidth = $clog2(Lines)
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    // Configuration: constant after reset.
    input  logic    [         127:0] secret_i,
    input  logic    [LimitWidth-1:0] limit_i,
    // Advances time for remembered operations, see dedup_window.
    input  logic                     retry_tick_i,
    // Enables records of executed operations.
    input  logic                     record_enable_i,
    // Promise reported in replies to batches.
    input  logic    [           7:0] promise_i,
    // Packets of compact frames.
    input  logic                     compact_valid_i,
    output logic                     compact_ready_o,
    input  packet_t                  compact_packet_i,
    input  logic                     compact_trusted_i,
    input  logic    [ PortWidth-1:0] compact_port_i,
    // Their replies, one word each.
    output logic                     reply_valid_o,
    input  logic                     reply_ready_i,
    output word_t                    reply_word_o,
    output logic    [ PortWidth-1:0] reply_port_o,
    // Packets of batch frames of compact entries, all trusted, and their replies.
    input  logic                     batch_valid_i,
    output logic                     batch_ready_o,
    input  word_t                    batch_word_i,
    input  logic    [ PortWidth-1:0] batch_port_i,
    output logic                     batch_reply_valid_o,
    input  logic                     batch_reply_ready_i,
    output word_t                    batch_reply_word_o,
    output logic    [ PortWidth-1:0] batch_reply_port_o,
    // An operation is done; and, if enabled, its record.
    output logic                     done_o,
    output logic                     record_valid_o,
    input  logic                     record_ready_i,
    output host_pkg::record_t                  record_o,

    // See store_controller; idle without External.
    output logic     [1:0][1:0]                        mem_read_valid_o,
    input  logic     [1:0][1:0]                        mem_read_ready_i,
    output logic     [1:0][1:0][AccountIndexWidth-1:0] mem_read_addr_o,
    output logic     [1:0][1:0][        LineWidth-1:0] mem_read_line_o,
    input  logic     [1:0][1:0]                        mem_data_valid_i,
    input  logic     [1:0][1:0][        LineWidth-1:0] mem_data_line_i,
    input  bucket_t  [1:0][1:0]                        mem_data_i,
    output logic     [1:0][1:0]                        mem_write_valid_o,
    input  logic     [1:0][1:0]                        mem_write_ready_i,
    output logic     [1:0][1:0][AccountIndexWidth-1:0] mem_write_addr_o,
    output logic     [1:0][1:0][      AccountWays-1:0] mem_write_ways_o,
    output account_t [1:0][1:0]                        mem_write_data_o,
    input  logic     [1:0][1:0]                        mem_written_i
);
  `PARAMETER_CHECK(port, PortWidth >= 1 && PortWidth <= 8, "transfer: PortWidth must be from 1 to 8")

  // Operations that wait for their results: the capacity of the store controller, plus those on the way to it. A packet
  // waits a cycle longer than its operation, so `Packets` always has room for it.
  localparam int unsigned Waiting = External ? Lines + 31 : 23;
  localparam int unsigned Packets = Waiting + 1;
  // Waiting words of batches: the longest batch, and what arrives after it meanwhile.
  localparam int unsigned WaitingWords = External ? 64 : 32;
  localparam int unsigned Records = 4;

  // What the reply needs to know of an operation besides its result.
  typedef struct packed {
    logic in_batch;
    logic [PortWidth-1:0] port;
    compact_frame_t compact;
  } asked_t;

  // For compact frames the packet waits, for batches the words do.
  operation_t compact_operation, batch_operation;
  compact_frame_t batch_compact;
  logic packets_ready, packet_valid, packet_take;
  logic compact_taken, batch_operation_valid, batch_taken;
  logic [PortWidth-1:0] batch_operation_port;
  packet_t packet;
  command_extractor u_extractor (
      .compact_i  (compact_packet_i.compact),
      .trusted_i  (compact_trusted_i),
      .operation_o(compact_operation)
  );
  logic [$clog2(Packets+1)-1:0] packets;
  fifo #(
      .Width($bits(packet_t)),
      .Depth(Packets)
  ) u_packets (
      .clk_i,
      .rst_ni,
      .valid_i(compact_taken),
      .ready_o(packets_ready),
      .data_i (compact_packet_i),
      .valid_o(packet_valid),
      .ready_i(packet_take),
      .data_o (packet),
      .count_o(packets)
  );

  logic words_in_valid, words_in_ready, words_wait, words_move, words_valid, words_ready;
  word_t words_in, words;
  logic [PortWidth-1:0] words_in_port, words_port;
  logic [$bits(word_t)+PortWidth-1:0] waiting_words;
  logic [ $clog2(WaitingWords+1)-1:0] words_count;
  batch_extractor #(
      .PortWidth(PortWidth)
  ) u_batch_extractor (
      .clk_i,
      .rst_ni,
      .valid_i          (batch_valid_i),
      .ready_o          (batch_ready_o),
      .word_i           (batch_word_i),
      .port_i           (batch_port_i),
      .word_valid_o     (words_in_valid),
      .word_ready_i     (words_in_ready),
      .word_o           (words_in),
      .word_port_o      (words_in_port),
      .operation_valid_o(batch_operation_valid),
      .operation_ready_i(batch_taken),
      .compact_o        (batch_compact),
      .operation_o      (batch_operation),
      .operation_port_o (batch_operation_port)
  );
  fifo #(
      .Width($bits(word_t) + PortWidth),
      .Depth(WaitingWords)
  ) u_words (
      .clk_i,
      .rst_ni,
      .valid_i(words_in_valid),
      .ready_o(words_in_ready),
      .data_i ({words_in_port, words_in}),
      .valid_o(words_wait),
      .ready_i(words_move),
      .data_o (waiting_words),
      .count_o(words_count)
  );
  // Whether the reply moves is known too late to also move the queue.
  skid #(
      .Width($bits(word_t) + PortWidth)
  ) u_word (
      .clk_i,
      .rst_ni,
      .valid_i(words_wait),
      .ready_o(words_move),
      .data_i (waiting_words),
      .valid_o(words_valid),
      .ready_i(words_ready),
      .data_o ({words_port, words})
  );

  // Compact and batch operations alternate. Each enters the pipeline and the waiting queue in the same cycle.
  logic batch_turn_q, batch_chosen, operation_ready, asked_ready, executed_valid, executed_take, room;
  logic execute_valid, execute_ready;
  operation_t execute;
  asked_t asked_in, executed;
  logic [$clog2(Waiting+1)-1:0] waiting;
  assign batch_chosen = batch_operation_valid && (batch_turn_q || !compact_valid_i);
  assign room = operation_ready && asked_ready;
  assign batch_taken = batch_chosen && room;
  assign compact_ready_o = !batch_chosen && room;
  assign compact_taken = compact_valid_i && compact_ready_o;
  assign asked_in = batch_chosen ? '{in_batch: 1'b1, port: batch_operation_port, compact: batch_compact} :
      '{in_batch: 1'b0, port: compact_port_i, compact: compact_packet_i.compact};
  `FFE(batch_turn_q, !batch_chosen, compact_taken || batch_taken, 1'b0)
  skid #(
      .Width($bits(operation_t))
  ) u_operation (
      .clk_i,
      .rst_ni,
      .valid_i(compact_taken || batch_taken),
      .ready_o(operation_ready),
      .data_i (batch_chosen ? batch_operation : compact_operation),
      .valid_o(execute_valid),
      .ready_i(execute_ready),
      .data_o (execute)
  );
  fifo #(
      .Width($bits(asked_t)),
      .Depth(Waiting)
  ) u_asked (
      .clk_i,
      .rst_ni,
      .valid_i(compact_taken || batch_taken),
      .ready_o(asked_ready),
      .data_i (asked_in),
      .valid_o(executed_valid),
      .ready_i(executed_take),
      .data_o (executed),
      .count_o(waiting)
  );

  logic store_valid;
  answer_t answer;
  store_controller #(
      .AccountIndexWidth(AccountIndexWidth),
      .WindowBits       (WindowBits),
      .WindowIndexWidth (WindowIndexWidth),
      .External         (External),
      .Lines            (Lines)
  ) u_store (
      .clk_i,
      .rst_ni,
      .secret_i,
      .limit_i,
      .retry_tick_i,
      .valid_i    (execute_valid),
      .ready_o    (execute_ready),
      .operation_i(execute),
      .valid_o    (store_valid),
      .ready_i    (executed_take),
      .result_o   (answer),
      .mem_read_valid_o,
      .mem_read_ready_i,
      .mem_read_addr_o,
      .mem_read_line_o,
      .mem_data_valid_i,
      .mem_data_line_i,
      .mem_data_i,
      .mem_write_valid_o,
      .mem_write_ready_i,
      .mem_write_addr_o,
      .mem_write_ways_o,
      .mem_write_data_o,
      .mem_written_i
  );
  // An operation and its result go to the reply and to the record in the same cycle. Both kinds of reply need room,
  // because the kind comes out of a queue's memory while the decision must be made early.
  logic record_ready, compact_room, batch_room, batch_gives, batch_accepts;
  logic [$clog2(Records+1)-1:0] records;
  host_pkg::record_t record;
  assign executed_take = store_valid && compact_room && batch_room && (record_ready || !record_enable_i);
  assign done_o = executed_take;
  assign record = '{
      frame: '{
          command: executed.compact.command,
          transaction: executed.compact.transaction,
          source: executed.compact.source,
          destination: executed.compact.destination,
          amount: executed.compact.amount,
          status: 16'(answer.status)
      },
      in_batch: 8'(executed.in_batch),
      port: 8'(executed.port),
      value: answer.value
  };
  fifo #(
      .Width($bits(host_pkg::record_t)),
      .Depth(Records)
  ) u_records (
      .clk_i,
      .rst_ni,
      .valid_i(record_enable_i && executed_take),
      .ready_o(record_ready),
      .data_i (record),
      .valid_o(record_valid_o),
      .ready_i(record_ready_i),
      .data_o (record_o),
      .count_o(records)
  );

  // The value in compact form: a value that does not fit is reported as the maximum.
  logic [31:0] value, batch_value;
  status_e batch_status;
  assign value = answer.wide ? '1 : answer.value[31:0];
  packet_generator #(
      .PortWidth(PortWidth)
  ) u_generator (
      .clk_i,
      .rst_ni,
      .result_valid_i(executed_take && !executed.in_batch),
      .result_ready_o(compact_room),
      .status_i      (answer.status),
      .value_i       (value),
      .port_i        (executed.port),
      .packet_valid_i(packet_valid),
      .packet_ready_o(packet_take),
      .packet_i      (packet),
      .valid_o       (reply_valid_o),
      .ready_i       (reply_ready_i),
      .word_o        (reply_word_o),
      .port_o        (reply_port_o)
  );

  skid #(
      .Width($bits(status_e) + 32)
  ) u_result (
      .clk_i,
      .rst_ni,
      .valid_i(executed_take && executed.in_batch),
      .ready_o(batch_room),
      .data_i ({answer.status, value}),
      .valid_o(batch_gives),
      .ready_i(batch_accepts),
      .data_o ({batch_status, batch_value})
  );
  logic batch_valid, batch_ready, batch_none, whole_valid, whole_ready, whole_none;
  word_t batch_word, whole;
  logic [PortWidth-1:0] batch_port, whole_port;
  batch_generator #(
      .PortWidth(PortWidth)
  ) u_batch_generator (
      .clk_i,
      .rst_ni,
      .promise_i,
      .word_valid_i  (words_valid),
      .word_ready_o  (words_ready),
      .word_i        (words),
      .port_i        (words_port),
      .result_valid_i(batch_gives),
      .result_ready_o(batch_accepts),
      .status_i      (batch_status),
      .value_i       (batch_value),
      .valid_o       (batch_valid),
      .ready_i       (batch_ready),
      .word_o        (batch_word),
      .port_o        (batch_port),
      .none_o        (batch_none)
  );
  // Separates the result writer from the checksum adders.
  skid #(
      .Width($bits(word_t) + PortWidth + 1)
  ) u_made (
      .clk_i,
      .rst_ni,
      .valid_i(batch_valid),
      .ready_o(batch_ready),
      .data_i ({batch_none, batch_port, batch_word}),
      .valid_o(whole_valid),
      .ready_i(whole_ready),
      .data_o ({whole_none, whole_port, whole})
  );
  checksum_writer #(
      .UserWidth(PortWidth)
  ) u_checksum (
      .clk_i,
      .rst_ni,
      .valid_i(whole_valid),
      .ready_o(whole_ready),
      .word_i (whole),
      .user_i (whole_port),
      .none_i (whole_none),
      .valid_o(batch_reply_valid_o),
      .ready_i(batch_reply_ready_i),
      .word_o (batch_reply_word_o),
      .user_o (batch_reply_port_o)
  );

  `ASSERT(results_were_asked, !store_valid || executed_valid)
  `ASSERT(packets_have_room, !compact_taken || packets_ready)
  `ASSERT(queues_are_counted,
          32'(packets) <= 32'(waiting) + 1 && 32'(words_count) <= WaitingWords && 32'(records) <= Records)
endmodule
