// Combinational keyed hash: each bit is the parity of the data under a window of the secret, which moves by one bit per
// hash bit, XORed with one bit of `rest_i`, which needs no hashing. Both go through one XOR tree, as a separate XOR
// would add a level.
//
// For a random secret, two different words collide with probability 2^-HashWidth (Krawczyk, "LFSR-based hashing and
// authentication", CRYPTO 1994), so nobody can choose colliding words without knowing the secret.

`include "assertions.svh"

module toeplitz_hash #(
    parameter int unsigned DataWidth = 54,
    parameter int unsigned HashWidth = 10,
    localparam int unsigned SecretWidth = DataWidth + HashWidth - 1
) (
    input  logic [SecretWidth-1:0] secret_i,
    input  logic [  DataWidth-1:0] data_i,
    input  logic [  HashWidth-1:0] rest_i,
    output logic [  HashWidth-1:0] hash_o
);
  `PARAMETER_CHECK(widths, DataWidth > 0 && HashWidth > 0, "toeplitz_hash: DataWidth and HashWidth must be at least 1")

  for (genvar bit_index = 0; bit_index < HashWidth; bit_index++) begin : gen_bit
    assign hash_o[bit_index] = ^{data_i & secret_i[bit_index+:DataWidth], rest_i[bit_index]};
  end
endmodule
