// A memory with one port to read and one to write, of `Depth` words: the one place to change for a vendor's primitive.
//
// Both ports are clocked. What is read in the cycle of a write to the same address is the old word or anything else: whoever needs
// the new one forwards it. The memory is not reset.

`include "assertions.svh"

module ram_1r1w #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512,
    localparam int unsigned AddressWidth = Depth > 1 ? $clog2(Depth) : 1
) (
    input  logic                    clk_i,
    input  logic                    write_i,
    input  logic [AddressWidth-1:0] write_address_i,
    input  logic [       Width-1:0] write_data_i,
    input  logic                    read_i,
    input  logic [AddressWidth-1:0] read_address_i,
    output logic [       Width-1:0] read_data_o
);
  `PARAMETER_CHECK(width, Width > 0, "ram_1r1w: Width has to be at least 1")
  `PARAMETER_CHECK(depth, Depth > 0, "ram_1r1w: Depth has to be at least 1")

  // Block RAM also where the memory is small enough for the tools to think otherwise. Without the second attribute yosys would compare the
  // addresses and bring a word that is being written past the memory.
  (* ram_style = "block", no_rw_check *) logic [Width-1:0] memory_q[Depth];

  always_ff @(posedge clk_i) begin
    if (write_i) memory_q[write_address_i] <= write_data_i;
  end

`ifdef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (read_i) read_data_o <= memory_q[read_address_i];
  end
`else
  // A collision gives the complement of both words, which nobody can rely on.
  logic collides;
  assign collides = write_i && write_address_i == read_address_i;
  always_ff @(posedge clk_i) begin
    if (read_i) read_data_o <= collides ? ~(memory_q[read_address_i] ^ write_data_i) : memory_q[read_address_i];
  end
`endif
endmodule
