// Rounds of BLAKE2b, one block per cycle: vector_o comes 96 / `StepsPerStage` cycles after vector_i and words_i.
//
// A block has only its first `Words` words; the others are zero and cost nothing.

`include "assertions.svh"

module blake2b_pipeline
  import blake2b_pkg::*;
#(
    parameter int unsigned Words = 16,
    // Each step adds one addition to the path: a higher value saves registers and lowers the clock.
    parameter int unsigned StepsPerStage = 1
) (
    input  logic                clk_i,
    input  vector_t             vector_i,
    input  word_t   [Words-1:0] words_i,
    output vector_t             vector_o
);
  `PARAMETER_CHECK(words, Words > 0 && Words <= 16, "blake2b_pipeline: Words must be from 1 to 16")
  `PARAMETER_CHECK(steps, StepsPerStage > 0 && Steps % StepsPerStage == 0,
                   "blake2b_pipeline: StepsPerStage must divide 96")

  // Words are separate variables, which simulators compile to much less code than slices of a wide one.
  for (genvar step = 0; step < Steps; step++) begin : gen_step
    word_t from[16], next[16], vector[16], words[Words];
    if (step == 0) begin : gen_first
      for (genvar word = 0; word < 16; word++) begin : gen_word
        assign from[word] = vector_i[word];
      end
    end else begin : gen_next
      for (genvar word = 0; word < 16; word++) begin : gen_word
        assign from[word] = gen_step[step-1].vector[word];
      end
    end

    for (genvar column = 0; column < 4; column++) begin : gen_column
      localparam int unsigned Turn = step % 8 / 4;
      localparam int unsigned A = column;
      localparam int unsigned B = 4 + (column + Turn) % 4;
      localparam int unsigned C = 8 + (column + 2 * Turn) % 4;
      localparam int unsigned D = 12 + (column + 3 * Turn) % 4;
      localparam int unsigned Word = 32'(word_of(step / 8, 8 * Turn + 2 * column + step % 4 / 2));
      word_t sum;
      if (step % 2 == 0) begin : gen_even
        if (Word < Words) begin : gen_word
          word_t word;
          if (step == 0) begin : gen_first
            assign word = words_i[Word];
          end else begin : gen_next
            assign word = gen_step[step-1].words[Word];
          end
          assign sum = from[A] + from[B] + word;
        end else begin : gen_zero
          assign sum = from[A] + from[B];
        end
        assign next[A] = sum;
        assign next[B] = from[B];
        assign next[C] = from[C];
        assign next[D] = rotate(from[D] ^ sum, step);
      end else begin : gen_odd
        assign sum = from[C] + from[D];
        assign next[A] = from[A];
        assign next[B] = rotate(from[B] ^ sum, step);
        assign next[C] = sum;
        assign next[D] = from[D];
      end
    end

    if (step % StepsPerStage == StepsPerStage - 1) begin : gen_register
      always_ff @(posedge clk_i) vector <= next;
    end else begin : gen_wire
      assign vector = next;
    end
    for (genvar word = 0; word < Words; word++) begin : gen_words
      word_t before_step;
      if (step == 0) begin : gen_first
        assign before_step = words_i[word];
      end else begin : gen_next
        assign before_step = gen_step[step-1].words[word];
      end
      if (step % StepsPerStage == StepsPerStage - 1) begin : gen_register
        always_ff @(posedge clk_i) words[word] <= before_step;
      end else begin : gen_wire
        assign words[word] = before_step;
      end
    end
  end
  logic unused_words;
  for (genvar word = 0; word < 16; word++) begin : gen_out
    assign vector_o[word] = gen_step[Steps-1].vector[word];
  end
  assign unused_words = ^gen_step[Steps-1].words[0];
endmodule
