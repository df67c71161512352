// A multiplexer of one bit: that of `data_i` where the lowest bit of `select_i` is set; zero where none is.
//
// Neighbours decide in rounds, and the lower one wins where it is a one: no deeper than `find_first`, behind which this would be.

`include "assertions.svh"

module priority_mux #(
    parameter int unsigned Width = 8
) (
    input  logic [Width-1:0] select_i,
    input  logic [Width-1:0] data_i,
    output logic             data_o
);
  `PARAMETER_CHECK(width, Width > 0, "priority_mux: Width has to be at least 1")

  logic [Width-1:0] select, data;
  always_comb begin
    select = select_i;
    data   = select_i & data_i;
    // Bit i speaks for the bits from i on within reach.
    for (int unsigned reach = 1; reach < Width; reach *= 2) begin
      for (int unsigned i = 0; i + reach < Width; i += 2 * reach) begin
        data[i]   = select[i] ? data[i] : data[i+reach];
        select[i] = select[i] || select[i+reach];
      end
    end
  end
  assign data_o = data[0];
endmodule
