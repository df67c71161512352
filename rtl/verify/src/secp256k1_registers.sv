// Registers of all contexts of the secp256k1 engine, for one of its four operands: M, written by products, and L,
// written by sums.
//
// Each register is written by one unit only, so both are plain memories, and four copies of them make four read ports.
// Latency 1 cycle from the register number.

module secp256k1_registers (
    input  logic              clk_i,
    input  logic              product_write_i,
    input  logic       [ 9:0] product_register_i,
    input  logic       [255:0] product_i,
    input  logic              sum_write_i,
    input  logic       [ 9:0] sum_register_i,
    input  logic       [255:0] sum_i,
    // Register numbers in M and L.
    input  logic [1:0] [ 9:0] register_i,
    output logic [1:0][255:0] number_o
);

  ram_1r1w #(
      .Width(256),
      .Depth(1024)
  ) u_products (
      .clk_i,
      .write_i        (product_write_i),
      .write_address_i(product_register_i),
      .write_data_i   (product_i),
      .read_i         (1'b1),
      .read_address_i (register_i[0]),
      .read_data_o    (number_o[0])
  );

  ram_1r1w #(
      .Width(256),
      .Depth(1024)
  ) u_sums (
      .clk_i,
      .write_i        (sum_write_i),
      .write_address_i(sum_register_i),
      .write_data_i   (sum_i),
      .read_i         (1'b1),
      .read_address_i (register_i[1]),
      .read_data_o    (number_o[1])
  );

endmodule
