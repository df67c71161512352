// Whether the lowest one of a word is marked; not where there is none.
//
// Neighbours decide in rounds, and the lower one wins where it is a one: no deeper than `find_first`, behind which this would be.

`include "assertions.svh"

module first_has #(
    parameter int unsigned Width = 8
) (
    input  logic [Width-1:0] word_i,
    input  logic [Width-1:0] marks_i,
    output logic             has_o
);
  `PARAMETER_CHECK(width, Width > 0, "first_has: Width has to be at least 1")

  logic [Width-1:0] word, has;
  always_comb begin
    word = word_i;
    has  = word_i & marks_i;
    // Bit i speaks for the bits from i on within reach.
    for (int unsigned reach = 1; reach < Width; reach *= 2) begin
      for (int unsigned i = 0; i + reach < Width; i += 2 * reach) begin
        has[i]  = word[i] ? has[i] : has[i+reach];
        word[i] = word[i] || word[i+reach];
      end
    end
  end
  assign has_o = has[0];
endmodule
