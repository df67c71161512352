// proof_cache with its replies in a DRAM.
module proof_dram
  import proof_pkg::*;
#(
    parameter int unsigned Sets = 4,
    localparam int unsigned Ways = 4,
    localparam int unsigned Beats = 16,
    localparam int unsigned Misses = 64,
    localparam int unsigned TagWidth = 16,
    localparam int unsigned LenWidth = $clog2(Beats) + 7,
    localparam int unsigned IdWidth = $clog2(Misses),
    localparam int unsigned AddrWidth = $clog2(Sets * Ways * Beats),
    localparam int unsigned SlotWidth = 6
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    // Timing of the memory, see dram_model.
    input  logic [        15:0] least_i,
    input  logic [        15:0] spread_i,
    input  logic [        15:0] refresh_i,
    input  logic [        15:0] gap_i,
    // Secret words of the hash of 33-byte keys, see table_hash_keyed.
    input  logic [ 7:0][63:0]   secrets_i,

    input  logic                lookup_valid_i,
    output logic                lookup_ready_o,
    input  key_t                lookup_key_i,
    input  logic [LenWidth-1:0] lookup_room_i,  // longest reply that the client accepts
    input  logic [TagWidth-1:0] lookup_tag_i,

    output logic                reply_valid_o,
    input  logic                reply_ready_i,
    output logic [       511:0] reply_data_o,
    output logic [        63:0] reply_keep_o,
    output logic                reply_last_o,
    output logic [TagWidth-1:0] reply_tag_o,
    output logic [LenWidth-1:0] reply_length_o,
    output logic                reply_too_large_o,  // one word of undefined data: the reply would not fit

    output logic                miss_valid_o,
    input  logic                miss_ready_i,
    output key_t                miss_key_o,
    output logic [TagWidth-1:0] miss_tag_o,
    output logic                miss_fill_o,  // the host must answer with this id
    output logic [ IdWidth-1:0] miss_id_o,

    input  logic                fill_valid_i,
    output logic                fill_ready_o,
    input  logic [       511:0] fill_data_i,
    input  logic [        63:0] fill_keep_i,
    input  logic                fill_last_i,
    input  logic [ IdWidth-1:0] fill_id_i,
    input  logic                fill_none_i,

    input  logic                announce_valid_i,
    output logic                announce_ready_o,
    input  op_e                 announce_op_i,      // OpForget, OpExtend or OpReorganise
    input  key_t                announce_key_i,     // OpForget: the key; else the chain, encoded as in keys
    input  tip_t                announce_tip_i,
    input  logic [       255:0] announce_parent_i,

    output logic                filled_o,
    output logic                refused_o
);
  logic read_valid, read_ready, data_valid, write_valid, write_ready, written;
  logic [AddrWidth-1:0] read_addr, write_addr;
  logic [SlotWidth-1:0] read_slot, data_slot;
  logic [511:0] data, write_data;

  proof_cache #(
      .Sets    (Sets),
      .Ways    (Ways),
      .Beats   (Beats),
      .Misses  (Misses),
      .TagWidth(TagWidth),
      .External(1'b1)
  ) u_cache (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .lookup_valid_i,
      .lookup_ready_o,
      .lookup_key_i,
      .lookup_room_i,
      .lookup_tag_i,
      .reply_valid_o,
      .reply_ready_i,
      .reply_data_o,
      .reply_keep_o,
      .reply_last_o,
      .reply_tag_o,
      .reply_length_o,
      .reply_too_large_o,
      .miss_valid_o,
      .miss_ready_i,
      .miss_key_o,
      .miss_tag_o,
      .miss_fill_o,
      .miss_id_o,
      .fill_valid_i,
      .fill_ready_o,
      .fill_data_i,
      .fill_keep_i,
      .fill_last_i,
      .fill_id_i,
      .fill_none_i,
      .announce_valid_i,
      .announce_ready_o,
      .announce_op_i,
      .announce_key_i,
      .announce_tip_i,
      .announce_parent_i,
      .filled_o,
      .refused_o,
      .mem_read_valid_o (read_valid),
      .mem_read_ready_i (read_ready),
      .mem_read_addr_o  (read_addr),
      .mem_read_slot_o  (read_slot),
      .mem_data_valid_i (data_valid),
      .mem_data_slot_i  (data_slot),
      .mem_data_i       (data),
      .mem_write_valid_o(write_valid),
      .mem_write_ready_i(write_ready),
      .mem_write_addr_o (write_addr),
      .mem_write_data_o (write_data),
      .mem_written_i    (written)
  );

  dram_model #(
      .AddrWidth(AddrWidth),
      .IdWidth  (SlotWidth),
      .Lanes    (1),
      .LaneWidth(512)
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
