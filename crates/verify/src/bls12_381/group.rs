//! The two groups that a pairing takes its points from.

use std::fmt::Debug;

use super::field::Field;
use super::portable;
use super::{Fp, Fp2, Rule};

/// One of the two groups of prime order that a pairing takes its points from.
pub trait Group: portable::Backend + Copy + Default + Debug + Eq + Send + Sync + 'static {
    /// A coordinate.
    type Element: Field + Debug + From<Self::Coordinate> + Into<Self::Coordinate>;

    /// The cube root of one by which x is multiplied, and y by -1, to multiply a point of the group by the square of the
    /// curve's parameter: the group's endomorphism.
    const CUBE_ROOT: Fp;

    /// Bytes of a compressed encoding; one that is not compressed has twice as many.
    const COMPRESSED: usize = Self::COORDINATE;

    /// A coordinate from big-endian bytes, the coefficient of u before the other.
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
