// Factor of the BLS12-381 engine's product: a number, or the sum or difference of two, modulo the prime. Latency 2
// cycles.

`include "registers.svh"

module bls12_381_factor
  import bls12_381_coprocessor_pkg::*;
(
    input  logic          clk_i,
    input  number_t [1:0] number_i,
    // Use of the second number: 0 none, 1 plus, 2 minus.
    input  logic    [1:0] second_i,
    output number_t       number_o
);
  localparam logic [Width+1:0] Prime = {2'b0, verify_pkg::Bls12Prime};

  // Between -1 and 2 times the prime.
  logic [Width+1:0] sum_q, less, second;
  assign second = {2'b0, number_i[1]};
  `FFN(sum_q, {2'b0, number_i[0]} + (second_i[0] ? second : second_i[1] ? ~second : '0) + (Width + 2)'(second_i[1]))
  assign less = sum_q - Prime;
  logic [Width+1:0] more;
  assign more = sum_q + Prime;
  `FFN(number_o, sum_q[Width+1] ? more[Width-1:0] : less[Width+1] ? sum_q[Width-1:0] : less[Width-1:0])
  logic unused;
  assign unused = ^more[Width+1:Width] ^ less[Width];

endmodule
