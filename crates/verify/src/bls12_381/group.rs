//! The two groups whose points a pairing takes.

use std::fmt::Debug;

use super::field::Field;
use super::portable;
use super::{Fp, Fp2, Rule};

/// One of the two groups of prime order whose points a pairing takes.
pub trait Group: portable::Backend + Copy + Default + Debug + Eq + Send + Sync + 'static {
    /// A coordinate.
    type Element: Field + Debug + From<Self::Coordinate> + Into<Self::Coordinate>;

    /// The cube root of one of the group's endomorphism: multiplying x by it, and y by -1, multiplies a point of the
    /// group by the square of the curve's parameter.
    const CUBE_ROOT: Fp;

    /// Bytes of a compressed encoding; an uncompressed one has twice as many.
    const COMPRESSED: usize = Self::COORDINATE;

    /// Parses a coordinate from big-endian bytes, the coefficient of u first.
    fn parse_coordinate(bytes: &[u8]) -> Result<Self::Element, Rule>;
}

/// The points of order r of y² = x³ + 4 over [`Fp`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct G1;

/// The points of order r of y² = x³ + 4 (u + 1) over [`Fp2`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct G2;

impl Group for G1 {
    type Element = Fp;
    const CUBE_ROOT: Fp = Fp::CUBE_ROOT;

    fn parse_coordinate(bytes: &[u8]) -> Result<Fp, Rule> {
        Fp::parse(bytes.try_into().map_err(|_| Rule::Length)?)
    }
}

impl Group for G2 {
    type Element = Fp2;
    const CUBE_ROOT: Fp = Fp::OTHER_CUBE_ROOT;

    fn parse_coordinate(bytes: &[u8]) -> Result<Fp2, Rule> {
        let ([c1, c0], []) = bytes.as_chunks() else { return Err(Rule::Length) };
        Ok(Fp2::new(Fp::parse(c0)?, Fp::parse(c1)?))
    }
}
