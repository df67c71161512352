// Rotates a word towards its first byte, in steps that take a cell for each bit: for 64 bytes, three of four distances,
// or, where a cell has four inputs, six of two.

`include "assertions.svh"

module rotate_bytes #(
    parameter int unsigned Bytes = 64,
`ifdef SIX_INPUT_CELLS
    parameter int unsigned Distances = 4,  // that a step selects from
`else
    parameter int unsigned Distances = 2,
`endif
    localparam int unsigned Width = 8 * Bytes,
    localparam int unsigned CountWidth = $clog2(Bytes)
) (
    input  logic [     Width-1:0] word_i,
    input  logic [CountWidth-1:0] bytes_i,
    output logic [     Width-1:0] word_o
);
  `PARAMETER_CHECK(distances, Distances == 2 || Distances == 4, "rotate_bytes: Distances must be 2 or 4")

  `PARAMETER_CHECK(bytes, Bytes == Distances ** ($clog2(Bytes) / $clog2(Distances)),
                   "rotate_bytes: Bytes must be a power of Distances")

  localparam int unsigned DistanceWidth = $clog2(Distances);
  localparam int unsigned Steps = CountWidth / DistanceWidth;
  logic [Steps:0][Width-1:0] rotated;
  assign rotated[0] = word_i;
  assign word_o = rotated[Steps];
  for (genvar step = 0; step < Steps; step++) begin : gen_step
    localparam int unsigned Bits = 8 * Distances ** step;
    logic [Distances-1:0][Width-1:0] words;
    for (genvar distance = 0; distance < Distances; distance++) begin : gen_distance
      assign words[distance] = Width'({2{rotated[step]}} >> distance * Bits);
    end
    mux_cells #(
        .Width (Width),
        .Inputs(Distances)
    ) u_mux (
        .select_i(bytes_i[DistanceWidth*step+:DistanceWidth]),
        .words_i (words),
        .word_o  (rotated[step+1])
    );
  end
endmodule
