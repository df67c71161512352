// Keyed hash of crates/table (`Hasher`): one key per cycle; hash_o is valid `keyed_latency` cycles after key_i: 4, plus
// 3 for every sixteen bytes of the key.
//
// Byte 0 of the key is key_i[7:0]. secrets_i are the hasher's secret words that a key of this size uses: two for every
// sixteen bytes of the key, then the two for finishing. They must not change while keys are in flight.
//
// The first cycle XORs the secrets in front of the multipliers. A caller that registers the key anyway can do that
// itself and set `Mixed`.

`include "assertions.svh"

module table_hash_keyed
  import table_pkg::*;
#(
    parameter  int unsigned KeyBytes = 16,
    // key_i is a register of full words that already includes its secrets: hash_o comes a cycle earlier, and the first
    // 2 * Pairs words of secrets_i are 0.
    parameter  bit          Mixed    = 1'b0,
    localparam int unsigned Pairs    = (KeyBytes + 15) / 16,
    localparam int unsigned KeyWidth = Mixed ? 128 * Pairs : 8 * KeyBytes
) (
    input  logic                          clk_i,
    input  logic [        2*Pairs+1:0][63:0] secrets_i,
    input  logic [       KeyWidth-1:0]    key_i,
    output logic [               63:0]    hash_o
);

  `PARAMETER_CHECK(key, KeyBytes >= 1 && KeyBytes <= 112, "table_hash_keyed: KeyBytes must be from 1 to 112")

  logic [2*Pairs-1:0][63:0] words;
  assign words = (128 * Pairs)'(key_i);

  localparam int unsigned FirstLatency = Mixed ? 0 : 1;

  // State before each pair of words is mixed in, XORed with the left word; and the right word with its secret.
  logic [Pairs-1:0][63:0] left, right;
  // The left words of later pairs are mixed in as the state leaves a fold.
  logic [Pairs:0][63:0] state;

  for (genvar p = 0; p < Pairs; p++) begin : gen_pair
    delay #(
        .Width(64),
        .Depth(FirstLatency + FoldLatency * p)
    ) u_right (
        .clk_i,
        .data_i(words[2*p+1] ^ secrets_i[2*p+1]),
        .data_o(right[p])
    );

    if (p == 0 && Mixed) begin : gen_mixed
      assign left[p] = words[0] ^ secrets_i[0];
    end else if (p == 0) begin : gen_first
      always_ff @(posedge clk_i) left[p] <= words[0] ^ secrets_i[0];
    end else begin : gen_next
      assign left[p] = state[p];
    end

    logic [63:0] mask;
    if (p + 1 < Pairs) begin : gen_mask
      delay #(
          .Width(64),
          .Depth(FirstLatency - 1 + FoldLatency * (p + 1))
      ) u_mask (
          .clk_i,
          .data_i(words[2*p+2] ^ secrets_i[2*p+2]),
          .data_o(mask)
      );
    end else begin : gen_finish
      assign mask = secrets_i[2*Pairs];
    end

    table_fold u_fold (
        .clk_i,
        .a_i   (left[p]),
        .b_i   (right[p]),
        .mask_i(mask),
        .fold_o(state[p+1])
    );
  end
  assign state[0] = '0;

  table_fold u_finish (
      .clk_i,
      .a_i   (state[Pairs]),
      .b_i   (secrets_i[2*Pairs+1] | 64'd1),
      .mask_i('0),
      .fold_o(hash_o)
  );

  logic unused_state;
  assign unused_state = ^state[0];

endmodule
