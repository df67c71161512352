// Compressions of SHA-256, one in 64 / `RoundsPerCycle` + 2 cycles: a block after the other, each from the state that the one before has left, or
// from the initial one.

`include "assertions.svh"
`include "registers.svh"

module sha256_iterative
  import sha256_pkg::*;
#(
    parameter int unsigned RoundsPerCycle = 1
) (
    input  logic   clk_i,
    input  logic   rst_ni,
    input  logic   valid_i,
    output logic   ready_o,
    input  logic   first_i,
    input  block_t block_i,
    // Of the block before, while ready_o is set.
    output state_t state_o
);
  // The words of a cycle's rounds are all there before it.
  `PARAMETER_CHECK(rounds, RoundsPerCycle > 0 && RoundsPerCycle <= 16 && Rounds % RoundsPerCycle == 0,
                   "sha256_iterative: RoundsPerCycle has to divide 64, and is at most 16")
  localparam int unsigned Cycles = Rounds / RoundsPerCycle;
  localparam int unsigned CountWidth = $clog2(Cycles + 1);

  logic busy_q, takes, ends;
  logic [CountWidth-1:0] cycle_q;
  assign ready_o = !busy_q;
  assign takes = valid_i && ready_o;
  assign ends = busy_q && cycle_q == CountWidth'(Cycles);
  `FF(busy_q, takes || (busy_q && !ends), 1'b0)
  `FF(cycle_q, busy_q ? cycle_q + 1'b1 : '0, '0)

  // Those of the cycle after this one, and before a block those of its first: a sum with what is just being looked up would take as long as all
  // others of a round.
  word_t [RoundsPerCycle-1:0] constants_q, constants;
  always_comb begin
    for (int unsigned step = 0; step < RoundsPerCycle; step++) begin
      constants[step] = constant((busy_q && !ends ? 32'(cycle_q) + 32'd2 : '0) * RoundsPerCycle + step);
      if (takes) constants[step] = constant(RoundsPerCycle + step);
    end
  end
  `FFN(constants_q, constants)

  // The sum of constant and word is made a cycle ahead as well.
  word_t [RoundsPerCycle-1:0] addends_q, addends;
  state_t state_q, state;
  block_t words_q, words;
  always_comb begin
    state = state_q;
    words = takes ? block_i : words_q;
    for (int unsigned step = 0; step < RoundsPerCycle; step++) begin
      state = one_round(state, addends_q[step]);
      if (!takes) words = next_words(words);
    end
    for (int unsigned step = 0; step < RoundsPerCycle; step++) addends[step] = words[4'(15-step)] + constants_q[step];
  end
  `FFN(addends_q, addends)
  `FFN(words_q, words)
  always_ff @(posedge clk_i) begin
    if (takes) begin
      state_q <= first_i ? Initial : state_o;
      if (first_i) state_o <= Initial;
    end else if (ends) begin
      state_o <= add(state_o, state_q);
    end else begin
      state_q <= state;
    end
  end
endmodule
