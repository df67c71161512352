// Isolates the lowest set bit of a word; zero if there is none.
//
// Avoids `word & (~word + 1)`: synthesis turns that sum into a carry chain, which it cannot merge with the surrounding
// logic.

`include "assertions.svh"

module find_first #(
    parameter int unsigned Width = 8
) (
    input  logic [Width-1:0] word_i,
    output logic [Width-1:0] first_o
);
  `PARAMETER_CHECK(width, Width > 0, "find_first: Width must be at least 1")

  // Whether a lower bit is set, at distances of 1, 2, 4, ... bits.
  logic [Width-1:0] below;
  always_comb begin
    below = word_i << 1;
    for (int unsigned reach = 1; reach < Width; reach *= 2) below |= below << reach;
  end
  assign first_o = word_i & ~below;
endmodule
