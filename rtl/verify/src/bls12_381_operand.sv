// Registers of all contexts of the BLS12-381 engine, for one operand. Latency 2 cycles from the register number.
//
// Each of the three banks is written by one unit only, so all are plain memories, and each copy of them is one read
// port.

`include "registers.svh"

module bls12_381_operand
  import bls12_381_coprocessor_pkg::*;
(
    input  logic                 clk_i,
    // Writes of the product and of both sums.
    input  logic     [2:0]       write_i,
    input  logic     [2:0][ 9:0] write_register_i,
    input  number_t  [2:0]       write_number_i,
    input  context_t             context_i,
    input  operand_t             operand_i,
    // Contents of bank 3, a cycle after the register number.
    input  number_t              special_i,
    output number_t              number_o
);

  number_t [3:0] number;
  logic [1:0] bank_q;
  `FFN(bank_q, operand_i.bank)
  for (genvar bank = 0; bank < 3; bank++) begin : gen_bank
    ram_1r1w #(
        .Width(Width),
        .Depth(128 * Contexts)
    ) u_registers (
        .clk_i,
        .write_i        (write_i[bank]),
        .write_address_i(write_register_i[bank]),
        .write_data_i   (write_number_i[bank]),
        .read_i         (operand_i.bank == 2'(bank)),
        .read_address_i ({context_i, operand_i.index}),
        .read_data_o    (number[bank])
    );
  end
  assign number[3] = special_i;
  `FFN(number_o, number[bank_q])

endmodule
