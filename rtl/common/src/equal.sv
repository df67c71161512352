// Whether two words are the same.
//
// Synthesis maps it by itself (`keep_hierarchy`), and so as flat as it can be: in one with what is around it tools relax it to the depth of the
// longest path there is, and mix what asks for the comparison into it, whose bits may lie all over the device.

`include "assertions.svh"

(* keep_hierarchy *)
module equal #(
    parameter int unsigned Width = 64
) (
    input  logic [Width-1:0] a_i,
    input  logic [Width-1:0] b_i,
    output logic             equal_o
);
  `PARAMETER_CHECK(width, Width > 0, "equal: Width has to be at least 1")

  assign equal_o = a_i == b_i;
endmodule
