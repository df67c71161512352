//! Encodings of public keys. Whether a key is a point of the curve is checked together with the signature.

use super::Rule;
use super::number::PRIME;

/// A public key whose coordinates are below the field's prime.
///
/// Two encodings of one point are not equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PublicKey {
    pub(super) x: [u8; 32],
    pub(super) y: Y,
}

/// What an encoding says about y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Y {
    Even,
    Odd,
    Number([u8; 32]),
}

impl PublicKey {
    /// Parses SEC 1's encodings: compressed (33 bytes: 2 or 3, x), uncompressed (65 bytes: 4, x, y) and hybrid (65
    /// bytes: 6 or 7, x, y). 2 and 6 mean that y is even, 3 and 7 that it is odd.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        let (first, coordinates) = bytes.split_first().ok_or(Rule::KeyEncoding)?;
        let (x, y) = match (first, coordinates.as_chunks()) {
            (2, ([x], [])) => (x, Y::Even),
            (3, ([x], [])) => (x, Y::Odd),
            (4 | 6 | 7, ([x, y], [])) => (x, Y::Number(*y)),
            _ => return Err(Rule::KeyEncoding),
        };
        let key = Self { x: *x, y };
        if *x >= PRIME || matches!(y, Y::Number(y) if y >= PRIME) {
            return Err(Rule::KeyRange);
        }
        if matches!(first, 6 | 7) && key.is_odd() != (*first == 7) {
            return Err(Rule::KeyParity);
        }
        Ok(key)
    }

    /// The point with this x, which is below the field's prime.
    pub(super) fn from_x(x: [u8; 32], odd: bool) -> Self {
        Self { x, y: if odd { Y::Odd } else { Y::Even } }
    }

    /// The compressed encoding.
    pub fn compressed(&self) -> [u8; 33] {
        let mut bytes = [2; 33];
        bytes[0] += u8::from(self.is_odd());
        bytes[1..].copy_from_slice(&self.x);
        bytes
    }

    pub(super) fn is_odd(&self) -> bool {
        match self.y {
            Y::Even => false,
            Y::Odd => true,
            Y::Number(y) => y[31] & 1 == 1,
        }
    }
}

/// A public key of BIP340: the point with an even y that has this x, which is below the field's prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct XOnlyKey(pub(super) [u8; 32]);

impl XOnlyKey {
    /// Parses 32 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        let x: [u8; 32] = bytes.try_into().map_err(|_| Rule::KeyEncoding)?;
        if x < PRIME { Ok(Self(x)) } else { Err(Rule::KeyRange) }
    }

    /// The 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}
