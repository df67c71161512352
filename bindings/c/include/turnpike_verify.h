/* The verification engines of Turnpike: SHA-256 and Merkle trees, Equihash, ECDSA and Schnorr signatures on secp256k1, BLS
 * signatures, Groth16 proofs and pairings on BLS12-381, delay functions.
 *
 * Made by cbindgen from bindings/c/src: change it there. The chapter docs/bindings.md tells how to build and link.
 *
 * Memory belongs to the caller, and is used only until the call returns. Inputs and outputs must not overlap, and no other
 * thread may write to either during the call. A pointer may be NULL where it is to nothing (a count of 0).
 *
 * Every function may be called by several threads at once, with the same verifier too; only turnpike_verifier_free must be
 * the last. No function ends the program or lets a panic through. In the child of a fork a verifier goes on with the
 * calling thread alone, if no other thread was in a call during the fork.
 */

#ifndef TURNPIKE_VERIFY_H
#define TURNPIKE_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The code of an item that breaks no rule.
#define TURNPIKE_VALID 0

// The code of an item that was not verified, because the call did not complete.
#define TURNPIKE_NOT_VERIFIED 255

// Outcome of a call. turnpike_status_message describes it.
enum turnpike_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The call completed, and every item is valid.
    TURNPIKE_STATUS_OK = 0,
    // The call completed, and at least one item is invalid: see its code.
    TURNPIKE_STATUS_INVALID = 1,
    // A required pointer is NULL, or is not aligned for its type.
    TURNPIKE_STATUS_POINTER = 2,
    // A length exceeds any memory, offsets decrease, a header has the wrong length, or a tree has no leaves.
    TURNPIKE_STATUS_LENGTH = 3,
    // Unknown backend, scheme or policy, unsupported Equihash parameters, invalid verifying key or modulus, zero
    // squarings, or a text that is not UTF-8.
    TURNPIKE_STATUS_ARGUMENT = 4,
    // This processor, or the scheme, does not support the backend.
    TURNPIKE_STATUS_BACKEND = 5,
    // The system could not start the threads.
    TURNPIKE_STATUS_THREADS = 6,
    // The library failed. Please report its output on standard error.
    TURNPIKE_STATUS_INTERNAL = 7,
    // The progress callback stopped the call.
    TURNPIKE_STATUS_BROKEN_OFF = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum turnpike_status turnpike_status;
#else
typedef uint8_t turnpike_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The instructions that compute a scheme. The choice never changes a result.
enum turnpike_backend
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The fastest one that this processor supports.
    TURNPIKE_BACKEND_FASTEST = 0,
    // AVX-512; for curves its IFMA.
    TURNPIKE_BACKEND_AVX512 = 1,
    // AVX2; for signatures of secp256k1 with FMA. Not for BLS12-381.
    TURNPIKE_BACKEND_AVX2 = 2,
    // The SHA extensions. SHA-256 only.
    TURNPIKE_BACKEND_SHA_NI = 3,
    // Any processor: no vectors, and no extensions except ADX, which products of BLS12-381 use if available.
    TURNPIKE_BACKEND_PORTABLE = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum turnpike_backend turnpike_backend;
#else
typedef uint8_t turnpike_backend;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Encoding of ECDSA signatures: one of the first three values, plus any of the next two, combined with |. The others
// are the policies of chains.
//
// Keys have 33 bytes (2 or 3, x), 65 bytes (4, x, y), or, if the policy allows it, 65 bytes (6 or 7, x, y).
enum turnpike_ecdsa_policy
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Signatures are r and s, of 32 bytes each, big-endian, and s is low.
    TURNPIKE_ECDSA_POLICY_COMPACT = 0,
    // Signatures are strict DER (BIP66) without the byte of the signature hash type, and s is low.
    TURNPIKE_ECDSA_POLICY_DER = 1,
    // Signatures are in the form that Bitcoin accepted as DER before BIP66.
    TURNPIKE_ECDSA_POLICY_LAX_DER = 2,
    // A high s is normalised, not rejected.
    TURNPIKE_ECDSA_POLICY_NORMALISE_HIGH_S = 16,
    // Keys in the hybrid form are accepted.
    TURNPIKE_ECDSA_POLICY_HYBRID_KEYS = 32,
    // Bitcoin's consensus since BIP66.
    TURNPIKE_ECDSA_POLICY_BITCOIN = ((1 | 16) | 32),
    // Bitcoin's consensus before BIP66.
    TURNPIKE_ECDSA_POLICY_BITCOIN_LAX = ((2 | 16) | 32),
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum turnpike_ecdsa_policy turnpike_ecdsa_policy;
#else
typedef uint8_t turnpike_ecdsa_policy;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The rules of all schemes, each with a number that never changes: its bit in a result mask on the wire, and its code
// in C and Python. Zero means no broken rule, so every number is from 1 to 63.
enum turnpike_rule
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The Equihash solution has the length that the parameters require.
    TURNPIKE_RULE_EQUIHASH_LENGTH = 1,
    // The two halves of a subtree agree in the bits of its level.
    TURNPIKE_RULE_EQUIHASH_COLLISION = 2,
    // The half of a subtree with the lower first index comes first.
    TURNPIKE_RULE_EQUIHASH_ORDER = 3,
    // No index is in both halves of a subtree.
    TURNPIKE_RULE_EQUIHASH_DUPLICATE = 4,
    // The XOR of all leaves is zero.
    TURNPIKE_RULE_EQUIHASH_ROOT = 5,
    // The header encodes its solution's length in three bytes, and the length is the chain's.
    TURNPIKE_RULE_HEADER_SOLUTION_LENGTH = 8,
    // The header's target is a positive number of 256 bits.
    TURNPIKE_RULE_HEADER_TARGET = 9,
    // The header's hash is not above its target.
    TURNPIKE_RULE_HEADER_DIFFICULTY = 10,
    // r and s are in the range that the scheme allows.
    TURNPIKE_RULE_SIGNATURE_RANGE = 16,
    // s is at most half the order of the group.
    TURNPIKE_RULE_SIGNATURE_HIGH_S = 17,
    // The key is encoded as the scheme requires.
    TURNPIKE_RULE_KEY_ENCODING = 18,
    // The key is a point of the curve.
    TURNPIKE_RULE_KEY_NOT_ON_CURVE = 19,
    // The signature is valid for this message and this key.
    TURNPIKE_RULE_SIGNATURE_MISMATCH = 20,
    // The signature has the length of its encoding.
    TURNPIKE_RULE_SIGNATURE_LENGTH = 21,
    // The DER signature is a sequence of two integers, and nothing else.
    TURNPIKE_RULE_SIGNATURE_DER_STRUCTURE = 22,
    // The integers of the DER signature are not negative.
    TURNPIKE_RULE_SIGNATURE_DER_NEGATIVE = 23,
    // The integers of the DER signature have no more leading zero bytes than they need.
    TURNPIKE_RULE_SIGNATURE_DER_PADDING = 24,
    // The key is not in the hybrid form.
    TURNPIKE_RULE_KEY_HYBRID = 25,
    // The key's coordinates are below the field's prime.
    TURNPIKE_RULE_KEY_RANGE = 26,
    // The first byte of the hybrid key matches the parity of its y.
    TURNPIKE_RULE_KEY_PARITY = 27,
    // The signature's x is the x of a point on the curve.
    TURNPIKE_RULE_NONCE_NOT_ON_CURVE = 28,
    // The recovery id is from 0 to 3, and fits r.
    TURNPIKE_RULE_RECOVERY_ID = 29,
    // A key can be recovered from the signature.
    TURNPIKE_RULE_NO_KEY = 30,
    // The Merkle root matches the leaves.
    TURNPIKE_RULE_MERKLE_ROOT = 32,
    // No two nodes side by side in a Merkle tree of Bitcoin are equal (CVE-2012-2459).
    TURNPIKE_RULE_MERKLE_REPEATED = 33,
    // An encoding of BLS12-381 has the right length.
    TURNPIKE_RULE_POINT_LENGTH = 40,
    // The flag bits of a point match its encoding.
    TURNPIKE_RULE_POINT_FLAGS = 41,
    // A point with the infinity flag has no other bits set.
    TURNPIKE_RULE_POINT_INFINITY_BITS = 42,
    // The 16 bytes before each field element of EIP-2537 are zero.
    TURNPIKE_RULE_COORDINATE_PADDING = 43,
    // The coordinates of a point are below the field's prime.
    TURNPIKE_RULE_COORDINATE_RANGE = 44,
    // The point is on the curve.
    TURNPIKE_RULE_POINT_NOT_ON_CURVE = 45,
    // The point is in the subgroup of prime order.
    TURNPIKE_RULE_POINT_NOT_IN_SUBGROUP = 46,
    // Scalars and public inputs are below the order of the group.
    TURNPIKE_RULE_SCALAR_RANGE = 47,
    // The point is not at infinity, if the scheme forbids it.
    TURNPIKE_RULE_POINT_AT_INFINITY = 48,
    // An aggregate has at least one key, and one message per key if each key has its own.
    TURNPIKE_RULE_KEY_COUNT = 49,
    // The proof has the number of public inputs that its verifying key requires.
    TURNPIKE_RULE_INPUT_COUNT = 50,
    // The BLS signature is valid for this message and this key.
    TURNPIKE_RULE_BLS_MISMATCH = 51,
    // The Groth16 proof is valid for these public inputs and this verifying key.
    TURNPIKE_RULE_GROTH16_MISMATCH = 52,
    // The product of the pairings is one.
    TURNPIKE_RULE_PAIRING_MISMATCH = 53,
    // The proof of a delay has the form and the length that its modulus and its number of squarings require.
    TURNPIKE_RULE_DELAY_FORM = 56,
    // The modulus of a delay is odd and greater than 1.
    TURNPIKE_RULE_DELAY_MODULUS = 57,
    // The numbers of a delay are below its modulus.
    TURNPIKE_RULE_DELAY_RANGE = 58,
    // The input of a delay is not 0, 1 or -1.
    TURNPIKE_RULE_DELAY_INPUT = 59,
    // Each output of a delay is the smaller of itself and its negation.
    TURNPIKE_RULE_DELAY_CANONICAL = 60,
    // Each output of a delay is proved.
    TURNPIKE_RULE_DELAY_MISMATCH = 61,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum turnpike_rule turnpike_rule;
#else
typedef uint8_t turnpike_rule;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A kind of computation or verification.
enum turnpike_scheme
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // SHA-256, alone, doubled and tagged.
    TURNPIKE_SCHEME_SHA256 = 0,
    // Equihash, and headers of Zcash.
    TURNPIKE_SCHEME_EQUIHASH = 1,
    // Signatures on the curve secp256k1, ECDSA and Schnorr.
    TURNPIKE_SCHEME_SECP256K1 = 2,
    // Signatures, proofs and pairings on the curve BLS12-381.
    TURNPIKE_SCHEME_BLS12381 = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum turnpike_scheme turnpike_scheme;
#else
typedef uint8_t turnpike_scheme;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A choice of backend, and threads that share the items of a call.
//
// Many threads may use it at the same time.
typedef struct turnpike_verifier turnpike_verifier;

// Contiguous items. The functions that take them define their number.
typedef struct {
    // The first byte of the first item.
    const uint8_t *bytes;
    // The length of each item. Ignored if there are offsets.
    size_t width;
    // NULL for items of one length. Otherwise item i extends from `offsets[i]` to `offsets[i + 1]`, so there is one
    // more offset than items; the last one is the length of `bytes`.
    const uint64_t *offsets;
} turnpike_items;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the length of a delay's proof in bytes, or 0 if no modulus has this length.
size_t turnpike_delay_proof_length(size_t modulus_length, uint64_t squarings);

// Squares a message's hash `squarings` times modulo an odd number of up to 512 bytes, most significant byte first and
// not zero. Writes the result with its proof: turnpike_delay_proof_length bytes, for turnpike_verify_delay.
//
// `progress`, if it is not NULL, is called occasionally, by the calling thread, with `context` and the number of
// squarings done; if it returns false, the function stops with TURNPIKE_STATUS_BROKEN_OFF and writes nothing. Uses one
// more thread for part of the time.
turnpike_status turnpike_delay_evaluate(const uint8_t *modulus,
                                        size_t modulus_length,
                                        const uint8_t *message,
                                        size_t message_length,
                                        uint64_t squarings,
                                        bool (*progress)(void *context, uint64_t squarings),
                                        void *context,
                                        uint8_t *proof);

// Verifies in milliseconds that turnpike_delay_evaluate made a proof for the same modulus, message and number of
// squarings. Writes the result, as long as the modulus: all zeros with TURNPIKE_STATUS_INVALID.
turnpike_status turnpike_verify_delay(const uint8_t *modulus,
                                      size_t modulus_length,
                                      const uint8_t *message,
                                      size_t message_length,
                                      uint64_t squarings,
                                      const uint8_t *proof,
                                      size_t proof_length,
                                      uint8_t *result);

// Creates a verifier. `threads` includes the calling thread; 0 means one per processor. `backend` is a
// turnpike_backend: TURNPIKE_BACKEND_FASTEST unless you have a reason to choose.
//
// The caller owns the verifier: free it with turnpike_verifier_free.
turnpike_status turnpike_verifier_new(uint32_t threads, uint8_t backend, turnpike_verifier **verifier);

// Frees a verifier. No call may be using it, or use it afterwards. NULL is allowed.
void turnpike_verifier_free(turnpike_verifier *verifier);

// Returns the number of a verifier's threads, including the calling one; 0 for NULL.
uint32_t turnpike_verifier_threads(const turnpike_verifier *verifier);

// Writes the turnpike_backend that a verifier uses for a turnpike_scheme: never TURNPIKE_BACKEND_FASTEST.
turnpike_status turnpike_verifier_backend(const turnpike_verifier *verifier, uint8_t scheme, uint8_t *backend);

// Returns whether this processor supports a turnpike_backend for a turnpike_scheme.
bool turnpike_backend_available(uint8_t scheme, uint8_t backend);

// SHA-256 of each of `count` contiguous messages of `length` bytes. A digest has 32 bytes.
turnpike_status turnpike_sha256(const turnpike_verifier *verifier,
                                const uint8_t *messages,
                                size_t length,
                                size_t count,
                                uint8_t *digests);

// Like turnpike_sha256, but Bitcoin's hash: SHA-256 of SHA-256.
turnpike_status turnpike_sha256d(const turnpike_verifier *verifier,
                                 const uint8_t *messages,
                                 size_t length,
                                 size_t count,
                                 uint8_t *digests);

// Like turnpike_sha256, but BIP340's tagged hash. The tag is zero-terminated UTF-8 of any length.
turnpike_status turnpike_tagged_sha256(const turnpike_verifier *verifier,
                                       const char *tag,
                                       const uint8_t *messages,
                                       size_t length,
                                       size_t count,
                                       uint8_t *digests);

// Computes one level of a Bitcoin Merkle tree. `children` are `count` digests of 32 bytes, `parents` (count + 1) / 2:
// each is the double hash of left and right; a missing right child is replaced by the left one.
turnpike_status turnpike_merkle_parents(const turnpike_verifier *verifier,
                                        const uint8_t *children,
                                        size_t count,
                                        uint8_t *parents);

// Computes the root, of 32 bytes, of the Bitcoin Merkle tree over `count` leaves of 32 bytes; `count` is at least 1.
//
// Sets `ambiguous` to 1 if two adjacent nodes are equal, otherwise to 0. Reject a block for which it is 1: a shorter
// list of transactions has the same root (CVE-2012-2459).
turnpike_status turnpike_merkle_root(const turnpike_verifier *verifier,
                                     const uint8_t *leaves,
                                     size_t count,
                                     uint8_t *root,
                                     uint8_t *ambiguous);

// Verifies `count` Equihash solutions with parameters n and k. An input is a header up to and including the nonce; a
// personalisation has 8 bytes ("ZcashPoW"). A solution whose length does not match the parameters breaks a rule.
//
// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
turnpike_status turnpike_verify_equihash(const turnpike_verifier *verifier,
                                         uint32_t n,
                                         uint32_t k,
                                         const uint8_t *personalisation,
                                         turnpike_items inputs,
                                         turnpike_items solutions,
                                         size_t count,
                                         uint8_t *codes);

// Verifies that `count` headers of Zcash, of 1487 bytes each, have the proof of work that their own targets require.
// The caller must check that a target is the one that the chain requires.
//
// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
turnpike_status turnpike_verify_zcash_headers(const turnpike_verifier *verifier,
                                              const uint8_t *headers,
                                              size_t count,
                                              uint8_t *codes);

// Verifies `count` ECDSA signatures of digests of 32 bytes. `policy` is a turnpike_ecdsa_policy, the encoding of
// signatures and keys.
//
// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
turnpike_status turnpike_verify_ecdsa(const turnpike_verifier *verifier,
                                      uint32_t policy,
                                      const uint8_t *digests,
                                      turnpike_items signatures,
                                      turnpike_items keys,
                                      size_t count,
                                      uint8_t *codes);

// Recovers the keys, of 33 bytes, that made `count` ECDSA signatures of digests of 32 bytes. `policy` is a
// turnpike_ecdsa_policy. Each of `count` ids is from 0 to 3: plus 1 if the y of the nonce's point is odd, plus 2 if
// its x is r + n. If the policy replaces a high s, the id is adjusted with it: the key is that of the original
// signature.
//
// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks; the key of an invalid item
// is all zeros.
turnpike_status turnpike_recover_ecdsa(const turnpike_verifier *verifier,
                                       uint32_t policy,
                                       const uint8_t *digests,
                                       turnpike_items signatures,
                                       const uint8_t *ids,
                                       size_t count,
                                       uint8_t *keys,
                                       uint8_t *codes);

// Verifies `count` BIP340 Schnorr signatures, of 64 bytes, of messages of any length with keys of 32 bytes.
//
// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
turnpike_status turnpike_verify_schnorr(const turnpike_verifier *verifier,
                                        turnpike_items messages,
                                        const uint8_t *signatures,
                                        const uint8_t *keys,
                                        size_t count,
                                        uint8_t *codes);

// Verifies `count` BLS signatures on BLS12-381, of 96 bytes, of messages of any length with keys of 48 bytes: as in
// Ethereum, with the tag of proofs of possession.
//
// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
turnpike_status turnpike_verify_bls(const turnpike_verifier *verifier,
                                    turnpike_items messages,
                                    const uint8_t *signatures,
                                    const uint8_t *keys,
                                    size_t count,
                                    uint8_t *codes);

// Verifies `count` Groth16 proofs on BLS12-381, of 192 bytes. `key` is a verifying key in bellman's encoding, of
// `key_length` bytes. An item of `inputs` has the public inputs of a proof, 32 little-endian bytes each.
//
// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
turnpike_status turnpike_verify_groth16(const turnpike_verifier *verifier,
                                        const uint8_t *key,
                                        size_t key_length,
                                        const uint8_t *proofs,
                                        turnpike_items inputs,
                                        size_t count,
                                        uint8_t *codes);

// Verifies that `count` products of pairings on BLS12-381 are one. An item has at least one pair of points in the
// encoding of EIP-2537, 384 bytes each.
//
// Each of `count` codes is TURNPIKE_VALID or the first turnpike_rule that the item breaks.
turnpike_status turnpike_verify_pairings(const turnpike_verifier *verifier,
                                         turnpike_items products,
                                         size_t count,
                                         uint8_t *codes);

// The version of the library, for instance "0.1.0".
const char *turnpike_verify_version(void);

// Describes a status.
const char *turnpike_status_message(uint8_t status);

// Describes the code of an item.
const char *turnpike_rule_message(uint8_t code);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TURNPIKE_VERIFY_H */
