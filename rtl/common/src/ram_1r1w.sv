// Memory of `Depth` words with one read and one write port: the only file to change for a vendor's primitive.
//
// A word consists of `Parts` equal parts with a write enable each; block RAM has an enable for each 8 or 9 bits.
//
// Both ports are clocked. Reading a part in the cycle of a write to it returns the old value or anything else; a user
// that needs the new value must forward it. Parts that are not written are read correctly; if a vendor does not
// guarantee that (AMD does, in DS512 under collision behaviour), each part needs its own memory. The memory is not
// reset.

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
  `PARAMETER_CHECK(width, Width > 0, "ram_1r1w: Width must be at least 1")
  `PARAMETER_CHECK(depth, Depth > 0, "ram_1r1w: Depth must be at least 1")
  `PARAMETER_CHECK(parts, Parts > 0 && Width % Parts == 0, "ram_1r1w: Width must be a multiple of Parts")

  // Forces block RAM even for memories that tools consider too small, except those that distributed RAM holds in one
  // cell per bit: a block has 512 places, and lines are wide. Without no_rw_check, yosys would compare the addresses
  // and bypass the memory with the word being written.
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
  // Reading a part that is being written returns the complement of both words, so that nobody can rely on it.
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
