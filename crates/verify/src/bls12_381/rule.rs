use thiserror::Error;

/// A rule that an encoding, a signature or a proof may break. Encodings are checked first, in the order of their bytes, then
/// what they say; within each, the rules are checked in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Rule {
    /// An encoding has the length that it should have: a point of G1 48 bytes, or 96 if it is not compressed, of G2 96 or 192.
    #[error("an encoding has the wrong length")]
    Length,
    /// The three highest bits of a point's encoding are flags: compressed, infinity, and, only where it is compressed and not at
    /// infinity, whether y is the larger one of two.
    #[error("the flag bits of a point do not go with its encoding")]
    Flags,
    /// Where the infinity flag of a point's encoding is set, all bits behind the flags are zero.
    #[error("a point with the infinity flag has other bits set")]
    Infinity,
    /// The 16 bytes before each number in an encoding of EIP-2537 are zero.
    #[error("one of the 16 bytes before a field element is not zero")]
    Padding,
    /// Coordinates are below the field's prime.
    #[error("a coordinate is not below the prime of the field")]
    Range,
    /// The point is on the curve; where it is compressed, there is a y for its x.
    #[error("a point is not on the curve")]
    NotOnCurve,
    /// The point is in the subgroup of prime order.
    #[error("a point is not in the subgroup")]
    NotInSubgroup,
    /// Scalars, among them the public inputs of a proof, are below the order of the group.
    #[error("a scalar is not below the order of the group")]
    ScalarRange,
    /// Public keys, the points of proofs and those of verifying keys are not at infinity.
    #[error("a point is at infinity where it may not be")]
    AtInfinity,
    /// An aggregate has at least one key, or signature, and as many messages as keys where each has its own.
    #[error("an aggregate has no keys, or not as many messages as keys")]
    KeyCount,
    /// The proof has as many public inputs as its verifying key asks for.
    #[error("the number of public inputs is not that of the verifying key")]
    InputCount,
    /// The signature is one of this message with this key.
    #[error("the BLS signature is not one of this message with this key")]
    SignatureMismatch,
    /// The proof is one of these public inputs with this verifying key.
    #[error("the proof does not hold for these public inputs and this verifying key")]
    ProofMismatch,
    /// The product of the pairings is one.
    #[error("the product of the pairings is not one")]
    PairingMismatch,
}
