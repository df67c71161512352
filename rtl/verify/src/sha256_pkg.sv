// SHA-256 (FIPS 180-4): constants, a round, a step of the message schedule. Numbers are big-endian: the first word of a
// state or block, and the first byte of a word, are in the highest bits.

package sha256_pkg;

  localparam int unsigned Rounds = 64;

  typedef logic [31:0] word_t;
  // a to h, a first.
  typedef word_t [7:0] state_t;
  // The last sixteen words of the schedule; the next round's word is the first.
  typedef word_t [15:0] block_t;

  localparam state_t Initial = {
    32'h6a09e667, 32'hbb67ae85, 32'h3c6ef372, 32'ha54ff53a, 32'h510e527f, 32'h9b05688c, 32'h1f83d9ab, 32'h5be0cd19
  };

  // The constant of round 0 is the highest.
  localparam logic [Rounds-1:0][31:0] Constants = {
    32'h428a2f98,
    32'h71374491,
    32'hb5c0fbcf,
    32'he9b5dba5,
    32'h3956c25b,
    32'h59f111f1,
    32'h923f82a4,
    32'hab1c5ed5,
    32'hd807aa98,
    32'h12835b01,
    32'h243185be,
    32'h550c7dc3,
    32'h72be5d74,
    32'h80deb1fe,
    32'h9bdc06a7,
    32'hc19bf174,
    32'he49b69c1,
    32'hefbe4786,
    32'h0fc19dc6,
    32'h240ca1cc,
    32'h2de92c6f,
    32'h4a7484aa,
    32'h5cb0a9dc,
    32'h76f988da,
    32'h983e5152,
    32'ha831c66d,
    32'hb00327c8,
    32'hbf597fc7,
    32'hc6e00bf3,
    32'hd5a79147,
    32'h06ca6351,
    32'h14292967,
    32'h27b70a85,
    32'h2e1b2138,
    32'h4d2c6dfc,
    32'h53380d13,
    32'h650a7354,
    32'h766a0abb,
    32'h81c2c92e,
    32'h92722c85,
    32'ha2bfe8a1,
    32'ha81a664b,
    32'hc24b8b70,
    32'hc76c51a3,
    32'hd192e819,
    32'hd6990624,
    32'hf40e3585,
    32'h106aa070,
    32'h19a4c116,
    32'h1e376c08,
    32'h2748774c,
    32'h34b0bcb5,
    32'h391c0cb3,
    32'h4ed8aa4a,
    32'h5b9cca4f,
    32'h682e6ff3,
    32'h748f82ee,
    32'h78a5636f,
    32'h84c87814,
    32'h8cc70208,
    32'h90befffa,
    32'ha4506ceb,
    32'hbef9a3f7,
    32'hc67178f2
  };

  function automatic word_t constant(input int unsigned number);
    return Constants[Rounds-1-number];
  endfunction

  function automatic word_t rotate(input word_t word, input int unsigned places);
    return (word >> places) | (word << (32 - places));
  endfunction

  // Terms of a round from e, f, g, and from a, b, c.
  function automatic word_t mix_e(input word_t e, input word_t f, input word_t g);
    return (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g));
  endfunction
  function automatic word_t mix_a(input word_t a, input word_t b, input word_t c);
    return (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
  endfunction

  // Terms of the schedule from the second and from the last but one of sixteen words.
  function automatic word_t spread_low(input word_t word);
    return rotate(word, 7) ^ rotate(word, 18) ^ (word >> 3);
  endfunction
  function automatic word_t spread_high(input word_t word);
    return rotate(word, 17) ^ rotate(word, 19) ^ (word >> 10);
  endfunction

  // A round; `addend` is the sum of its constant and its schedule word.
  function automatic state_t one_round(input state_t state, input word_t addend);
    word_t a, b, c, d, e, f, g, h, first;
    {a, b, c, d, e, f, g, h} = state;
    first = mix_e(e, f, g) + (h + addend);
    return {first + mix_a(a, b, c), a, b, c, d + first, e, f, g};
  endfunction

  // Advances the schedule by one word.
  function automatic block_t next_words(input block_t words);
    return {words[14:0], words[15] + spread_low(words[14]) + words[6] + spread_high(words[1])};
  endfunction

  function automatic state_t add(input state_t left, input state_t right);
    state_t sum;
    for (int unsigned word = 0; word < 8; word++) sum[word] = left[word] + right[word];
    return sum;
  endfunction

  // Pads a digest into the message block of the second hash.
  function automatic block_t digest_block(input state_t digest);
    return {digest, 32'h80000000, 192'd0, 32'd256};
  endfunction

endpackage
