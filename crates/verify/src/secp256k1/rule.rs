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
    #[error("an integer of the DER signature has a leading zero byte that it does not need")]
    DerPadding,
    /// ECDSA: r and s are numbers from 1 to the order of the group minus one. Schnorr: r is below the field's prime, s
    /// below the order.
    #[error("r or s of the signature is out of range")]
    Range,
    /// s is at most half the order.
    #[error("s of the signature is high: replace it with the group's order less s")]
    HighS,
    /// A key is 2 or 3 and 32 bytes, 4, 6 or 7 and 64 bytes, or, for Schnorr, 32 bytes.
    #[error("the length of the public key, or its first byte, is not that of any encoding")]
    KeyEncoding,
    /// The key is not in the hybrid form.
    #[error("the public key is in the hybrid form: encode it with a first byte of 2, 3 or 4")]
    KeyHybrid,
    /// The key's coordinates are below the field's prime.
    #[error("a coordinate of the public key is not below the prime of the field")]
    KeyRange,
    /// The first byte of a hybrid key is 6 if y is even, 7 if it is odd.
    #[error("the first byte of the hybrid public key does not tell whether its y is odd")]
    KeyParity,
    /// The key is a point of the curve.
    #[error("the public key is not a point of the curve")]
    KeyNotOnCurve,
    /// There is a point with r as its x (Schnorr), or with what r and the recovery id say it is (recovery).
    #[error("there is no point with the x that the signature has")]
    NonceNotOnCurve,
    /// The recovery id is from 0 to 3, and 2 or 3 only if r + n is below the field's prime.
    #[error("the recovery id is above 3, or r is too large for it")]
    RecoveryId,
    /// There is a key with which the signature is one of the digest.
    #[error("there is no public key that the signature can be recovered to")]
    NoKey,
    /// The signature is one of this digest or message with this key.
    #[error("the signature is not one of this message with this key")]
    Mismatch,
}
