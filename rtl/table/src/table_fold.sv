// Step of the keyed hash: XOR of both halves of a 128-bit product (`fold` in crates/table/src/hash.rs).
//
// fold_o = low(a_i * b_i) ^ high(a_i * b_i) ^ mask_i, `FoldLatency` cycles after a_i and b_i. mask_i is sampled in the
// last of these cycles. The product is the sum of sixteen 16-bit products, which fit the multipliers of every device.
// Those of the same weight are added first, in carry chains: a cell for each bit that a sum removes, where a carry-save
// adder takes two. Synthesised separately (`keep_hierarchy`), so that no fold depends on what surrounds it.

(* keep_hierarchy *)
module table_fold (
    input  logic        clk_i,
    input  logic [63:0] a_i,
    input  logic [63:0] b_i,
    input  logic [63:0] mask_i,
    output logic [63:0] fold_o
);

  // Cycle 1: the sixteen products.
  logic [3:0][3:0][31:0] partial_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 4; i++) begin
      for (int unsigned j = 0; j < 4; j++) begin
        partial_q[i][j] <= 32'(a_i[16*i+:16]) * 32'(b_i[16*j+:16]);
      end
    end
  end

  // Cycle 2: the sums of products of the same weight, 2^16n.
  logic [6:0][33:0] column, column_q;
  always_comb begin
    column = '0;
    for (int unsigned i = 0; i < 4; i++) begin
      for (int unsigned j = 0; j < 4; j++) column[i+j] += 34'(partial_q[i][j]);
    end
  end
  always_ff @(posedge clk_i) column_q <= column;

  // Cycle 3: even columns form one number, odd ones another, and the bits by which columns overlap a third. These three
  // become two, then the product. Its upper part is computed for both carries out of the lower part: adding that carry
  // would chain a second carry chain after the first. The lowest column is added to nothing, so both chains of the
  // parts have 64 bits at most.
  localparam int unsigned Split = 80;
  logic [127:0] even, odd, overlap, sum, carry, product;
  logic [Split:0] low;
  logic [127-Split:0] high, high_carried;
  logic unused_bit;
  always_comb begin
    {even, odd, overlap} = '0;
    for (int unsigned n = 0; n < 7; n += 2) even[16*n+:32] = column_q[n][31:0];
    for (int unsigned n = 1; n < 7; n += 2) odd[16*n+:32] = column_q[n][31:0];
    for (int unsigned n = 1; n < 6; n++) overlap[16*(n+2)+:2] = column_q[n][33:32];
  end
  assign sum = even ^ odd ^ overlap;
  // The product has 128 bits, so there is no carry out of the top bit.
  assign carry = (even & odd | even & overlap | odd & overlap) << 1;
  assign low = {1'b0, sum[Split-1:0]} + {1'b0, carry[Split-1:0]};
  assign high = sum[127:Split] + carry[127:Split];
  assign {high_carried, unused_bit} = {sum[127:Split], 1'b1} + {carry[127:Split], 1'b1};
  assign product = {low[Split] ? high_carried : high, low[Split-1:0]};
  always_ff @(posedge clk_i) fold_o <= product[127:64] ^ product[63:0] ^ mask_i;

endmodule
