// Signatures of verify frames: gathers a message, computes the challenge of a BIP340 signature, and passes both kinds
// to secp256k1_verify.

`include "registers.svh"

module verify_signatures
  import wire_pkg::swap_bytes;
  import verify_frame_pkg::*;
  import secp256k1_pkg::signature_t;
#(
    // See secp256k1_verify.
    parameter int unsigned SignatureEngines = 1
) (
    input  logic     clk_i,
    input  logic     rst_ni,
    // Message without its header; the signals beside the parts are stable for all of it.
    input  logic     valid_i,
    output logic     ready_o,
    input  part_t    part_i,
    input  tag_t     tag_i,
    input  logic     schnorr_i,
    output logic     valid_o,
    input  logic     ready_i,
    output verdict_t verdict_o
);
  localparam int unsigned EcdsaBits = 8 * 168;
  localparam int unsigned SchnorrBits = 8 * 128;
  // SHA-256 of "BIP0340/challenge", which is hashed twice before the rest.
  localparam logic [255:0] ChallengeTag = 256'h7bb52d7a9fef58323eb1bf7a407db382d2f3f2d81bb1224f49fe518f6d48d37c;

  // Gather: collect the parts of a message. Tag, Keys, Message: hash input of the challenge, one word each. Challenge:
  // wait for the hash. Offer: to the engine.
  typedef enum logic [2:0] {
    StateGather,
    StateTag,
    StateKeys,
    StateMessage,
    StateChallenge,
    StateOffer
  } state_e;
  state_e state_q, state_d;
  // First byte highest.
  logic [EcdsaBits-1:0] body_q;
  tag_t tag_q;
  logic schnorr_q, accept;
  assign ready_o = state_q == StateGather;
  assign accept  = valid_i && ready_o;
  `FFNE(body_q, {body_q[EcdsaBits-65:0], swap_part(part_i.data)}, accept)
  `FFNE(tag_q, tag_i, accept)
  `FFNE(schnorr_q, schnorr_i, accept)

  // Fields of both kinds.
  typedef struct packed {
    logic [7:0]   flags;
    logic [7:0]   key_length;
    logic [15:0]  reserved;
    logic [255:0] digest;
    logic [255:0] r;
    logic [255:0] s;
    logic [7:0]   key_form;
    logic [255:0] x;
    logic [255:0] y;
    logic [23:0]  reserved_end;
  } ecdsa_t;
  typedef struct packed {
    logic [255:0] message;
    logic [255:0] key;
    logic [255:0] r;
    logic [255:0] s;
  } schnorr_t;
  ecdsa_t ecdsa;
  schnorr_t schnorr;
  logic [255:0] challenge;
  signature_t signature;
  assign ecdsa   = body_q;
  assign schnorr = body_q[SchnorrBits-1:0];
  always_comb begin
    signature.schnorr  = schnorr_q;
    signature.low_s    = ecdsa.flags[0];
    signature.key_long = ecdsa.key_length == 8'd65;
    signature.key_form = ecdsa.key_form;
    signature.r        = schnorr_q ? schnorr.r : ecdsa.r;
    signature.s        = schnorr_q ? schnorr.s : ecdsa.s;
    signature.e        = schnorr_q ? challenge : ecdsa.digest;
    signature.x        = schnorr_q ? schnorr.key : ecdsa.x;
    signature.y        = ecdsa.y;
  end

  // Challenge.
  logic hash_valid, hash_ready, digest_valid;
  logic [511:0] hashed;
  logic [ 63:0] hashed_keep;
  logic [255:0] digest;
  always_comb begin
    hashed = {ChallengeTag, ChallengeTag};
    if (state_q == StateKeys) hashed = {schnorr.r, schnorr.key};
    if (state_q == StateMessage) hashed = {schnorr.message, 256'd0};
  end
  assign hashed_keep = state_q == StateMessage ? 64'hffff_ffff : '1;
  assign hash_valid  = state_q inside {StateTag, StateKeys, StateMessage};
  sha256_stream #(
      .Double(1'b0)
  ) u_challenge (
      .clk_i,
      .rst_ni,
      .valid_i (hash_valid),
      .ready_o (hash_ready),
      .data_i  (swap_bytes(hashed)),
      .keep_i  (hashed_keep),
      .last_i  (state_q == StateMessage),
      .valid_o (digest_valid),
      .ready_i (state_q == StateChallenge),
      .digest_o(digest)
  );
  logic [255:0] challenge_q;
  `FFNE(challenge_q, 256'(swap_bytes({digest, 256'd0})), digest_valid)
  assign challenge = challenge_q;

  logic engine_ready;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateGather: if (accept && part_i.last) state_d = schnorr_i ? StateTag : StateOffer;
      StateTag: if (hash_ready) state_d = StateKeys;
      StateKeys: if (hash_ready) state_d = StateMessage;
      StateMessage: if (hash_ready) state_d = StateChallenge;
      StateChallenge: if (digest_valid) state_d = StateOffer;
      default: if (engine_ready) state_d = StateGather;
    endcase
  end
  `FF(state_q, state_d, StateGather)

  logic [SignatureEngines-1:0] unused_busy;
  assign verdict_o.reserved = '0;
  secp256k1_verify #(
      .Engines (SignatureEngines),
      .TagWidth($bits(tag_t))
  ) u_verify (
      .clk_i,
      .rst_ni,
      .valid_i    (state_q == StateOffer),
      .ready_o    (engine_ready),
      .tag_i      (tag_q),
      .signature_i(signature),
      .valid_o,
      .ready_i,
      .tag_o      (verdict_o.tag),
      .rule_o     (verdict_o.rule),
      .busy_o     (unused_busy)
  );
  // Fields already checked by verify_check.
  logic unused_fields;
  assign unused_fields = ^{ecdsa.flags, ecdsa.reserved, ecdsa.reserved_end};
endmodule
