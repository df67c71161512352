// Proof of priority_mux against find_first.

`include "assertions.svh"

module priority_mux_proof #(
    parameter int unsigned Width = 8
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic [Width-1:0] select_i,
    input logic [Width-1:0] data_i
);
  `PROOF_RESET

  logic [Width-1:0] first_o;
  logic data_o;

  find_first #(.Width(Width)) u_first (
      .word_i (select_i),
      .first_o(first_o)
  );
  priority_mux #(.Width(Width)) u_mux (.*);

  `COVER(the_first_is_set, data_o)
  `COVER(only_others_are_set, !data_o && (Width == 1 || |(select_i & data_i)))
  `ASSERT(the_first_is_chosen, data_o == |(first_o & data_i))
endmodule
