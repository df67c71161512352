use thiserror::Error;

/// A rule that an encoding, a signature or a proof may break. Encodings are checked first, in the order of their bytes,
/// then their meaning; within each, the rules are checked in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Rule {
    /// An encoding has the required length: a point of G1 48 bytes, or 96 uncompressed, of G2 96 or 192.
    #[error("an encoding has the wrong length")]
    Length,
    /// The three highest bits of a point's encoding are flags: compressed, infinity, and whether y is the larger of
    /// two. The last may only be set if the point is compressed and not at infinity.
    #[error("the flag bits of a point do not match its encoding")]
    Flags,
    /// If the infinity flag of a point's encoding is set, all bits after the flags are zero.
    #[error("a point with the infinity flag has other bits set")]
    Infinity,
    /// The 16 bytes before each number in an encoding of EIP-2537 are zero.
    #[error("one of the 16 bytes before a field element is not zero")]
    Padding,
    /// Coordinates are below the field's prime.
    #[error("a coordinate is not below the prime of the field")]
    Range,
    /// The point is on the curve; if it is compressed, its x has a y.
    #[error("a point is not on the curve")]
    NotOnCurve,
    /// The point is in the subgroup of prime order.
    #[error("a point is not in the subgroup")]
    NotInSubgroup,
    /// Scalars, including the public inputs of a proof, are below the order of the group.
    #[error("a scalar is not below the order of the group")]
    ScalarRange,
    /// Public keys, the points of proofs and those of verifying keys are not at infinity.
    #[error("a point is at infinity, which the scheme forbids")]
    AtInfinity,
    /// An aggregate has at least one key, or signature, and one message per key if each key has its own.
    #[error("an aggregate has no keys, or the numbers of messages and keys differ")]
    KeyCount,
    /// The proof has the number of public inputs that its verifying key requires.
    #[error("the number of public inputs does not match the verifying key")]
    InputCount,
    /// The signature is valid for this message and this key.
    #[error("the BLS signature is not valid for this message and this key")]
    SignatureMismatch,
    /// The proof is valid for these public inputs and this verifying key.
    #[error("the proof is not valid for these public inputs and this verifying key")]
    ProofMismatch,
    /// The product of the pairings is one.
    #[error("the product of the pairings is not one")]
    PairingMismatch,
}
