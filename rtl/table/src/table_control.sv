// Admission control of the table's pipeline: client operations, and moves from the stash.
//
// The pipeline cannot stall, so an operation enters only if there is room for its result. An insertion may need a stash
// slot: once the table is crowded, it enters only if there are slots for it and for all insertions in flight. Moves
// free slots, in idle cycles and, under pressure, after every eight operations. After many moves in a row without
// progress, the table counts as full: insertions enter anyway and may return StatusFull.

`include "assertions.svh"
`include "registers.svh"

module table_control
  import table_pkg::*;
#(
    parameter int unsigned Outstanding = 32,   // capacity for results
    parameter int unsigned Stash       = 16,
    parameter int unsigned Slots       = 8192, // entries in all buckets
    parameter int unsigned MoveGap     = 2,    // empty cycles after a move
    localparam int unsigned StashCountWidth = $clog2(Stash + 1),
    localparam int unsigned CountWidth = $clog2(Slots + Stash + 1)
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    input  logic                       enable_i,      // operations may enter from the next cycle on

    input  logic                       request_valid_i,
    output logic                       request_ready_o,
    input  op_e                        request_op_i,
    input  logic                       move_valid_i,
    output logic                       move_ready_o,
    output logic                       enter_o,       // an operation enters
    output logic                       choose_move_o, // the entering operation, if any, is the move

    // An insertion has been decided; the client has accepted a result.
    input  logic                       inserted_i,
    input  logic                       retired_i,
    input  logic [StashCountWidth-1:0] stash_used_i,
    input  logic                       added_i,
    input  logic                       removed_i,
    output logic [     CountWidth-1:0] count_o        // entries, including expired ones not yet removed
);

  `PARAMETER_CHECK(outstanding, Outstanding >= 4, "table_control: Outstanding must be at least 4")

  localparam int unsigned OutstandingWidth = $clog2(Outstanding + 1);

  // Above this, both buckets of a key may be full. With two choices of eight ways, that begins at about 80 percent.
  localparam int unsigned Crowded = Slots / 4 * 3;
  // Consecutive moves without progress after which the table counts as full. At 95 percent one in three moves succeeds,
  // so this many never fail by chance.
  localparam int unsigned Patience = 255;

  logic [OutstandingWidth-1:0] outstanding_q, inserting_q;
  logic [CountWidth-1:0] count_q;
  logic [StashCountWidth-1:0] stash_used_q;
  logic [7:0] moves_q;
  logic [2:0] turn_q;

  // Room is computed a cycle ahead, without the operation that enters meanwhile and the previous one, which is counted
  // a cycle late: the entrance and the exit of the pipeline are far apart.
  logic room_q, enter_move;
  logic [MoveGap:0] moved, moved_q;  // a move has entered: this cycle, the previous one, ...
  localparam logic [MoveGap:0] Gap = (MoveGap + 1)'(2 ** MoveGap - 1);
  assign moved = (MoveGap + 1)'({moved_q, enter_move});
  `FF(moved_q, moved, '0)
  `FF(room_q, enable_i && 32'(outstanding_q) < Outstanding - 2 && (moved & Gap) == '0, 1'b0)

  // Insertions must wait. The sum is one cycle old, and an entering insertion is counted a cycle late: two more may be
  // in flight, and one more in the stash.
  logic crowded, pressed, full, holds_q;
  assign crowded = 32'(count_q) >= Crowded || stash_used_i != '0;
  assign pressed = 32'(inserting_q) + 32'(stash_used_i) + 32'd3 >= Stash;
  assign full    = moves_q == 8'(Patience);
  `FF(holds_q, crowded && pressed && !full, 1'b0)

  // A move goes before a request. The stash is counted far away, hence the register.
  logic half_full_q, urgent_q;
  `FF(half_full_q, 32'(stash_used_i) >= Stash / 2, 1'b0)
  `FF(urgent_q, half_full_q && turn_q == '0 && !enter_move, 1'b0)

  // The choice does not wait for `room_q`: it drives all bits of an operation.
  logic inserts, waits, move_turn, enter_request;
  assign inserts         = request_op_i == OpInsert;
  assign waits           = inserts && holds_q;
  assign move_turn       = !request_valid_i || waits || urgent_q;
  assign choose_move_o   = move_valid_i && move_turn;
  assign enter_move      = room_q && choose_move_o;
  assign move_ready_o    = room_q && move_turn;
  // Ready does not depend on `request_valid_i`.
  assign request_ready_o = room_q && !waits && !(move_valid_i && urgent_q);
  assign enter_request = request_valid_i && request_ready_o;
  assign enter_o = enter_move || enter_request;

  logic entered_q, retired_q, insert_entered_q, inserted_q;
  `FF(entered_q, enter_request, 1'b0)
  `FF(retired_q, retired_i, 1'b0)
  `FF(insert_entered_q, enter_request && inserts, 1'b0)
  `FF(inserted_q, inserted_i, 1'b0)
  `FFE(outstanding_q, entered_q ? outstanding_q + 1'b1 : outstanding_q - 1'b1, entered_q != retired_q, '0)
  `FFE(inserting_q, insert_entered_q ? inserting_q + 1'b1 : inserting_q - 1'b1, insert_entered_q != inserted_q, '0)
  `FFE(count_q, added_i ? count_q + 1'b1 : count_q - 1'b1, added_i != removed_i, '0)
  `FFE(turn_q, enter_move ? 3'd7 : turn_q - 1'b1, enter_move || (enter_request && turn_q != '0), '0)
  assign count_o = count_q;

  // Progress of the moves.
  logic progress;
  assign progress = stash_used_i < stash_used_q;
  `FF(stash_used_q, stash_used_i, '0)
  `FFE(moves_q, progress ? '0 : moves_q + 1'b1, progress || (enter_move && !full), '0)

  `ASSERT(results_have_room, 32'(outstanding_q) <= Outstanding)
  `ASSERT(entries_are_counted, !(count_q == '0 && removed_i && !added_i))

endmodule
