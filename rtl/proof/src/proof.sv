// Proof service: answers packets of proof frames from the cache, forwards misses to the host unmodified, and takes in
// the host's answers to them.

`include "assertions.svh"
`include "registers.svh"

module proof
  import wire_pkg::*;
  import proof_pkg::*;
#(
    // See proof_cache.
    parameter int unsigned Sets   = 64,
    parameter int unsigned Ways   = 4,
    parameter int unsigned Misses = 64,
    // Requests that wait for the cache, or for their replies to leave.
    parameter int unsigned Slots = 64,
    parameter int unsigned PortWidth = 3,
    // Replies in external memory.
    parameter bit External = 1'b0,
    localparam int unsigned IdWidth = $clog2(Misses),
    localparam int unsigned Beats = 16,
    localparam int unsigned AddrWidth = $clog2(Sets * Ways * Beats),
    localparam int unsigned MemSlotWidth = External ? 6 : 2
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    // Secret words of the cache's hash; constant after reset.
    input  logic [ 7:0][63:0]          secrets_i,
    // Requests.
    input  logic                       valid_i,
    output logic                       ready_o,
    input  word_t                      word_i,
    input  logic [PortWidth-1:0]       port_i,
    // Replies.
    output logic                       reply_valid_o,
    input  logic                       reply_ready_i,
    output word_t                      reply_word_o,
    output logic [PortWidth-1:0]       reply_port_o,
    // Requests for the host; with `miss_fill_o`, the host must answer once with this id.
    output logic                       miss_valid_o,
    input  logic                       miss_ready_i,
    output word_t                      miss_word_o,
    output logic [PortWidth-1:0]       miss_port_o,
    output logic                       miss_fill_o,
    output logic [  IdWidth-1:0]       miss_id_o,
    // Answers: the body of a reply, or one word with fill_none_i.
    input  logic                       fill_valid_i,
    output logic                       fill_ready_o,
    input  word_t                      fill_word_i,
    input  logic [  IdWidth-1:0]       fill_id_i,
    input  logic                       fill_none_i,
    // Packets of one host_pkg::announcement_t each.
    input  logic                       announce_valid_i,
    output logic                       announce_ready_o,
    input  word_t                      announce_word_i,
    output logic                       filled_o,
    output logic                       refused_o,

    // See proof_cache; idle without External.
    output logic                       mem_read_valid_o,
    input  logic                       mem_read_ready_i,
    output logic [   AddrWidth-1:0]    mem_read_addr_o,
    output logic [MemSlotWidth-1:0]    mem_read_slot_o,
    input  logic                       mem_data_valid_i,
    input  logic [MemSlotWidth-1:0]    mem_data_slot_i,
    input  logic [           511:0]    mem_data_i,
    output logic                       mem_write_valid_o,
    input  logic                       mem_write_ready_i,
    output logic [   AddrWidth-1:0]    mem_write_addr_o,
    output logic [           511:0]    mem_write_data_o,
    input  logic                       mem_written_i
);
  localparam int unsigned LenWidth = $clog2(Beats) + 7;
  localparam int unsigned SlotWidth = $clog2(Slots);
  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [PortWidth-1:0] port_t;

  // Request data, stored once for replies and once for misses.
  typedef struct packed {
    port_t    port;
    request_t request;
  } kept_t;
  logic lookup_valid, lookup_ready, keeps, reply_frees, miss_frees;
  key_t lookup_key;
  logic [LenWidth-1:0] lookup_room;
  slot_t lookup_slot, kept_slot, body_slot, forwarded_slot, reply_read, miss_read;
  kept_t kept, reply_kept, miss_kept;
  logic [10:0] kept_length;
  proof_extractor #(
      .Slots    (Slots),
      .PortWidth(PortWidth),
      .LenWidth (LenWidth)
  ) u_extractor (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .word_i,
      .port_i,
      .lookup_valid_o(lookup_valid),
      .lookup_ready_i(lookup_ready),
      .lookup_key_o  (lookup_key),
      .lookup_room_o (lookup_room),
      .lookup_slot_o (lookup_slot),
      .keep_o        (keeps),
      .slot_o        (kept_slot),
      .request_o     (kept.request),
      .request_port_o(kept.port),
      .request_length_o(kept_length),
      .free_i        ({miss_frees, reply_frees}),
      .free_slot_i   ({forwarded_slot, body_slot})
  );
  ram_1r1w #(
      .Width($bits(kept_t)),
      .Depth(Slots)
  ) u_reply_requests (
      .clk_i,
      .write_i        (keeps),
      .write_address_i(kept_slot),
      .write_data_i   (kept),
      .read_i         (1'b1),
      .read_address_i (reply_read),
      .read_data_o    (reply_kept)
  );
  ram_1r1w #(
      .Width($bits(kept_t)),
      .Depth(Slots)
  ) u_miss_requests (
      .clk_i,
      .write_i        (keeps),
      .write_address_i(kept_slot),
      .write_data_i   (kept),
      .read_i         (1'b1),
      .read_address_i (miss_read),
      .read_data_o    (miss_kept)
  );

  // A copy for the forwarder, readable without a clock.
  (* ram_style = "distributed" *) logic [10:0] lengths_q[Slots];
  `FFNE(lengths_q[kept_slot], kept_length, keeps)

  // Announcements have two words; shorter ones, and those that do not change a chain, are dropped.
  host_pkg::announcement_t announcement;
  logic [WordWidth-1:0] announce_first_q;
  logic [1:0] announce_word_q;
  logic announce_asks, announce_offers, announce_accept;
  op_e announce_op;
  assign announcement = $bits(announcement)'({announce_word_i.data, announce_first_q});
  assign announce_op = op_e'(announcement.operation[2:0]);
  assign announce_offers = announce_word_q == 2'd1 && announce_word_i.keep[$bits(announcement)/8-WordBytes-1] &&
      announcement.operation[7:2] == '0 && announcement.operation[1:0] != '0;
  assign announce_accept = announce_valid_i && announce_ready_o;
  assign announce_ready_o = !announce_offers || announce_asks;
  `FFE(announce_word_q, announce_word_i.last ? 2'd0 : announce_word_q == 2'd2 ? 2'd2 : announce_word_q + 2'd1,
       announce_accept, '0)
  `FFNE(announce_first_q, announce_word_i.data, announce_word_q == 2'd0)

  logic body_valid, body_ready, body_too_large, body_last, miss_valid, miss_ready, miss_fill;
  logic [511:0] body_data;
  logic [63:0] body_keep;
  logic [LenWidth-1:0] body_length;
  logic [IdWidth-1:0] miss_id;
  slot_t miss_slot;
  key_t unused_key;
  proof_cache #(
      .Sets    (Sets),
      .Ways    (Ways),
      .Beats   (Beats),
      .Misses  (Misses),
      .TagWidth(SlotWidth),
      .External(External)
  ) u_cache (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .lookup_valid_i   (lookup_valid),
      .lookup_ready_o   (lookup_ready),
      .lookup_key_i     (lookup_key),
      .lookup_room_i    (lookup_room),
      .lookup_tag_i     (lookup_slot),
      .reply_valid_o    (body_valid),
      .reply_ready_i    (body_ready),
      .reply_data_o     (body_data),
      .reply_keep_o     (body_keep),
      .reply_last_o     (body_last),
      .reply_tag_o      (body_slot),
      .reply_length_o   (body_length),
      .reply_too_large_o(body_too_large),
      .miss_valid_o     (miss_valid),
      .miss_ready_i     (miss_ready),
      .miss_key_o       (unused_key),
      .miss_tag_o       (miss_slot),
      .miss_fill_o      (miss_fill),
      .miss_id_o        (miss_id),
      .fill_valid_i,
      .fill_ready_o,
      .fill_data_i      (fill_word_i.data),
      .fill_keep_i      (fill_word_i.keep),
      .fill_last_i      (fill_word_i.last),
      .fill_id_i,
      .fill_none_i,
      .announce_valid_i (announce_valid_i && announce_offers),
      .announce_ready_o (announce_asks),
      .announce_op_i    (announce_op),
      .announce_key_i   ({announcement.address, announcement.place}),
      .announce_tip_i   ({announcement.height, announcement.hash}),
      .announce_parent_i(announcement.parent),
      .filled_o,
      .refused_o,
      .mem_read_valid_o,
      .mem_read_ready_i,
      .mem_read_addr_o,
      .mem_read_slot_o,
      .mem_data_valid_i,
      .mem_data_slot_i,
      .mem_data_i,
      .mem_write_valid_o,
      .mem_write_ready_i,
      .mem_write_addr_o,
      .mem_write_data_o,
      .mem_written_i
  );

  logic large_valid, large_ready, made_valid, made_ready, made_none, whole_valid, whole_ready, whole_none;
  word_t made, whole;
  port_t made_port, whole_port;
  proof_generator #(
      .SlotWidth(SlotWidth),
      .PortWidth(PortWidth),
      .LenWidth (LenWidth)
  ) u_generator (
      .clk_i,
      .rst_ni,
      .body_valid_i    (body_valid),
      .body_ready_o    (body_ready),
      .body_i          ('{last: body_last, keep: body_keep, data: body_data}),
      .body_slot_i     (body_slot),
      .body_length_i   (body_length),
      .body_too_large_i(body_too_large),
      .slot_o          (reply_read),
      .request_i       (reply_kept.request),
      .request_port_i  (reply_kept.port),
      .free_o          (reply_frees),
      .large_valid_o   (large_valid),
      .large_ready_i   (large_ready),
      .valid_o         (made_valid),
      .ready_i         (made_ready),
      .word_o          (made),
      .port_o          (made_port),
      .none_o          (made_none)
  );
  // Separates the header adders from the checksum adders.
  skid #(
      .Width($bits(word_t) + PortWidth + 1)
  ) u_made (
      .clk_i,
      .rst_ni,
      .valid_i(made_valid),
      .ready_o(made_ready),
      .data_i ({made_none, made_port, made}),
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
      .valid_o(reply_valid_o),
      .ready_i(reply_ready_i),
      .word_o (reply_word_o),
      .user_o (reply_port_o)
  );

  logic forwarded_valid, forwarded_ready, forwarded_fill;
  word_t forwarded;
  port_t forwarded_port;
  logic [IdWidth-1:0] forwarded_id;
  proof_forwarder #(
      .SlotWidth(SlotWidth),
      .PortWidth(PortWidth),
      .IdWidth  (IdWidth)
  ) u_forwarder (
      .clk_i,
      .rst_ni,
      .miss_valid_i  (miss_valid),
      .miss_ready_o  (miss_ready),
      .miss_slot_i   (miss_slot),
      .miss_fill_i   (miss_fill),
      .miss_id_i     (miss_id),
      .large_valid_i (large_valid),
      .large_ready_o (large_ready),
      .large_slot_i  (body_slot),
      .slot_o        (miss_read),
      .length_i      (lengths_q[miss_read]),
      .request_i     (miss_kept.request),
      .request_port_i(miss_kept.port),
      .free_o        (miss_frees),
      .free_slot_o   (forwarded_slot),
      .valid_o       (forwarded_valid),
      .ready_i       (forwarded_ready),
      .word_o        (forwarded),
      .port_o        (forwarded_port),
      .fill_o        (forwarded_fill),
      .id_o          (forwarded_id)
  );
  // Separates the request memory from the logic around the host's queue.
  skid #(
      .Width($bits(word_t) + PortWidth + 1 + IdWidth)
  ) u_forwarded (
      .clk_i,
      .rst_ni,
      .valid_i(forwarded_valid),
      .ready_o(forwarded_ready),
      .data_i ({forwarded_id, forwarded_fill, forwarded_port, forwarded}),
      .valid_o(miss_valid_o),
      .ready_i(miss_ready_i),
      .data_o ({miss_id_o, miss_fill_o, miss_port_o, miss_word_o})
  );
endmodule
