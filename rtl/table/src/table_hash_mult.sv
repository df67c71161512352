// Multiplicative hash of the hash table paper (section 3, after Kernighan and Ritchie): adds each 16-bit word of the
// key to the state, and multiplies the state by a magic number. One key per cycle; hash_o comes 18 cycles after key_i.
// Byte 0 of the key is key_i[7:0].
//
// The low bits of a product depend only on the low bits of its factors. The state is therefore multiplied once more
// with its halves exchanged; that product is the other half of hash_o, for the second choice of bucket.

module table_hash_mult (
    input  logic         clk_i,
    input  logic [127:0] key_i,
    output logic [ 63:0] hash_o
);

  localparam int unsigned Words = 8;
  // 2^32 divided by the golden ratio: spreads successive keys evenly.
  localparam logic [31:0] Magic = 32'h9e37_79b1;

  logic [Words+1:0][31:0] state;
  assign state[0] = '0;

  for (genvar w = 0; w <= Words; w++) begin : gen_word
    logic [31:0] sum;
    if (w < Words) begin : gen_add
      logic [15:0] word;
      delay #(
          .Width(16),
          .Depth(2 * w)
      ) u_word (
          .clk_i,
          .data_i(key_i[16*w+:16]),
          .data_o(word)
      );
      assign sum = state[w] + 32'(word);
    end else begin : gen_exchange
      assign sum = {state[w][15:0], state[w][31:16]};
    end

    // Low half of the product, from three 16-bit products.
    logic [31:0] low_q;
    logic [15:0] cross_q, cross2_q;
    always_ff @(posedge clk_i) begin
      low_q    <= 32'(sum[15:0]) * 32'(Magic[15:0]);
      cross_q  <= sum[15:0] * Magic[31:16];
      cross2_q <= sum[31:16] * Magic[15:0];
      state[w+1] <= low_q + {cross_q + cross2_q, 16'b0};
    end
  end

  logic [31:0] first;
  delay #(
      .Width(32),
      .Depth(2)
  ) u_first (
      .clk_i,
      .data_i(state[Words]),
      .data_o(first)
  );
  assign hash_o = {state[Words+1], first};

endmodule
