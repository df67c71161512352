// One byte's step of the CRC of Ethernet: polynomial 0x04c11db7 with bits reflected, as bytes are sent lowest bit
// first. The register starts with ones; its complement, lowest byte first, is the FCS. Combinational.
module crc32 (
    input  logic [31:0] crc_i,
    input  logic [ 7:0] data_i,
    output logic [31:0] crc_o
);
  localparam logic [31:0] Polynomial = 32'hedb88320;

  always_comb begin
    crc_o = crc_i ^ 32'(data_i);
    for (int unsigned b = 0; b < 8; b++) crc_o = (crc_o >> 1) ^ (crc_o[0] ? Polynomial : '0);
  end
endmodule
