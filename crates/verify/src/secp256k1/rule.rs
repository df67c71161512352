use thiserror::Error;

/// A rule that a signature or a key may break. Each variant states the rule.
///
/// Encodings are checked first, the signature's before the key's, then the points; within each, the rules are checked
/// in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Rule {
    /// A compact ECDSA signature and a Schnorr signature have 64 bytes.
    #[error("the signature is not 64 bytes long")]
    SignatureLength,
    /// A DER signature is a sequence of two integers, and nothing else.
    #[error("the signature is not the DER encoding of a sequence of two integers")]
    DerStructure,
    /// The integers of a DER signature are not negative.
    #[error("an integer of the DER signature is negative")]
    DerNegative,
    /// The integers of a DER signature have no more leading zero bytes than they need.
    #[error("an integer of the DER signature has an unnecessary leading zero byte")]
    DerPadding,
    /// ECDSA: r and s are numbers from 1 to the order of the group minus one. Schnorr: r is below the field's prime, s
    /// below the order.
    #[error("r or s of the signature is out of range")]
    Range,
    /// s is at most half the order.
    #[error("s of the signature is high: replace it with the group's order minus s")]
    HighS,
    /// A key is a byte of 2 or 3 and 32 bytes; a byte of 4, 6 or 7 and 64 bytes; or, for Schnorr, 32 bytes.
    #[error("no encoding of a public key has this length and first byte")]
    KeyEncoding,
    /// The key is not in the hybrid form.
    #[error("the public key is in the hybrid form: encode it with a first byte of 2, 3 or 4")]
    KeyHybrid,
    /// The key's coordinates are below the field's prime.
    #[error("a coordinate of the public key is not below the prime of the field")]
    KeyRange,
    /// The first byte of a hybrid key is 6 if y is even, 7 if it is odd.
    #[error("the first byte of the hybrid public key does not match the parity of its y")]
    KeyParity,
    /// The key is a point of the curve.
    #[error("the public key is not a point of the curve")]
    KeyNotOnCurve,
    /// A point on the curve has r as its x (Schnorr), or the x that r and the recovery id encode (recovery).
    #[error("no point on the curve has the x that the signature encodes")]
    NonceNotOnCurve,
    /// The recovery id is from 0 to 3, and 2 or 3 only if r + n is below the field's prime.
    #[error("the recovery id is above 3, or r is too large for it")]
    RecoveryId,
    /// Some key makes the signature valid for the digest.
    #[error("no public key can be recovered from the signature")]
    NoKey,
    /// The signature is valid for this digest or message and this key.
    #[error("the signature is not valid for this message and this key")]
    Mismatch,
}
