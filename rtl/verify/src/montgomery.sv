// Montgomery product, a b / 2^Width modulo an odd modulus: a product every `Interval` cycles, with a latency of
// `montgomery_latency(Width, Interval)`. The factors are below the modulus; so is the product.
//
// Three multipliers in sequence: the product; its lower half times -1 / modulus; that times the modulus, which zeroes
// the lower half of the sum. The last two have a constant factor, from which synthesis removes unneeded logic.

`include "assertions.svh"
`include "registers.svh"

module montgomery
  import verify_pkg::*;
#(
    parameter int unsigned Width = 381,
    parameter logic [Width-1:0] Modulus = Width'(Bls12Prime),
    // -1 / Modulus modulo 2^Width.
    parameter logic [Width-1:0] Inverse = Width'(Bls12Inverse),
    parameter int unsigned Interval = 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             valid_i,
    input  logic [Width-1:0] a_i,
    input  logic [Width-1:0] b_i,
    output logic             valid_o,
    output logic [Width-1:0] number_o
);
  localparam logic [Width-1:0] Check = Modulus * Inverse;
  `PARAMETER_CHECK(inverse, &Check, "montgomery: Inverse must be -1 / Modulus modulo 2^Width")

  localparam int unsigned Latency = multiply_latency(Width, Interval);

  logic product_valid, factor_valid, multiple_valid;
  logic [2*Width-1:0] product, factor, multiple;
  multiply #(
      .Width(Width),
      .Interval(Interval)
  ) u_product (
      .clk_i,
      .rst_ni,
      .valid_i,
      .a_i,
      .b_i,
      .valid_o  (product_valid),
      .product_o(product)
  );
  multiply #(
      .Width(Width),
      .Interval(Interval)
  ) u_factor (
      .clk_i,
      .rst_ni,
      .valid_i  (product_valid),
      .a_i      (product[Width-1:0]),
      .b_i      (Inverse),
      .valid_o  (factor_valid),
      .product_o(factor)
  );
  multiply #(
      .Width(Width),
      .Interval(Interval)
  ) u_multiple (
      .clk_i,
      .rst_ni,
      .valid_i  (factor_valid),
      .a_i      (factor[Width-1:0]),
      .b_i      (Modulus),
      .valid_o  (multiple_valid),
      .product_o(multiple)
  );

  // The lower halves add up to 2^Width, or both are zero.
  logic carry;
  logic [Width-1:0] upper;
  delay #(
      .Width(Width + 1),
      .Depth(2 * Latency)
  ) u_upper (
      .clk_i,
      .data_i({|product[Width-1:0], product[2*Width-1:Width]}),
      .data_o({carry, upper})
  );

  // Below twice the modulus.
  logic [Width:0] sum_q, less;
  logic sum_valid_q;
  `FF(sum_valid_q, multiple_valid, 1'b0)
  `FF(valid_o, sum_valid_q, 1'b0)
  `FFN(sum_q, {1'b0, upper} + {1'b0, multiple[2*Width-1:Width]} + (Width + 1)'(carry))
  assign less = sum_q - {1'b0, Modulus};
  `FFN(number_o, less[Width] ? sum_q[Width-1:0] : less[Width-1:0])

  logic unused;
  assign unused = ^factor[2*Width-1:Width] ^ ^multiple[Width-1:0];

endmodule
