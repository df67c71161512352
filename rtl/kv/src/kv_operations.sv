// First stage of the key-value store: packets in; requests out in order, each with its key's fingerprint, the packets
// unmodified, and keys and values.
//
//     packets -> kv_request -> packets
//                  |   +-----> keys and values
//                  |   +-----> kv_fingerprint -+
//                  +---------> requests -------+-> operations
//
// Keys of up to 16 bytes do not need kv_fingerprint: they are their own fingerprints, with their length in the last
// byte, or, if it is one of the key, mixed with a secret. So no client finds two of them with the same one.
//
// Latency from the key's last word to its operation 2 cycles, with keys of more than 16 bytes 7; a word a cycle.

`include "assertions.svh"
`include "registers.svh"

module kv_operations
  import wire_pkg::*;
  import kv_pkg::*;
#(
    parameter int unsigned FingerprintBits = 128,  // see kv_fingerprint
    // Requests that wait for their fingerprints: those of the packets of two words that arrive meanwhile, and room for
    // a table that pauses.
    parameter int unsigned Depth = 16,
    parameter int unsigned UserWidth = 1,
    localparam int unsigned Secrets = 34
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic     [31:0]              now_i,
    input  logic     [Secrets-1:0][63:0] secrets_i,
    input  logic                         valid_i,
    output logic                         ready_o,
    input  word_t                        word_i,
    input  logic                         from_host_i,
    input  logic     [UserWidth-1:0]     user_i,
    // See kv_request. The ready of both must not depend on valid.
    output logic                         word_valid_o,
    input  logic                         word_ready_i,
    output word_t                        word_o,
    output logic     [UserWidth-1:0]     user_o,
    output logic                         body_valid_o,
    input  logic                         body_ready_i,
    output logic     [WordWidth-1:0]     body_o,
    output logic                         body_last_o,
    output logic                         operation_valid_o,
    input  logic                         operation_ready_i,
    output request_t                     operation_o,
    output logic     [127:0]             fingerprint_o      // of a request that has a key
);
  `PARAMETER_CHECK(depth, Depth >= 8, "kv_operations: Depth must be at least 8")

  logic request_valid, request_ready, key_last;
  logic [$clog2(WordBytes):0] key_bytes;
  request_t request;
  kv_request #(
      .UserWidth(UserWidth)
  ) u_request (
      .clk_i,
      .rst_ni,
      .now_i,
      .valid_i,
      .ready_o,
      .word_i,
      .from_host_i,
      .user_i,
      .word_valid_o,
      .word_ready_i,
      .word_o,
      .user_o,
      .request_valid_o(request_valid),
      .request_ready_i(request_ready),
      .request_o      (request),
      .body_valid_o,
      .body_ready_i,
      .body_o,
      .body_key_o     (key_bytes),
      .body_key_last_o(key_last),
      .body_last_o
  );

  // A key that is its own fingerprint is in one word.
  localparam int unsigned ShortBytes = 16;
  logic key_passes, key_first_q, is_short, short_waits, short_ready, waits_short;
  logic [127:0] short_key, short_fingerprint;
  assign key_passes = body_valid_o && body_ready_i && key_bytes != '0;
  `FFE(key_first_q, key_last, key_passes, 1'b1)
  assign is_short = key_first_q && key_last && 32'(key_bytes) <= ShortBytes;
  always_comb begin
    for (int unsigned at = 0; at < ShortBytes; at++) begin
      short_key[8*at+:8] = at < 32'(key_bytes) ? body_o[8*at+:8] : '0;
    end
    if (32'(key_bytes) == ShortBytes) short_key ^= {secrets_i[1], secrets_i[0]};
    else short_key[127:120] = 8'(key_bytes);
    short_key &= 128'('1) >> (128 - FingerprintBits);
  end

  logic fingerprint_valid, fingerprint_ready, found_valid;
  logic [127:0] fingerprint, long_fingerprint;
  kv_fingerprint #(
      .Bits(FingerprintBits)
  ) u_fingerprint (
      .clk_i,
      .rst_ni,
      .secrets_i,
      .valid_i      (key_passes && !is_short),
      .word_i       (body_o),
      .bytes_i      (key_bytes),
      .last_i       (key_last),
      .valid_o      (fingerprint_valid),
      .fingerprint_o(fingerprint)
  );

  // A request is in its queue before its fingerprint is in another, except that of a line, whose key arrives before
  // its end. They leave together, so with room for one more, the other queues never lack room.
  logic waits, leaves;
  logic [$clog2(Depth+1)-1:0] requests;
  logic [$clog2(Depth+2)-1:0] fingerprints, shorts;
  fifo #(
      .Width($bits(request_t)),
      .Depth(Depth)
  ) u_requests (
      .clk_i,
      .rst_ni,
      .valid_i(request_valid),
      .ready_o(request_ready),
      .data_i (request),
      .valid_o(waits),
      .ready_i(leaves),
      .data_o (operation_o),
      .count_o(requests)
  );
  fifo #(
      .Width(128),
      .Depth(Depth + 1)
  ) u_fingerprints (
      .clk_i,
      .rst_ni,
      .valid_i(fingerprint_valid),
      .ready_o(fingerprint_ready),
      .data_i (fingerprint),
      .valid_o(found_valid),
      .ready_i(leaves && operation_o.keyed && !waits_short),
      .data_o (long_fingerprint),
      .count_o(fingerprints)
  );
  fifo #(
      .Width(128),
      .Depth(Depth + 1)
  ) u_shorts (
      .clk_i,
      .rst_ni,
      .valid_i(key_passes && is_short),
      .ready_o(short_ready),
      .data_i (short_key),
      .valid_o(short_waits),
      .ready_i(leaves && operation_o.keyed && waits_short),
      .data_o (short_fingerprint),
      .count_o(shorts)
  );
  // A key without a length has 256 bytes, and is not taken.
  assign waits_short = operation_o.key_length != '0 && operation_o.key_length <= 8'(ShortBytes);
  assign fingerprint_o = waits_short ? short_fingerprint : long_fingerprint;
  assign operation_valid_o = waits && (!operation_o.keyed || (waits_short ? short_waits : found_valid));
  assign leaves = operation_valid_o && operation_ready_i;

  `ASSERT(fingerprints_have_room,
          (!fingerprint_valid || fingerprint_ready) && (!key_passes || !is_short || short_ready))
  `ASSERT(fingerprints_have_requests, 32'(fingerprints) + 32'(shorts) <= 32'(requests) + 1)
endmodule
