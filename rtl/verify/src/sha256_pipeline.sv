// SHA-256 compressions, one per cycle, without stalls: state_o comes `Stages` + 1 cycles after state_i and block_i.
//
// A constant block or state takes no registers: tools propagate it.

`include "assertions.svh"

module sha256_pipeline
  import sha256_pkg::*;
#(
    // A higher value saves registers and lowers the clock.
    parameter int unsigned RoundsPerStage = 1,
    localparam int unsigned Stages = Rounds / RoundsPerStage
) (
    input  logic   clk_i,
    input  state_t state_i,
    input  block_t block_i,
    output state_t state_o
);
  `PARAMETER_CHECK(rounds, RoundsPerStage > 0 && Rounds % RoundsPerStage == 0,
                   "sha256_pipeline: RoundsPerStage must divide 64")

  // Words are separate variables, which simulators compile to much less code than slices of a wide one. Word 0 of a
  // state is a; of a block, the first word.
  for (genvar round = 0; round < Rounds; round++) begin : gen_round
    word_t from[8], next[8], state[8], window[16], shifted[16], words[16];
    for (genvar word = 0; word < 8; word++) begin : gen_state
      if (round == 0) begin : gen_first
        assign from[word] = state_i[7-word];
      end else begin : gen_next
        assign from[word] = gen_round[round-1].state[word];
      end
    end
    for (genvar word = 0; word < 16; word++) begin : gen_word
      if (round == 0) begin : gen_first
        assign window[word] = block_i[15-word];
      end else begin : gen_next
        assign window[word] = gen_round[round-1].words[word];
      end
    end

    word_t first, second;
    assign first  = from[7] + mix_e(from[4], from[5], from[6]) + window[0] + constant(round);
    assign second = mix_a(from[0], from[1], from[2]);
    assign next[0] = first + second;
    assign next[4] = from[3] + first;
    for (genvar word = 1; word < 8; word++) begin : gen_kept
      if (word != 4) begin : gen_shift
        assign next[word] = from[word-1];
      end
    end
    assign shifted[15] = window[0] + spread_low(window[1]) + window[9] + spread_high(window[14]);
    for (genvar word = 0; word < 15; word++) begin : gen_shifted
      assign shifted[word] = window[word+1];
    end

    if (round % RoundsPerStage == RoundsPerStage - 1) begin : gen_register
      always_ff @(posedge clk_i) begin
        state <= next;
        words <= shifted;
      end
    end else begin : gen_wire
      assign state = next;
      assign words = shifted;
    end
  end
  state_t ended;
  for (genvar word = 0; word < 8; word++) begin : gen_ended
    assign ended[7-word] = gen_round[Rounds-1].state[word];
  end
  logic unused_words;
  assign unused_words = ^gen_round[Rounds-1].words[0];

  // State at the start of the block.
  state_t begun;
  delay #(
      .Width($bits(state_t)),
      .Depth(Stages)
  ) u_begun (
      .clk_i,
      .data_i(state_i),
      .data_o(begun)
  );
  always_ff @(posedge clk_i) state_o <= add(begun, ended);
endmodule
