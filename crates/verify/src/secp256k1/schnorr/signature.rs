//! A Schnorr signature and its encoding.

use crate::secp256k1::Rule;
use crate::secp256k1::number::{ORDER, PRIME};

/// A Schnorr signature: r below the field's prime, s below the order of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    pub(in crate::secp256k1) r: [u8; 32],
    pub(in crate::secp256k1) s: [u8; 32],
}

impl Signature {
    /// Parses r ‖ s, each 32 bytes, big-endian.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        let ([r, s], []) = bytes.as_chunks() else { return Err(Rule::SignatureLength) };
        if *r < PRIME && *s < ORDER { Ok(Self { r: *r, s: *s }) } else { Err(Rule::Range) }
    }

    /// r ‖ s, each 32 bytes, big-endian.
    pub fn bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.r);
        bytes[32..].copy_from_slice(&self.s);
        bytes
    }
}
