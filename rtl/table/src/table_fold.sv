// The step of the keyed hash: both halves of a 128-bit product, one over the other (`fold` in crates/table/src/hash.rs).
//
// fold_o = low(a_i * b_i) ^ high(a_i * b_i) ^ mask_i, four cycles after a_i and b_i. mask_i is taken in the fourth.
// The product is made of sixteen products of 16 bits, which fit the multipliers of every device, and registered sums.

module table_fold (
    input  logic        clk_i,
    input  logic [63:0] a_i,
    input  logic [63:0] b_i,
    input  logic [63:0] mask_i,
    output logic [63:0] fold_o
);

  // First: the sixteen products.
  logic [3:0][3:0][31:0] partial_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 4; i++) begin
      for (int unsigned j = 0; j < 4; j++) begin
        partial_q[i][j] <= 32'(a_i[16*i+:16]) * 32'(b_i[16*j+:16]);
      end
    end
  end

  // Second: each limb of a by all of b. Products of even and of odd limbs lie side by side.
  logic [3:0][79:0] row_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 4; i++) begin
      row_q[i] <= {16'b0, partial_q[i][2], partial_q[i][0]} + {partial_q[i][3], partial_q[i][1], 16'b0};
    end
  end

  // Third: each half of a by all of b.
  logic [95:0] low_q, high_q;
  always_ff @(posedge clk_i) begin
    low_q  <= {16'b0, row_q[0]} + {row_q[1], 16'b0};
    high_q <= {16'b0, row_q[2]} + {row_q[3], 16'b0};
  end

  // Fourth: the product, folded.
  logic [127:0] product;
  assign product = {high_q + {32'b0, low_q[95:32]}, low_q[31:0]};
  always_ff @(posedge clk_i) fold_o <= product[63:0] ^ product[127:64] ^ mask_i;

endmodule
