use super::{Rule, der};
use crate::secp256k1::number::{HALF_ORDER, ORDER, subtract};

/// An ECDSA signature: r and s, both from 1 to the order of the group less one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    pub(in crate::secp256k1) r: [u8; 32],
    pub(in crate::secp256k1) s: [u8; 32],
}

impl Signature {
    /// Parses the strict DER encoding (BIP66), without the byte for the signature hash type that follows it in
    /// Bitcoin's scripts.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Rule> {
        Self::from_integers(der::strict(bytes)?)
    }

    /// Parses what Bitcoin accepted as DER before BIP66: libsecp256k1's `ecdsa_signature_parse_der_lax`.
    pub fn from_der_lax(bytes: &[u8]) -> Result<Self, Rule> {
        Self::from_integers(der::lax(bytes)?)
    }

    /// Parses r ‖ s, each 32 bytes, big-endian.
    pub fn from_compact(bytes: &[u8]) -> Result<Self, Rule> {
        let ([r, s], []) = bytes.as_chunks() else { return Err(Rule::SignatureLength) };
        Self::new(*r, *s)
    }

    fn new(r: [u8; 32], s: [u8; 32]) -> Result<Self, Rule> {
        let in_range = |number: [u8; 32]| number != [0; 32] && number < ORDER;
        if in_range(r) && in_range(s) { Ok(Self { r, s }) } else { Err(Rule::Range) }
    }

    fn from_integers(integers: [&[u8]; 2]) -> Result<Self, Rule> {
        let [r, s] = integers.map(|integer| {
            let zeros = integer.iter().take_while(|byte| **byte == 0).count();
            let mut number = [0; 32];
            let place = 32usize.checked_sub(integer.len() - zeros).ok_or(Rule::Range)?;
            number[place..].copy_from_slice(&integer[zeros..]);
            Ok(number)
        });
        Self::new(r?, s?)
    }

    /// r ‖ s, each 32 bytes, big-endian.
    pub fn compact(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.r);
        bytes[32..].copy_from_slice(&self.s);
        bytes
    }

    /// Whether s is at most half the order. Either both or neither of s and the order minus s are good; one of them is
    /// low.
    pub fn has_low_s(&self) -> bool {
        self.s <= HALF_ORDER
    }

    /// The same signature; an error if its s is not low.
    pub fn require_low_s(self) -> Result<Self, Rule> {
        if self.has_low_s() { Ok(self) } else { Err(Rule::HighS) }
    }

    /// The signature with a low s, which is good if and only if this one is.
    pub fn normalised(self) -> Self {
        if self.has_low_s() { self } else { Self { s: subtract(&ORDER, &self.s), ..self } }
    }
}
