// Memory of the ways of `Depth` buckets or lines, with a write enable per way: one `ram_1r1w` for each 9 bits of an
// entry.
//
// Block RAM has a write enable for each 9 bits, and this split places the bits that are compared with one key bit, or
// selected together, in neighbouring blocks. Reading a way that is being written returns anything, see `ram_1r1w`.

module table_ways #(
    parameter int unsigned Ways       = 8,
    parameter int unsigned EntryWidth = 226,
    parameter int unsigned Depth      = 512,
    localparam int unsigned AddrWidth = $clog2(Depth)
) (
    input  logic                                clk_i,
    input  logic [     Ways-1:0]                write_i,
    input  logic [AddrWidth-1:0]                write_addr_i,
    input  logic [     Ways-1:0][EntryWidth-1:0] write_data_i,
    input  logic [AddrWidth-1:0]                read_addr_i,
    output logic [     Ways-1:0][EntryWidth-1:0] read_data_o
);
  localparam int unsigned ByteWidth = 9;
  localparam int unsigned Bytes = (EntryWidth + ByteWidth - 1) / ByteWidth;

  for (genvar b = 0; b < Bytes; b++) begin : gen_byte
    localparam int unsigned Low = b * ByteWidth;
    localparam int unsigned Bits = EntryWidth - Low < ByteWidth ? EntryWidth - Low : ByteWidth;
    logic [Ways-1:0][Bits-1:0] write_data, read_data;
    ram_1r1w #(
        .Width(Ways * Bits),
        .Depth(Depth),
        .Parts(Ways)
    ) u_ram (
        .clk_i,
        .write_i,
        .write_address_i(write_addr_i),
        .write_data_i   (write_data),
        .read_i         (1'b1),
        .read_address_i (read_addr_i),
        .read_data_o    (read_data)
    );
    for (genvar w = 0; w < Ways; w++) begin : gen_way
      assign write_data[w] = write_data_i[w][Low+:Bits];
      assign read_data_o[w][Low+:Bits] = read_data[w];
    end
  end
endmodule
