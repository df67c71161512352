// SHA-256 compressions, one per 64 / `RoundsPerCycle` + 2 cycles: one block after the other, each starting from the
// previous block's state or from the initial one.

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
    // State after the previous block, while ready_o is set.
    output state_t state_o
);
  `PARAMETER_CHECK(rounds, RoundsPerCycle > 0 && Rounds % RoundsPerCycle == 0,
                   "sha256_iterative: RoundsPerCycle must divide 64")
  localparam int unsigned Cycles = Rounds / RoundsPerCycle;
  localparam int unsigned CountWidth = $clog2(Cycles + 1);

  logic busy_q, accept, ends;
  logic [CountWidth-1:0] cycle_q, cycle;
  assign ready_o = !busy_q;
  assign accept = valid_i && ready_o;
  assign ends = busy_q && cycle_q == CountWidth'(Cycles);
  `FF(busy_q, accept || (busy_q && !ends), 1'b0)
  // The valid bit arrives late, and nothing here depends on it.
  assign cycle = busy_q ? cycle_q + 1'b1 : '0;
  `FF(cycle_q, cycle, '0)

  // Read a cycle ahead: looking a constant up and adding it in one cycle would take as long as the rest of a round.
  word_t [RoundsPerCycle-1:0] constants_q, constants;
  always_comb begin
    for (int unsigned step = 0; step < RoundsPerCycle; step++) begin
      constants[step] = constant(32'(cycle) * RoundsPerCycle + step);
    end
  end
  `FFN(constants_q, constants)

  state_t state_q, state;
  block_t words_q, words;
  always_comb begin
    state = state_q;
    words = words_q;
    for (int unsigned step = 0; step < RoundsPerCycle; step++) begin
      state = one_round(state, words[15] + constants_q[step]);
      words = next_words(words);
    end
  end
  always_ff @(posedge clk_i) begin
    if (accept) begin
      state_q <= first_i ? Initial : state_o;
      words_q <= block_i;
      if (first_i) state_o <= Initial;
    end else if (ends) begin
      state_o <= add(state_o, state_q);
    end else begin
      state_q <= state;
      words_q <= words;
    end
  end
endmodule
