// Memcached in the NIC: packets in; replies out, and the host's packets, all in order.
//
//     packets -> kv_operations -> packets ------------------------------------------------> host
//                      | +------> keys and values -+                      ^ verdicts
//                      +--------> operations ------+-> kv_store ----------+-> kv_replies ---------------+
//                                                                               replies <- checksum_writer <-+
//
// The host gets each packet, except the reads that the NIC has answered. They are unmodified, except the CAS field of a
// request that the NIC has executed: 0 becomes the number of the item that was written, touched or deleted. The host
// executes these requests on its own items, in the same order, and its own FLUSH when it comes back.

`include "assertions.svh"
`include "registers.svh"

module kv
  import wire_pkg::*;
  import memcached_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned Buckets = 512,          // see kv_store
    parameter int unsigned Blocks = 256,
    parameter int unsigned FingerprintBits = 128,  // see kv_fingerprint
    // Words of packets that wait for their verdicts.
    parameter int unsigned Depth = 128,
    parameter int unsigned PortWidth = 1,
    localparam int unsigned Secrets = 34,
    localparam int unsigned AddrWidth = $clog2(Blocks) + $clog2(2 * LastRows),
    localparam int unsigned SlotWidth = 6,
    localparam int unsigned CountWidth = $clog2(2 * 8 * Buckets + 16 + 1)
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic     [Secrets-1:0][63:0] key_secrets_i,    // of the fingerprints
    input  logic     [3:0][63:0]         table_secrets_i,
    input  logic     [31:0]              now_i,            // see kv_store
    input  logic     [14:0]              series_i,
    // UDP datagrams that packet_selector has checked.
    input  logic                         valid_i,
    output logic                         ready_o,
    input  word_t                        word_i,
    input  logic     [PortWidth-1:0]     port_i,           // the same for all words of a packet
    input  logic                         from_host_i,
    output logic                         reply_valid_o,
    input  logic                         reply_ready_i,
    output word_t                        reply_o,
    output logic     [PortWidth-1:0]     reply_port_o,
    // The same for all words of a packet: whether the NIC has executed it, or lacked room to do so.
    output logic                         host_valid_o,
    input  logic                         host_ready_i,
    output word_t                        host_o,
    output logic     [PortWidth-1:0]     host_port_o,
    output logic                         host_executed_o,
    output logic                         host_no_room_o,
    output logic                         executed_o,       // a request, to count
    // See kv_store.
    output logic                         read_valid_o,
    input  logic                         read_ready_i,
    output logic     [AddrWidth-1:0]     read_addr_o,
    output logic     [SlotWidth-1:0]     read_slot_o,
    input  logic                         data_valid_i,
    input  logic     [SlotWidth-1:0]     data_slot_i,
    input  logic     [WordWidth-1:0]     data_i,
    output logic                         write_valid_o,
    input  logic                         write_ready_i,
    output logic     [AddrWidth-1:0]     write_addr_o,
    output logic     [WordWidth-1:0]     write_data_o,
    input  logic                         written_i,
    output logic     [CountWidth-1:0]    count_o
);
  // A packet and its body must fit the queues, or the first would wait for its own verdict.
  `PARAMETER_CHECK(depth, Depth >= 2 * ShortWords, "kv: Depth must be at least twice the longest packet's words")

  logic word_valid, word_ready, body_valid, body_ready, operation_valid, operation_ready, unused_body_last;
  word_t word;
  logic [WordWidth-1:0] body;
  logic [PortWidth-1:0] word_port;
  request_t operation;
  logic [127:0] fingerprint;
  kv_operations #(
      .FingerprintBits(FingerprintBits),
      .UserWidth      (PortWidth)
  ) u_operations (
      .clk_i,
      .rst_ni,
      .now_i,
      .secrets_i        (key_secrets_i),
      .valid_i,
      .ready_o,
      .word_i,
      .from_host_i,
      .user_i           (port_i),
      .word_valid_o     (word_valid),
      .word_ready_i     (word_ready),
      .word_o           (word),
      .user_o           (word_port),
      .body_valid_o     (body_valid),
      .body_ready_i     (body_ready),
      .body_o           (body),
      .body_last_o      (unused_body_last),
      .operation_valid_o(operation_valid),
      .operation_ready_i(operation_ready),
      .operation_o      (operation),
      .fingerprint_o    (fingerprint)
  );

  logic verdict_valid, verdict_ready, row_valid, row_ready, row_last;
  verdict_t verdict;
  logic [WordWidth-1:0] row;
  kv_store #(
      .Buckets(Buckets),
      .Blocks (Blocks),
      .Slots  (2 ** SlotWidth)
  ) u_store (
      .clk_i,
      .rst_ni,
      .secrets_i        (table_secrets_i),
      .now_i,
      .series_i,
      .operation_valid_i(operation_valid),
      .operation_ready_o(operation_ready),
      .operation_i      (operation),
      .fingerprint_i    (fingerprint),
      .body_valid_i     (body_valid),
      .body_ready_o     (body_ready),
      .body_i           (body),
      .verdict_valid_o  (verdict_valid),
      .verdict_ready_i  (verdict_ready),
      .verdict_o        (verdict),
      .row_valid_o      (row_valid),
      .row_ready_i      (row_ready),
      .row_o            (row),
      .row_last_o       (row_last),
      .read_valid_o,
      .read_ready_i,
      .read_addr_o,
      .read_slot_o,
      .data_valid_i,
      .data_slot_i,
      .data_i,
      .write_valid_o,
      .write_ready_i,
      .write_addr_o,
      .write_data_o,
      .written_i,
      .count_o
  );

  logic packet_valid, packet_ready;
  word_t packet;
  logic [PortWidth-1:0] packet_port;
  ram_fifo #(
      .Width(PortWidth + $bits(word_t)),
      .Depth(Depth)
  ) u_packets (
      .clk_i,
      .rst_ni,
      .valid_i(word_valid),
      .ready_o(word_ready),
      .data_i ({word_port, word}),
      .valid_o(packet_valid),
      .ready_i(packet_ready),
      .data_o ({packet_port, packet})
  );

  // A packet leaves with its verdict: to the host, to a reply, or both. That of a line which has been executed is read
  // by its reply, which begins when those before it are built.
  logic first_q, second_q, whole, for_host, for_reply, built_ready, for_text, text_ready;
  assign whole = packet_valid && verdict_valid;
  assign for_host = !verdict.executed || verdict.request.flushes || verdict.request.op != KvGet;
  assign for_reply = first_q && !for_text && (verdict.replies || verdict.has_rows);
  assign for_text = verdict.executed && verdict.request.protocol != Binary;
  assign packet_ready = for_text ? text_ready : whole && (!for_host || host_ready_i) && (!for_reply || built_ready);
  assign verdict_ready = packet_ready && packet.last;
  assign host_valid_o = whole && for_host && (!for_reply || built_ready);
  assign host_port_o = packet_port;
  assign host_executed_o = verdict.executed;
  assign host_no_room_o = verdict.no_room;
  assign executed_o = verdict_ready && verdict.executed;
  `FFE(first_q, packet.last, packet_ready, 1'b1)
  `FFE(second_q, first_q && !packet.last, packet_ready, 1'b0)
  // The last field of the request's header.
  localparam int unsigned Cas = EthernetBytes + Ipv4Bytes + UdpBytes + ($bits(
      datagram_t
  ) + $bits(
      message_t
  )) / 8 - 8 - WordBytes;
  always_comb begin
    host_o = packet;
    if (second_q && verdict.executed && !verdict.request.flushes) begin
      for (int unsigned at = 0; at < 8; at++) host_o.data[8*(Cas+at)+:8] = verdict.item.cas[8*(7-at)+:8];
    end
  end

  logic built_valid, built_none, summed_ready;
  word_t built;
  logic [PortWidth-1:0] built_port;
  kv_replies #(
      .UserWidth(PortWidth)
  ) u_replies (
      .clk_i,
      .rst_ni,
      .binary_valid_i(whole && for_reply && (!for_host || host_ready_i)),
      .binary_ready_o(built_ready),
      .text_valid_i  (whole && for_text),
      .text_ready_o  (text_ready),
      .packet_i      (packet),
      .verdict_i     (verdict),
      .user_i        (packet_port),
      .row_valid_i   (row_valid),
      .row_ready_o   (row_ready),
      .row_i         (row),
      .row_last_i    (row_last),
      .valid_o       (built_valid),
      .ready_i       (summed_ready),
      .word_o        (built),
      .none_o        (built_none),
      .user_o        (built_port)
  );
  checksum_writer #(
      .UserWidth(PortWidth)
  ) u_checksum (
      .clk_i,
      .rst_ni,
      .valid_i(built_valid),
      .ready_o(summed_ready),
      .word_i (built),
      .user_i (built_port),
      .none_i (built_none),
      .valid_o(reply_valid_o),
      .ready_i(reply_ready_i),
      .word_o (reply_o),
      .user_o (reply_port_o)
  );
endmodule
