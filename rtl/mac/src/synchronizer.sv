// Brings bits of another clock into this one: two registers, so that the first one has a cycle to settle. The bits are
// independent: of a number, only a Gray code survives.
//
// In simulation, a bit that changed since the last edge arrives now or a cycle later, at random.

`include "registers.svh"

module synchronizer #(
    parameter int unsigned Width = 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [Width-1:0] data_i,
    output logic [Width-1:0] data_o
);
  logic [Width-1:0] first_q;
`ifdef SYNTHESIS
  `FF(first_q, data_i, '0)
`else
  logic [Width-1:0] before_q, late;
  `FF(before_q, data_i, '0)
  // Drawn at the other edge: a value that changes with the clock would race.
  always_ff @(negedge clk_i) begin
    for (int unsigned b = 0; b < Width; b++) late[b] <= 1'($urandom);
  end
  `FF(first_q, (data_i & ~late) | (before_q & late), '0)
`endif
  `FF(data_o, first_q, '0)
endmodule
