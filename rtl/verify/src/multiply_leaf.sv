// Product of two numbers of up to three limbs: one per cycle, with a latency of one cycle per limb.

`include "assertions.svh"
`include "registers.svh"

module multiply_leaf #(
    parameter int unsigned Width = 34
) (
    input  logic               clk_i,
    input  logic [  Width-1:0] a_i,
    input  logic [  Width-1:0] b_i,
    output logic [2*Width-1:0] product_o
);
  import verify_pkg::*;

  `PARAMETER_CHECK(width, Width > 0 && Width <= LeafWidth, "multiply_leaf: Width must be from 1 bit to three limbs")

  localparam int unsigned Limbs = limbs(Width);
  localparam int unsigned Whole = Limbs * Limb;

  logic [Limbs-1:0][Limb-1:0] a, b;
  assign a = Whole'(a_i);
  assign b = Whole'(b_i);
  logic [Limbs-1:0][Limbs-1:0][2*Limb-1:0] partial_q;
  for (genvar i = 0; i < Limbs; i++) begin : gen_row
    for (genvar j = 0; j < Limbs; j++) begin : gen_product
      `FFN(partial_q[i][j], a[i] * b[j])
    end
  end

  // Limb products with the same difference of indices lie side by side: they form one number, or two if the factors are
  // interchangeable.
  logic [Limbs-1:0][1:0][2*Whole-1:0] aligned;
  always_comb begin
    aligned = '0;
    for (int unsigned i = 0; i < Limbs; i++) begin
      for (int unsigned j = 0; j < Limbs; j++) begin
        aligned[i>j?i-j : j-i][i>j][Limb*(i+j)+:2*Limb] = partial_q[i][j];
      end
    end
  end

  logic [2*Whole-1:0] product;
  if (Limbs == 1) begin : gen_one
    assign product = aligned[0][0];
  end else if (Limbs == 2) begin : gen_two
    `FFN(product, aligned[0][0] + aligned[1][0] + aligned[1][1])
  end else begin : gen_three
    logic [2*Whole-1:0] inner_q, outer_q;
    `FFN(inner_q, aligned[0][0] + aligned[1][0] + aligned[1][1])
    `FFN(outer_q, aligned[2][0] + aligned[2][1])
    `FFN(product, inner_q + outer_q)
  end
  // The bits above are zeros.
  assign product_o = product[2*Width-1:0];

endmodule
