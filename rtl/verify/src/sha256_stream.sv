// SHA-256 of messages of at least one byte, or with `Double` the hash of the hash: a stream of 64-byte words, one
// message after the other. Takes 64 / RoundsPerCycle + 2 cycles per block: one block for every 64 bytes of message plus
// nine bytes of padding and, with `Double`, one more.

`include "assertions.svh"
`include "registers.svh"

module sha256_stream
  import sha256_pkg::*;
#(
    parameter bit Double = 1'b1,
    parameter int unsigned RoundsPerCycle = 1
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         valid_i,
    output logic         ready_o,
    input  logic [511:0] data_i,
    input  logic [ 63:0] keep_i,
    input  logic         last_i,
    output logic         valid_o,
    input  logic         ready_i,
    output logic [255:0] digest_o
);
  // Message: accept words. Tail: padding that did not fit into the last word. Again: hash the digest. Out: offer the
  // digest.
  typedef enum logic [1:0] {
    StateMessage,
    StateTail,
    StateAgain,
    StateOut
  } state_e;
  localparam state_e Hashed = Double ? StateAgain : StateOut;

  state_e state_q, state;
  logic first_q, full_q, accept, fits, block_valid, block_ready;
  logic [60:0] bytes_q, bytes;
  logic [6:0] kept;
  block_t message, block;
  state_t digest;

  always_comb begin
    kept = '0;
    for (int unsigned at = 0; at < 64; at++) kept += 7'(keep_i[at]);
    // The byte after the last one begins the padding.
    for (int unsigned at = 0; at < 64; at++) begin
      message[15-at/4][8*(3-at%4)+:8] = keep_i[at] ? data_i[8*at+:8] : at > 0 && keep_i[at>0?at-1 : 0] ? 8'h80 : 8'h00;
    end
  end
  assign bytes = bytes_q + 61'(kept);
  // The length takes eight more bytes.
  assign fits = kept < 7'd56;

  always_comb begin
    state = state_q;
    block = message;
    block_valid = 1'b1;
    unique case (state_q)
      StateMessage: begin
        block_valid = valid_i;
        if (last_i && fits) block[1:0] = {bytes, 3'b0};
        if (accept && last_i) state = fits ? Hashed : StateTail;
      end
      StateTail: begin
        block = {full_q, 447'd0, bytes_q, 3'b0};
        if (accept) state = Hashed;
      end
      StateAgain: begin
        block = digest_block(digest);
        if (accept) state = StateOut;
      end
      default: begin
        block_valid = 1'b0;
        if (valid_o && ready_i) state = StateMessage;
      end
    endcase
  end
  assign accept  = block_valid && block_ready;
  assign ready_o = state_q == StateMessage && block_ready;
  assign valid_o = state_q == StateOut && block_ready;
  `FF(state_q, state, StateMessage)
  `FFE(first_q, state_q == StateMessage && last_i, state_q == StateMessage && accept, 1'b1)
  `FFE(bytes_q, state_q == StateOut ? '0 : bytes, accept && state_q == StateMessage || state_q == StateOut, '0)
  `FFNE(full_q, kept == 7'd64, accept && state_q == StateMessage)

  sha256_iterative #(
      .RoundsPerCycle(RoundsPerCycle)
  ) u_compression (
      .clk_i,
      .rst_ni,
      .valid_i(block_valid),
      .ready_o(block_ready),
      .first_i((state_q == StateMessage && first_q) || state_q == StateAgain),
      .block_i(block),
      .state_o(digest)
  );
  for (genvar byte_ = 0; byte_ < 32; byte_++) begin : gen_digest
    assign digest_o[8*byte_+:8] = digest[(31-byte_)/4][8*((31-byte_)%4)+:8];
  end
endmodule
