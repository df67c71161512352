// Product modulo the prime of secp256k1, or a part of the product itself; one per cycle, latency `ProductLatency`.

`include "registers.svh"

module secp256k1_multiply
  import secp256k1_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_ni,
    input  take_e        take_i,
    input  logic [255:0] a_i,
    input  logic [255:0] b_i,
    output logic [255:0] number_o
);

  logic [511:0] product;
  logic unused_valid;
  multiply #(
      .Width(256)
  ) u_multiply (
      .clk_i,
      .rst_ni,
      .valid_i  (1'b1),
      .a_i,
      .b_i,
      .valid_o  (unused_valid),
      .product_o(product)
  );

  logic [1:0] take;
  delay #(
      .Width(2),
      .Depth(verify_pkg::multiply_latency(256, 1))
  ) u_take (
      .clk_i,
      .data_i(take_i),
      .data_o(take)
  );
  logic [511:0] taken, taken_q;
  logic exact_q;
  always_comb begin
    unique case (take_e'(take))
      TakeModular: taken = product;
      TakeLow: taken = 512'(product[255:0]);
      TakeHigh: taken = 512'(product[511:256]);
      TakeTop: taken = 512'(product[511:384]);
    endcase
  end
  `FFN(taken_q, taken)
  `FFN(exact_q, take_e'(take) != TakeModular)

  secp256k1_reduce u_reduce (
      .clk_i,
      .exact_i (exact_q),
      .number_i(taken_q),
      .number_o
  );

endmodule
