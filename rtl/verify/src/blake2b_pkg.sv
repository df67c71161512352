// BLAKE2b (RFC 7693): constants and the steps of a round. Words are little-endian, so byte 0 of a block or digest is in
// the lowest bits.

package blake2b_pkg;

  localparam int unsigned Rounds = 12;
  // A round mixes the columns, then the diagonals, each in four steps of an addition and a rotation.
  localparam int unsigned Steps = 8 * Rounds;

  typedef logic [63:0] word_t;
  typedef word_t [7:0] state_t;
  typedef word_t [15:0] block_t;
  // Working vector of the rounds: v0 to v15.
  typedef word_t [15:0] vector_t;

  // IV7 to IV0.
  localparam state_t Initial = {
    64'h5be0cd19137e2179,
    64'h1f83d9abfb41bd6b,
    64'h9b05688c2b3e6c1f,
    64'h510e527fade682d1,
    64'ha54ff53a5f1d36f1,
    64'h3c6ef372fe94f82b,
    64'hbb67ae8584caa73b,
    64'h6a09e667f3bcc908
  };

  // Word added at each place of a round; place 0 is the highest. Rounds 10 and 11 repeat rounds 0 and 1.
  localparam logic [9:0][63:0] Sigma = {
    64'ha2847615fb9e3cd0,
    64'h6fe9b308c2d714a5,
    64'hdb7ec13950f4862a,
    64'hc51fed4a0763928b,
    64'h2c6a0b834d75fe19,
    64'h905724afe1bc683d,
    64'h7931dcbe265a40f8,
    64'hb8c052fdae367194,
    64'hea489fd61c02b753,
    64'h0123456789abcdef
  };

  function automatic logic [3:0] word_of(input int unsigned round, input int unsigned place);
    return Sigma[round%10][4*(15-place)+:4];
  endfunction

  function automatic word_t rotate(input word_t word, input int unsigned step);
    unique case (step % 4)
      0: return {word[31:0], word[63:32]};
      1: return {word[23:0], word[63:24]};
      2: return {word[15:0], word[63:16]};
      default: return {word[62:0], word[63]};
    endcase
  endfunction

  // Initial vector of a block; `bytes` counts all bytes hashed up to and including this block.
  function automatic vector_t begin_block(input state_t state, input logic [63:0] bytes, input logic last);
    vector_t v;
    v = {Initial, state};
    v[12] ^= bytes;
    if (last) v[14] = ~v[14];
    return v;
  endfunction

  function automatic state_t end_block(input state_t state, input vector_t v);
    state_t next;
    for (int unsigned word = 0; word < 8; word++) next[word] = state[word] ^ v[word] ^ v[word+8];
    return next;
  endfunction

  // State before the first block of an unkeyed hash.
  function automatic state_t begin_hash(input logic [7:0] digest_bytes, input logic [127:0] personalisation);
    state_t state;
    state = Initial;
    state[0] ^= 64'h01010000 ^ 64'(digest_bytes);
    state[6] ^= personalisation[63:0];
    state[7] ^= personalisation[127:64];
    return state;
  endfunction

endpackage
