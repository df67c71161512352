// Directory of accounts: two lookups per cycle from id to slot, over buckets of four in each of two halves.
//
// An id has one bucket in each half, chosen by keyed hashes; its low bits are implied by the bucket's index and are not
// stored. Cycle 1: ids at the input. Cycle 2: memory. Cycle 3: compare. The results are registered and appear in cycle
// 4. Accounts are never deleted, so a slot is permanent.
//
// The writer must not look anything up in the cycle in which it writes.

`include "assertions.svh"
`include "registers.svh"

module account_directory
  import transfer_pkg::*;
#(
    parameter int unsigned IndexWidth = 8,
    localparam int unsigned SlotWidth = IndexWidth + 3
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic [127:0]                  secret_i,
    // Lookups: 0 is the source, 1 the destination.
    input  id_t  [  1:0]                  id_i,
    output logic [  1:0]                  found_o,
    output logic [  1:0][SlotWidth-1:0]   slot_o,
    // For the first lookup: whether its buckets have room, and where.
    output logic                          has_room_o,
    output logic [SlotWidth-1:0]          room_o,
    // Writes: an account into a free slot, or, while the memory is being cleared, empty entries into all slots of an
    // index.
    input  logic                          write_i,
    input  logic [SlotWidth-1:0]          write_slot_i,
    input  id_t                           write_id_i,
    input  logic                          clear_i,
    input  logic [IndexWidth-1:0]         clear_index_i
);
  `PARAMETER_CHECK(index, IndexWidth >= 2 && IndexWidth <= 16, "account_directory: IndexWidth must be from 2 to 16")

  localparam int unsigned TagWidth = 32 - IndexWidth;
  localparam int unsigned SecretWidth = TagWidth + IndexWidth - 1;
  typedef logic [TagWidth-1:0] tag_t;
  typedef logic [IndexWidth-1:0] index_t;

  // A slot is {half, way, index of the bucket}.
  typedef struct packed {
    logic       half;
    logic [1:0] way;
    index_t     index;
  } slot_t;

  typedef struct packed {
    logic used;
    tag_t tag;
  } entry_t;

  slot_t write_slot;
  assign write_slot = write_slot_i;

  index_t [1:0][1:0] index, index_q, index_qq;
  tag_t [1:0] tag_q, tag_qq;
  entry_t [1:0][1:0][AccountWays-1:0] entry, entry_q;

  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_lookup
    for (genvar half = 0; half < 2; half++) begin : gen_half
      toeplitz_hash #(
          .DataWidth(TagWidth),
          .HashWidth(IndexWidth)
      ) u_hash (
          .secret_i(secret_i[64*half+:SecretWidth]),
          .data_i  (id_i[lookup][31:IndexWidth]),
          .rest_i  (id_i[lookup][IndexWidth-1:0]),
          .hash_o  (index[lookup][half])
      );

      for (genvar way = 0; way < AccountWays; way++) begin : gen_way
        ram_1r1w #(
            .Width(TagWidth + 1),
            .Depth(1 << IndexWidth)
        ) u_ram (
            .clk_i,
            .write_i        (clear_i || (write_i && write_slot.half == 1'(half) && write_slot.way == 2'(way))),
            .write_address_i(clear_i ? clear_index_i : write_slot.index),
            .write_data_i   ({!clear_i, write_id_i[31:IndexWidth]}),
            .read_i         (1'b1),
            .read_address_i (index[lookup][half]),
            .read_data_o    (entry[lookup][half][way])
        );
      end
    end
    `FFN(tag_q[lookup], id_i[lookup][31:IndexWidth])
  end
  `FFN(tag_qq, tag_q)
  `FFN(entry_q, entry)
  `FFN(index_q, index)
  `FFN(index_qq, index_q)

  logic [1:0][1:0][AccountWays-1:0] hit;
  account_match #(
      .TagWidth  (TagWidth),
      .IndexWidth(IndexWidth)
  ) u_match (
      .clk_i,
      .tag_i  (tag_qq),
      .index_i(index_qq),
      .entry_i(entry_q),
      .found_o,
      .slot_o,
      .hit_o  (hit),
      .has_room_o,
      .room_o
  );

  `ASSERT(one_slot_an_account, $onehot0(hit[0]) && $onehot0(hit[1]))
endmodule
