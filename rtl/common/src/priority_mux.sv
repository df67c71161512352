// Multiplexer of one bit: the bit of `data_i` at the lowest set bit of `select_i`; zero if none is set.
//
// A tree in which the lower neighbour wins if selected: no deeper than `find_first`, so faster than `find_first`
// followed by a multiplexer.

`include "assertions.svh"

module priority_mux #(
    parameter int unsigned Width = 8
) (
    input  logic [Width-1:0] select_i,
    input  logic [Width-1:0] data_i,
    output logic             data_o
);
  `PARAMETER_CHECK(width, Width > 0, "priority_mux: Width must be at least 1")

  logic [Width-1:0] select, data;
  always_comb begin
    select = select_i;
    data   = select_i & data_i;
    // Bit i stands for the bits from i up to `reach` beyond.
    for (int unsigned reach = 1; reach < Width; reach *= 2) begin
      for (int unsigned i = 0; i + reach < Width; i += 2 * reach) begin
        data[i]   = select[i] ? data[i] : data[i+reach];
        select[i] = select[i] || select[i+reach];
      end
    end
  end
  assign data_o = data[0];
endmodule
