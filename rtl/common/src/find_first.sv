// The lowest one of a word, alone; nothing where there is none.
//
// Not by `word & (~word + 1)`: synthesis makes a carry chain of that sum, and can put nothing that is around it together with it.

`include "assertions.svh"

module find_first #(
    parameter int unsigned Width = 8
) (
    input  logic [Width-1:0] word_i,
    output logic [Width-1:0] first_o
);
  `PARAMETER_CHECK(width, Width > 0, "find_first: Width has to be at least 1")

  // Whether there is a one below: within reach of 1, 2, 4, ... bits.
  logic [Width-1:0] below;
  always_comb begin
    below = word_i << 1;
    for (int unsigned reach = 1; reach < Width; reach *= 2) below |= below << reach;
  end
  assign first_o = word_i & ~below;
endmodule
