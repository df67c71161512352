//! Encodings of points: their flags, and their coordinates.

use super::{Group, PRIME, Rule};

/// Flags of an encoding, in its first byte.
const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
const LARGER_Y: u8 = 0x20;
const FLAGS: u8 = COMPRESSED | INFINITY | LARGER_Y;

/// An encoding that breaks no rule, except perhaps those that need arithmetic to check.
pub(super) enum Encoding<'a, G: Group> {
    /// The point at infinity.
    Infinity,
    /// x and y, which need not be on the curve.
    Coordinates(G::Element, G::Element),
    /// Not at infinity.
    Compressed(&'a [u8]),
}

impl<'a, G: Group> Encoding<'a, G> {
    /// Reads an encoding of either length.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Rule> {
        let is_compressed = bytes.len() == G::COMPRESSED;
        if !is_compressed && bytes.len() != 2 * G::COMPRESSED {
            return Err(Rule::Length);
        }
        let flags = bytes[0] & FLAGS;
        let known = if is_compressed {
            matches!(flags ^ COMPRESSED, 0 | INFINITY | LARGER_Y)
        } else {
            matches!(flags, 0 | INFINITY)
        };
        if !known {
            return Err(Rule::Flags);
        }
        if flags & INFINITY != 0 {
            let is_zero = bytes[0] == flags && bytes[1..].iter().all(|byte| *byte == 0);
            return if is_zero { Ok(Self::Infinity) } else { Err(Rule::Infinity) };
        }
        let (numbers, _) = bytes.as_chunks::<48>();
        let mut first = numbers[0];
        first[0] ^= flags;
        if first >= PRIME || numbers[1..].iter().any(|number| *number >= PRIME) {
            return Err(Rule::Range);
        }
        if is_compressed {
            return Ok(Self::Compressed(bytes));
        }
        let (x, y) = bytes.split_at(G::COORDINATE);
        Ok(Self::Coordinates(G::parse_coordinate(x)?, G::parse_coordinate(y)?))
    }
}

/// The content of a compressed encoding of a point that is not at infinity.
#[derive(Clone, Copy)]
pub(super) struct CompressedPoint<E> {
    pub(super) x: E,
    /// Whether y is the larger of the two possible values.
    pub(super) is_larger: bool,
}

impl<E> CompressedPoint<E> {
    /// Reads a compressed encoding whose flags were checked.
    pub(super) fn read<G: Group<Element = E>>(bytes: &[u8]) -> Result<Self, Rule> {
        let mut number = bytes.to_vec();
        number[0] &= !FLAGS;
        Ok(Self { x: G::parse_coordinate(&number)?, is_larger: bytes[0] & LARGER_Y != 0 })
    }
}
