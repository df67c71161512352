// Caches the host's answer to a miss: claims a place, waits until no reply from that place is being sent, writes, and
// commits once the memory has everything. A fill that is late, too long, or too short to contain its tip changes
// nothing.

`include "assertions.svh"
`include "registers.svh"

module proof_filler
  import proof_pkg::*;
#(
    parameter int unsigned PlaceWidth = 8,
    parameter int unsigned Beats      = 16,
    parameter int unsigned IdWidth    = 6,
    localparam int unsigned BeatWidth = $clog2(Beats),
    localparam int unsigned LenWidth  = BeatWidth + 7
) (
    input  logic clk_i,
    input  logic rst_ni,

    // Host's answer. The id is stable for the whole packet; an answer without a body is one word with none_i.
    input  logic               valid_i,
    output logic               ready_o,
    input  logic [      511:0] data_i,
    input  logic [       63:0] keep_i,
    input  logic               last_i,
    input  logic [IdWidth-1:0] id_i,
    input  logic               none_i,

    // Miss: its key is valid two cycles after the id, one cycle after the operation is offered.
    output logic [IdWidth-1:0] miss_id_o,
    output logic               miss_read_o,
    input  key_t               miss_key_i,
    output logic               free_o,  // the id may be used again

    // Into the pipeline, and the outcome.
    output logic                  op_valid_o,
    input  logic                  op_ready_i,
    output op_e                   op_o,
    output key_t                  op_key_o,
    output tip_t                  op_tip_o,
    output logic [  LenWidth-1:0] op_length_o,
    output logic [PlaceWidth-1:0] op_place_o,
    input  logic                  done_i,
    input  logic                  done_taken_i,
    input  logic [PlaceWidth-1:0] done_place_i,

    // Hits started and finished, to detect when the place is no longer being read.
    input  logic hit_i,
    input  logic finished_i,

    output logic                            write_valid_o,
    input  logic                            write_ready_i,
    output logic [PlaceWidth+BeatWidth-1:0] write_address_o,
    output logic [                   511:0] write_data_o,
    input  logic                            written_i,        // a write is done; in order

    output logic filled_o,  // a reply was cached
    output logic refused_o  // a reply was rejected
);

  typedef enum logic [2:0] {
    StateIdle,
    StateClaim,
    StateClaimed,
    StateWait,
    StateBody,
    StateCommit,
    StateCommitted
  } state_e;

  state_e state_q, state_d;
  logic [PlaceWidth-1:0] place_q;
  tip_t                  tip_q;
  logic [  LenWidth-1:0] length_q;
  logic [   BeatWidth:0] beat_q;
  logic drop_q, drop_d;
  // Write the body. A register, because it enables a whole memory.
  logic accept_q;
  // Hits whose replies are still to be read: at most the capacity of their queue and of proof_stream's slots.
  logic [7:0] reading_q, ahead_q;
  // Words on their way to the memory: of this fill, and of the few before it that were dropped.
  logic [7:0] writing_q;

  `FFE(reading_q, hit_i ? reading_q + 1'b1 : reading_q - 1'b1, hit_i != finished_i, '0)
  // Those among them that hit before the claim.
  `FFE(ahead_q, state_q == StateClaimed ? reading_q - 8'(finished_i) : ahead_q - 1'b1,
       state_q == StateClaimed || (finished_i && ahead_q != '0), '0)

  assign miss_id_o   = id_i;
  assign miss_read_o = state_q == StateIdle;
  assign op_key_o    = miss_key_i;
  assign op_tip_o    = tip_q;
  assign op_length_o = length_q;
  assign op_place_o  = place_q;
  assign op_o        = state_q == StateClaim ? OpClaim : OpCommit;
  // A lookup that finds the reply after the commit reads it, so all writes must be done.
  assign op_valid_o  = state_q == StateClaim || (state_q == StateCommit && writing_q == '0);

  logic word, drops, overlong, end_of_body;
  assign drops       = drop_q || overlong;
  assign ready_o     = state_q == StateBody && (drops || write_ready_i);
  assign word        = valid_i && ready_o;
  assign end_of_body = word && last_i;
  assign overlong    = beat_q[BeatWidth];

  logic [6:0] bytes;
  always_comb begin
    bytes = '0;
    for (int unsigned i = 0; i < 64; i++) bytes += 7'(keep_i[i]);
  end

  always_comb begin
    state_d = state_q;
    drop_d  = drop_q;
    unique case (state_q)
      StateIdle: begin
        if (valid_i) state_d = none_i || !keep_i[$bits(tip_t)/8-1] ? StateBody : StateClaim;
        drop_d = none_i || !keep_i[$bits(tip_t)/8-1];
      end
      StateClaim: if (op_ready_i) state_d = StateClaimed;
      StateClaimed: begin
        if (done_i) state_d = done_taken_i ? StateWait : StateBody;
        drop_d = !done_taken_i;
      end
      StateWait: if (ahead_q == '0) state_d = StateBody;
      StateBody: begin
        if (word && drops) drop_d = 1'b1;
        if (end_of_body) state_d = drop_d ? StateIdle : StateCommit;
      end
      StateCommit: if (op_ready_i) state_d = StateCommitted;
      StateCommitted: if (done_i) state_d = StateIdle;
      default: state_d = StateIdle;
    endcase
  end
  `FF(state_q, state_d, StateIdle)
  `FF(drop_q, drop_d, 1'b0)
  `FF(accept_q, state_d == StateBody && !drop_d, 1'b0)
  `FFNE(place_q, done_place_i, state_q == StateClaimed && done_i)
  // The first word is held until it is accepted as part of the body.
  `FFNE(tip_q, data_i[$bits(tip_t)-1:0], state_q == StateIdle)
  `FFE(beat_q, end_of_body ? '0 : beat_q + 1'b1, word && (last_i || !overlong), '0)
  `FFNE(length_q, {beat_q, 6'b0} + LenWidth'(bytes), word)

  assign write_valid_o   = valid_i && accept_q && !overlong;
  assign write_address_o = {place_q, beat_q[BeatWidth-1:0]};
  assign write_data_o    = data_i;
  `FF(writing_q, writing_q + 8'(write_valid_o && write_ready_i) - 8'(written_i), '0)

  assign free_o    = (state_q == StateBody && end_of_body && drop_d) || (state_q == StateCommitted && done_i);
  assign filled_o  = state_q == StateCommitted && done_i && done_taken_i;
  assign refused_o = free_o && !filled_o;

  `ASSERT(writes_are_counted, writing_q != '1 && !(writing_q == '0 && written_i))
  `ASSERT(hits_are_counted, reading_q != '1 && !(reading_q == '0 && finished_i && !hit_i))

endmodule
