// Step of the keyed hash: XOR of both halves of a 128-bit product (`fold` in crates/table/src/hash.rs).
//
// fold_o = low(a_i * b_i) ^ high(a_i * b_i) ^ mask_i, `FoldLatency` cycles after a_i and b_i. mask_i is sampled in the
// last of these cycles. The product is the sum of sixteen 16-bit products, which fit the multipliers of every device.
// Carry-save adders reduce them to two numbers, so there is only one carry chain, which is split in halves.

module table_fold (
    input  logic        clk_i,
    input  logic [63:0] a_i,
    input  logic [63:0] b_i,
    input  logic [63:0] mask_i,
    output logic [63:0] fold_o
);

  typedef logic [127:0] sum_t;

  // Carry-save adder: three numbers to two with the same sum, a full adder per bit.
  function automatic sum_t bits(input sum_t a, input sum_t b, input sum_t c);
    return a ^ b ^ c;
  endfunction
  function automatic sum_t carries(input sum_t a, input sum_t b, input sum_t c);
    // The product has 128 bits, so there is no carry out of the top bit.
    return (a & b | a & c | b & c) << 1;
  endfunction

  // Cycle 1: the sixteen products.
  logic [3:0][3:0][31:0] partial_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 4; i++) begin
      for (int unsigned j = 0; j < 4; j++) begin
        partial_q[i][j] <= 32'(a_i[16*i+:16]) * 32'(b_i[16*j+:16]);
      end
    end
  end

  // Cycle 2: products that do not overlap form one number; seven numbers become three.
  sum_t [6:0] seven;
  sum_t [4:0] five;
  sum_t [3:0] four;
  sum_t [2:0] three_q;
  assign seven = {
    {partial_q[3][3], partial_q[1][3], partial_q[1][1], partial_q[0][0]},
    {32'b0, partial_q[2][2], partial_q[0][2], 32'b0},
    {32'b0, partial_q[3][1], partial_q[2][0], 32'b0},
    {16'b0, partial_q[2][3], partial_q[0][3], partial_q[0][1], 16'b0},
    {16'b0, partial_q[3][2], partial_q[1][2], partial_q[1][0], 16'b0},
    {48'b0, partial_q[2][1], 48'b0},
    {48'b0, partial_q[3][0], 48'b0}
  };
  assign five = {
    bits(seven[0], seven[1], seven[2]),
    carries(seven[0], seven[1], seven[2]),
    bits(seven[3], seven[4], seven[5]),
    carries(seven[3], seven[4], seven[5]),
    seven[6]
  };
  assign four = {bits(five[0], five[1], five[2]), carries(five[0], five[1], five[2]), five[3], five[4]};
  always_ff @(posedge clk_i) begin
    three_q <= {bits(four[0], four[1], four[2]), carries(four[0], four[1], four[2]), four[3]};
  end

  // Cycle 3: three numbers become two, then the product. The upper half is computed for both carries out of the lower
  // half, selected by bit 64 of the low sum: adding that carry would chain a second carry chain after the first.
  sum_t sum, carry;
  logic [64:0] low;
  logic [63:0] high, high_carried;
  logic unused_bit;
  assign sum          = bits(three_q[0], three_q[1], three_q[2]);
  assign carry        = carries(three_q[0], three_q[1], three_q[2]);
  assign low          = {1'b0, sum[63:0]} + {1'b0, carry[63:0]};
  assign high         = sum[127:64] + carry[127:64];
  assign {high_carried, unused_bit} = {sum[127:64], 1'b1} + {carry[127:64], 1'b1};
  always_ff @(posedge clk_i) fold_o <= low[63:0] ^ (low[64] ? high_carried : high) ^ mask_i;

endmodule
