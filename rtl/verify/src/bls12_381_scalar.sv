// Sums, differences and products of scalars modulo the order of BLS12-381's groups; factors are below it. Works bit by
// bit, 510 cycles per product, as scalar arithmetic beside the points is not worth a multiplier.

`include "registers.svh"

module bls12_381_scalar
  import bls12_381_coprocessor_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         clear_i,
    input  logic         valid_i,
    input  logic         multiply_i,
    input  logic         subtract_i,
    input  logic [254:0] a_i,
    input  logic [254:0] b_i,
    output logic         valid_o,
    output logic [254:0] number_o
);
  // Remaining half steps: even ones first double the sum, odd ones add the other number, for the bits of b from the
  // highest.
  localparam logic [8:0] Steps = 9'd510;
  logic [8:0] left_q;
  logic [254:0] sum_q, addend_q, bits_q;
  logic working;
  assign working = left_q != '0;

  logic [255:0] sum, less;
  assign sum = {1'b0, sum_q} + {1'b0, left_q[0] ? (bits_q[254] ? addend_q : '0) : sum_q};
  assign less = sum - {1'b0, Order[254:0]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else if (clear_i) left_q <= '0;
    else if (valid_i) left_q <= multiply_i ? Steps : 9'd1;
    else if (working) left_q <= left_q - 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      sum_q <= multiply_i ? '0 : a_i;
      addend_q <= multiply_i ? a_i : subtract_i ? Order[254:0] - b_i : b_i;
      bits_q <= multiply_i ? b_i : '1;
    end else if (working) begin
      sum_q <= less[255] ? sum[254:0] : less[254:0];
      if (left_q[0]) bits_q <= bits_q << 1;
    end
  end
  `FF(valid_o, working && left_q == 9'd1 && !clear_i, 1'b0)
  assign number_o = sum_q;

endmodule
