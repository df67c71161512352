// Compares two words for equality.
//
// Synthesised separately (`keep_hierarchy`), and therefore as shallow as possible. Together with the surrounding logic,
// tools relax it to the depth of the longest path, and mix in logic whose bits may be spread over the whole device.

`include "assertions.svh"

(* keep_hierarchy *)
module equal #(
    parameter int unsigned Width = 64
) (
    input  logic [Width-1:0] a_i,
    input  logic [Width-1:0] b_i,
    output logic             equal_o
);
  `PARAMETER_CHECK(width, Width > 0, "equal: Width must be at least 1")

  assign equal_o = a_i == b_i;
endmodule
