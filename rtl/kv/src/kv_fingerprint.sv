// Keyed fingerprint of a key of up to 250 bytes, a word of 64 bytes a cycle: the table's key. Without the secrets,
// clients cannot search for keys that share one. Some may by chance, so the user must compare keys in full.
//
// Each half is the XOR of `table_fold` over all pairs of 8-byte numbers of the padded key, each XORed with the secret
// of its position; the upper half's secrets are those two positions on (the Toeplitz construction of UMAC, RFC 4418).
// The lower half includes the length, since padding and zeros at the key's end are the same.
//
// Latency FoldLatency + 2 cycles from the key's last word. There is no back-pressure.

`include "assertions.svh"
`include "registers.svh"

module kv_fingerprint
  import wire_pkg::*;
  import kv_pkg::LongestKey;
#(
    // Tests narrow it, so that keys share fingerprints.
    parameter int unsigned Bits = 128,
    localparam int unsigned Words = (LongestKey + WordBytes - 1) / WordBytes,
    localparam int unsigned Secrets = 8 * Words + 2
) (
    input  logic                              clk_i,
    input  logic                              rst_ni,
    // Constant while keys are in flight.
    input  logic [     Secrets-1:0][63:0]     secrets_i,
    // Words of a key, from its first to its last.
    input  logic                              valid_i,
    input  logic [   WordWidth-1:0]           word_i,
    input  logic [$clog2(WordBytes):0]        bytes_i,   // of the key in this word
    input  logic                              last_i,
    output logic                              valid_o,
    output logic [           127:0]           fingerprint_o
);
  `PARAMETER_CHECK(bits, Bits >= 1 && Bits <= 128, "kv_fingerprint: Bits must be from 1 to 128")

  localparam int unsigned Pairs = WordBytes / 16;
  localparam int unsigned PositionWidth = $clog2(Words);
  `CONSTANT_CHECK(words, Words == 4, "kv_fingerprint: word_mux selects the secrets of one of four words")

  logic [PositionWidth-1:0] position_q;
  logic [8:0] length_q, length;  // bytes of the key before this word, and with it
  assign length = length_q + 9'(bytes_i);
  `FFE(position_q, last_i ? '0 : position_q + 1'b1, valid_i, '0)
  `FFE(length_q, last_i ? '0 : length, valid_i, '0)

  // XOR with the secrets before the multipliers. Those of a word begin at one of four places.
  localparam int unsigned WordSecrets = 2 * Pairs + 2;
  logic [Words-1:0][WordSecrets-1:0][63:0] choices;
  logic [WordSecrets-1:0][63:0] secrets;
  logic [1:0][2*Pairs-1:0][63:0] mixed_q;
  logic [WordBytes-1:0] of_key;
  assign of_key = first_bytes(bytes_i);
  for (genvar word = 0; word < Words; word++) begin : gen_choice
    assign choices[word] = secrets_i[2*Pairs*word+:WordSecrets];
  end
  word_mux #(
      .Width(64 * WordSecrets)
  ) u_secrets (
      .select_i(position_q),
      .words_i (choices),
      .word_o  (secrets)
  );
  for (genvar half = 0; half < 2; half++) begin : gen_mix
    logic [2*Pairs-1:0][63:0] mixed;
    kv_mix u_mix (
        .of_key_i(of_key),
        .word_i,
        .secret_i(secrets[2*half+:2*Pairs]),
        .mixed_o (mixed)
    );
    `FFN(mixed_q[half], mixed)
  end

  logic [1:0][Pairs-1:0][63:0] folds;
  logic [1:0][63:0] folded, sum;
  for (genvar half = 0; half < 2; half++) begin : gen_half
    for (genvar pair = 0; pair < Pairs; pair++) begin : gen_pair
      table_fold u_fold (
          .clk_i,
          .a_i   (mixed_q[half][2*pair]),
          .b_i   (mixed_q[half][2*pair+1]),
          .mask_i('0),
          .fold_o(folds[half][pair])
      );
    end
  end

  // Accompanies a word through its folds.
  localparam int unsigned Delay = 1 + table_pkg::FoldLatency;
  logic [Delay-1:0] valid_q, last_q;
  logic [8:0] folded_length;
  `FF(valid_q, Delay'({valid_q, valid_i}), '0)
  `FFN(last_q, Delay'({last_q, last_i}))
  delay #(
      .Width(9),
      .Depth(Delay)
  ) u_length (
      .clk_i,
      .data_i(length),
      .data_o(folded_length)
  );

  // The XOR over the words so far.
  logic [1:0][63:0] sum_q;
  logic [127:0] fingerprint;
  always_comb begin
    folded = '0;
    for (int unsigned pair = 0; pair < Pairs; pair++) begin
      for (int unsigned half = 0; half < 2; half++) folded[half] ^= folds[half][pair];
    end
  end
  assign sum = sum_q ^ folded;
  `FFE(sum_q, last_q[Delay-1] ? '0 : sum, valid_q[Delay-1], '0)
  assign fingerprint = sum ^ 128'(folded_length);
  `FF(valid_o, valid_q[Delay-1] && last_q[Delay-1], 1'b0)
  `FFN(fingerprint_o, fingerprint & (128'('1) >> (128 - Bits)))

  `ASSUME(keys_have_a_length, !(valid_i && last_i) || length != '0)
  `ASSUME(keys_are_not_longer, !valid_i || last_i || 32'(position_q) < Words - 1)
endmodule
