// Memory with a write port and a read port of different clocks: like ram_1r1w, a place for a vendor's primitive.
//
// A word must not be read within a cycle of its write: the user's pointers arrive later than that. Up to 16 words are
// in distributed RAM, in front of a register, which a block would waste.
module ram_two_clocks #(
    parameter  int unsigned Width        = 8,
    parameter  int unsigned Depth        = 16,
    localparam int unsigned AddressWidth = $clog2(Depth)
) (
    input  logic                    write_clk_i,
    input  logic                    write_i,
    input  logic [AddressWidth-1:0] write_address_i,
    input  logic [       Width-1:0] write_data_i,
    input  logic                    read_clk_i,
    input  logic                    read_i,
    input  logic [AddressWidth-1:0] read_address_i,
    output logic [       Width-1:0] read_data_o
);
  (* ram_style = Depth <= 16 ? "distributed" : "block", no_rw_check *) logic [Width-1:0] memory_q[Depth];
  always_ff @(posedge write_clk_i) begin
    if (write_i) memory_q[write_address_i] <= write_data_i;
  end
  always_ff @(posedge read_clk_i) begin
    if (read_i) read_data_o <= memory_q[read_address_i];
  end
endmodule
