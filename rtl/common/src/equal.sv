// Compares two words for equality.
//
// Synthesised separately (`keep_hierarchy`), and therefore as shallow as possible. Together with the surrounding logic,
// tools relax it to the depth of the longest path, and mix in logic whose bits may be spread over the whole device.
// Where cells have six inputs (`SIX_INPUT_CELLS`), each compares three bits, and a carry chain joins them.

`include "assertions.svh"

(* keep_hierarchy *)
module equal #(
    parameter int unsigned Width = 64,
`ifdef SIX_INPUT_CELLS
    parameter bit Chain = 1'b1
`else
    parameter bit Chain = 1'b0
`endif
) (
    input  logic [Width-1:0] a_i,
    input  logic [Width-1:0] b_i,
    output logic             equal_o
);
  `PARAMETER_CHECK(width, Width > 0, "equal: Width must be at least 1")

  if (Chain) begin : gen_chain
    // A carry passes all parts that are the same.
    localparam int unsigned Part = 3;
    localparam int unsigned Parts = (Width + Part - 1) / Part;
    logic [Parts-1:0] same, unused_sum;
    for (genvar n = 0; n < Parts; n++) begin : gen_part
      localparam int unsigned Bits = Part * (n + 1) > Width ? Width - Part * n : Part;
      assign same[n] = a_i[Part*n+:Bits] == b_i[Part*n+:Bits];
    end
    assign {equal_o, unused_sum} = {1'b0, same} + (Parts + 1)'(1);
  end else begin : gen_flat
    assign equal_o = a_i == b_i;
  end
endmodule
