// Sums and differences of two 256-bit numbers, each taken once or twice, modulo the prime or order of secp256k1 or
// 2^256, optionally halved modulo the prime; one per cycle, latency `LinearLatency`. The result is below the modulus
// for any input.
//
// The sum is q 2^256 + t with q from -4 to 3, hence t + q c modulo 2^256 - c, which is at most one modulus off.

`include "registers.svh"

module secp256k1_linear
  import secp256k1_pkg::*;
(
    input  logic             clk_i,
    input  modulus_e         modulus_i,
    input  logic             half_i,
    input  logic     [255:0] x_i,
    input  logic             x_double_i,
    input  logic             x_negate_i,
    input  logic     [255:0] y_i,
    input  logic             y_double_i,
    input  logic             y_negate_i,
    output logic     [255:0] number_o
);

  function automatic logic [258:0] term(input logic [255:0] number, input logic twice, input logic negate);
    return {259{negate}} ^ (twice ? {2'b0, number, 1'b0} : {3'b0, number});
  endfunction

  // 1: the sum. A negative term is its complement plus one.
  logic [258:0] sum1_q;
  logic [  1:0] ones;
  assign ones = 2'(x_negate_i) + 2'(y_negate_i);
  `FFN(sum1_q, term(x_i, x_double_i, x_negate_i) + term(y_i, y_double_i, y_negate_i) + 259'(ones))

  // 2: fold what lies above 2^256.
  logic [2:0][1:0] modulus_q;
  logic [3:0] half_q;
  `FFN(modulus_q, {modulus_q[1:0], modulus_i})
  `FFN(half_q, {half_q[2:0], half_i})

  function automatic logic [128:0] lack(input logic [1:0] modulus);
    unique case (modulus_e'(modulus))
      ModulusPrime: return 129'(PrimeLack);
      ModulusOrder: return OrderLack;
      default: return '0;
    endcase
  endfunction

  // q c, selected by the bits of q from constants, as a sum of three terms would take as long as the addition that uses
  // it.
  function automatic logic [7:0][131:0] folds_of(input logic [128:0] once);
    logic [7:0][131:0] folds;
    for (int unsigned q = 0; q < 8; q++) begin
      folds[q] = (q[0] ? 132'(once) : '0) + (q[1] ? {2'b0, once, 1'b0} : '0) - (q[2] ? {1'b0, once, 2'b0} : '0);
    end
    return folds;
  endfunction
  localparam logic [7:0][131:0] PrimeFolds = folds_of(129'(PrimeLack));
  localparam logic [7:0][131:0] OrderFolds = folds_of(OrderLack);

  logic [131:0] folds;
  always_comb begin
    unique case (modulus_e'(modulus_q[0]))
      ModulusPrime: folds = PrimeFolds[sum1_q[258:256]];
      ModulusOrder: folds = OrderFolds[sum1_q[258:256]];
      default: folds = '0;
    endcase
  end
  logic [257:0] folded2_q;
  `FFN(folded2_q, 258'(sum1_q[255:0]) + {{126{folds[131]}}, folds})

  // 3, 4: add or subtract one modulus if negative or too large.
  logic negative3_q;
  logic [255:0] folded3_q, more3_q;
  logic [257:0] less3_q;
  `FFN(negative3_q, folded2_q[257])
  `FFN(folded3_q, folded2_q[255:0])
  `FFN(less3_q, folded2_q + 258'(lack(modulus_q[1])))
  `FFN(more3_q, folded2_q[255:0] - 256'(lack(modulus_q[1])))
  logic [255:0] number4_q;
  always_ff @(posedge clk_i) begin
    if (modulus_e'(modulus_q[2]) == ModulusNone) number4_q <= folded3_q;
    else if (negative3_q) number4_q <= more3_q;
    else if (less3_q[256]) number4_q <= less3_q[255:0];
    else number4_q <= folded3_q;
  end

  // 5: half of it or, if odd, of its sum with the prime.
  logic [256:0] even;
  assign even = 257'(number4_q) + (number4_q[0] ? 257'(Prime) : '0);
  `FFN(number_o, half_q[3] ? even[256:1] : number4_q)

  logic unused;
  assign unused = even[0] ^ less3_q[257];

endmodule
