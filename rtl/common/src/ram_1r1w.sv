// A memory with one port to read and one to write, of `Depth` words: the one place to change for a vendor's primitive.
//
// A word has `Parts` equal parts that are written each on its own; block RAM has an enable for each 8 or 9 bits.
//
// Both ports are clocked. What is read of a part in the cycle of a write to it is the old one or anything else: whoever needs the new one
// forwards it. Parts that are not written are read as they are; where a vendor does not promise that (AMD does, in DS512 under collision
// behaviour), each part needs a memory of its own. The memory is not reset.

`include "assertions.svh"

module ram_1r1w #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512,
    parameter int unsigned Parts = 1,
    localparam int unsigned AddressWidth = Depth > 1 ? $clog2(Depth) : 1
) (
    input  logic                    clk_i,
    input  logic [       Parts-1:0] write_i,
    input  logic [AddressWidth-1:0] write_address_i,
    input  logic [       Width-1:0] write_data_i,
    input  logic                    read_i,
    input  logic [AddressWidth-1:0] read_address_i,
    output logic [       Width-1:0] read_data_o
);
  `PARAMETER_CHECK(width, Width > 0, "ram_1r1w: Width has to be at least 1")
  `PARAMETER_CHECK(depth, Depth > 0, "ram_1r1w: Depth has to be at least 1")
  `PARAMETER_CHECK(parts, Parts > 0 && Width % Parts == 0, "ram_1r1w: Width has to be a multiple of Parts")

  // Block RAM also where the memory is small enough for the tools to think otherwise, but for one that distributed RAM holds in one cell for
  // each bit: a block has 512 places, and lines are wide. Without the second attribute yosys would compare the addresses and bring a word that
  // is being written past the memory.
  (* ram_style = Depth <= 16 ? "distributed" : "block", no_rw_check *) logic [Width-1:0] memory_q[Depth];

  localparam int unsigned PartWidth = Width / Parts;
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < Parts; p++) begin
      if (write_i[p]) memory_q[write_address_i][p*PartWidth+:PartWidth] <= write_data_i[p*PartWidth+:PartWidth];
    end
  end

`ifdef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (read_i) read_data_o <= memory_q[read_address_i];
  end
`else
  // A part that is being written gives the complement of both words, which nobody can rely on.
  logic same_word;
  assign same_word = write_address_i == read_address_i;
  always_ff @(posedge clk_i) begin
    if (read_i) begin
      read_data_o <= memory_q[read_address_i];
      for (int unsigned p = 0; p < Parts; p++) begin
        if (write_i[p] && same_word) begin
          read_data_o[p*PartWidth+:PartWidth] <=
              ~(memory_q[read_address_i][p*PartWidth+:PartWidth] ^ write_data_i[p*PartWidth+:PartWidth]);
        end
      end
    end
  end
`endif
endmodule
