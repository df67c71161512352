// Memory of `Depth` words with two read/write ports: the only file to change for a vendor's primitive.
//
// A port keeps its read word while it writes. Two writes to one address in a cycle are not allowed; a read in the cycle
// in which the other port writes the address returns anything. The memory is not reset.

`include "assertions.svh"

module ram_2rw #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512,
    localparam int unsigned AddressWidth = Depth > 1 ? $clog2(Depth) : 1
) (
    input  logic                         clk_i,
    input  logic [1:0]                   enable_i,
    input  logic [1:0]                   write_i,
    input  logic [1:0][AddressWidth-1:0] address_i,
    input  logic [1:0][       Width-1:0] write_data_i,
    output logic [1:0][       Width-1:0] read_data_o
);
  `PARAMETER_CHECK(width, Width > 0, "ram_2rw: Width must be at least 1")
  `PARAMETER_CHECK(depth, Depth > 0, "ram_2rw: Depth must be at least 1")

  // See ram_1r1w.
  (* ram_style = "block", no_rw_check *) logic [Width-1:0] memory_q[Depth];

  // Synthesis recognises a memory with two writers by one block per port. The two blocks never write the same address.
  for (genvar port = 0; port < 2; port++) begin : gen_port
    always @(posedge clk_i) begin
      if (enable_i[port]) begin
        if (write_i[port]) memory_q[address_i[port]] <= write_data_i[port];
        else read_data_o[port] <= memory_q[address_i[port]];
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    writes_are_apart : assert (!(&enable_i && &write_i && address_i[0] == address_i[1]));
  end
`endif
endmodule
