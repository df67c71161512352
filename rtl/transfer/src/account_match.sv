// Finds an account in its two buckets, and a free place for it: cycles 3 and 4 of the store controller.
//
// Buckets at the input in cycle 3; slots at the output in cycle 4, unregistered. A slot is {half, way, index of the
// bucket}.

`include "registers.svh"

module account_match
  import transfer_pkg::*;
#(
    parameter int unsigned TagWidth = 24,
    parameter int unsigned IndexWidth = 8,
    localparam int unsigned SlotWidth = IndexWidth + 3
) (
    input  logic                                      clk_i,
    // Lookups: 0 is the source, 1 the destination. [lookup][half]
    input  logic [1:0][  TagWidth-1:0]                tag_i,
    input  logic [1:0][           1:0][IndexWidth-1:0] index_i,
    // {used, tag} of each place.
    input  logic [1:0][           1:0][AccountWays-1:0][TagWidth:0] entry_i,
    output logic [1:0]                                found_o,
    output logic [1:0][ SlotWidth-1:0]                slot_o,
    output logic [1:0][           1:0][      AccountWays-1:0] hit_o,
    // For the first lookup: whether its buckets have room, and where.
    output logic                                      has_room_o,
    output logic [SlotWidth-1:0]                      room_o
);
  logic [1:0][1:0][AccountWays-1:0] hit;
  logic [1:0][AccountWays-1:0] free_q;
  logic [1:0][1:0][IndexWidth-1:0] index_q;
  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_lookup
    for (genvar half = 0; half < 2; half++) begin : gen_half
      for (genvar way = 0; way < AccountWays; way++) begin : gen_way
        equal #(
            .Width(TagWidth + 1)
        ) u_hit (
            .a_i    (entry_i[lookup][half][way]),
            .b_i    ({1'b1, tag_i[lookup]}),
            .equal_o(hit[lookup][half][way])
        );
      end
    end
  end
  `FFN(hit_o, hit)
  `FFN(index_q, index_i)

  function automatic logic [1:0] way_of(logic [3:0] ways);
    return {ways[3] | ways[2], ways[3] | ways[1]};
  endfunction

  for (genvar lookup = 0; lookup < 2; lookup++) begin : gen_slot
    logic half;
    assign half = |hit_o[lookup][1];
    assign found_o[lookup] = |hit_o[lookup];
    assign slot_o[lookup] = {half, way_of(hit_o[lookup][0] | hit_o[lookup][1]), index_q[lookup][half]};
  end

  // New accounts go to the bucket with more room.
  for (genvar half = 0; half < 2; half++) begin : gen_free
    for (genvar way = 0; way < AccountWays; way++) begin : gen_way
      `FFN(free_q[half][way], !entry_i[0][half][way][TagWidth])
    end
  end
  logic room_half;
  assign room_half = $countones(free_q[1]) > $countones(free_q[0]);
  assign has_room_o = |free_q;
  logic [AccountWays-1:0] room;
  find_first #(
      .Width(AccountWays)
  ) u_room (
      .word_i (free_q[room_half]),
      .first_o(room)
  );
  assign room_o = {room_half, way_of(room), index_q[0][room_half]};
endmodule
