//! Points of the two groups, and their encodings.

use std::fmt::Debug;

use super::backend::Backend;
use super::field::Field;
use super::portable;
use super::{Fp, Fp2, PRIME, Rule, Scalar};

/// One of the two groups of prime order that a pairing takes its points from.
pub trait Group: portable::Backend + Copy + Default + Debug + Eq + Send + Sync + 'static {
    /// A coordinate.
    type Element: Field + Debug + From<Self::Coordinate> + Into<Self::Coordinate>;

    /// The cube root of one by which x is multiplied, and y by -1, to multiply a point of the group by the square of the curve's
    /// parameter: the group's endomorphism.
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

/// Flags of an encoding, in its first byte.
const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
const LARGER_Y: u8 = 0x20;
const FLAGS: u8 = COMPRESSED | INFINITY | LARGER_Y;

/// An encoding without a broken rule, but for those that take a square root to tell.
enum Encoding<'a, G: Group> {
    Point(CurvePoint<G>),
    /// Not at infinity.
    Compressed(&'a [u8]),
}

/// What a compressed encoding says of a point that is not at infinity.
#[derive(Clone, Copy)]
pub(super) struct CompressedPoint<E> {
    pub(super) x: E,
    /// Whether y is the larger one of two.
    pub(super) is_larger: bool,
}

impl<E> CompressedPoint<E> {
    /// From a compressed encoding whose flags were checked.
    pub(super) fn read<G: Group<Element = E>>(bytes: &[u8]) -> Result<Self, Rule> {
        let mut number = bytes.to_vec();
        number[0] &= !FLAGS;
        Ok(Self { x: G::parse_coordinate(&number)?, is_larger: bytes[0] & LARGER_Y != 0 })
    }
}

/// A point of the curve that a group is on, which need not be in the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurvePoint<G: Group>(pub(super) G::Affine);

/// A point of a group: on the curve, and in the subgroup of prime order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point<G: Group>(pub(super) G::Affine);

impl<G: Group> CurvePoint<G> {
    /// From the compressed encoding, or the one that is not, as the length says: big-endian coordinates, that of u before the other,
    /// with flags in the three highest bits (draft-irtf-cfrg-pairing-friendly-curves, appendix C).
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        match Self::read(bytes)? {
            Encoding::Point(point) => Ok(point),
            Encoding::Compressed(bytes) => G::uncompress(bytes).map(Self).ok_or(Rule::NotOnCurve),
        }
    }

    fn read(bytes: &[u8]) -> Result<Encoding<'_, G>, Rule> {
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
            return if is_zero { Ok(Encoding::Point(Self::default())) } else { Err(Rule::Infinity) };
        }
        let (numbers, _) = bytes.as_chunks::<48>();
        let mut first = numbers[0];
        first[0] ^= flags;
        if first >= PRIME || numbers[1..].iter().any(|number| *number >= PRIME) {
            return Err(Rule::Range);
        }
        if is_compressed {
            return Ok(Encoding::Compressed(bytes));
        }
        let (x, y) = bytes.split_at(G::COORDINATE);
        Self::new(G::parse_coordinate(x)?, G::parse_coordinate(y)?).map(Encoding::Point)
    }

    /// The point with these coordinates. Zero and zero are not a point.
    pub fn new(x: G::Element, y: G::Element) -> Result<Self, Rule> {
        let point = G::from_coordinates(x.into(), y.into());
        if G::is_infinity(&point) || !G::is_on_curve(&point) { Err(Rule::NotOnCurve) } else { Ok(Self(point)) }
    }

    /// x and y; none at infinity.
    pub fn coordinates(&self) -> Option<(G::Element, G::Element)> {
        let (x, y) = G::coordinates(&self.0);
        (!self.is_infinity()).then(|| (x.into(), y.into()))
    }

    /// Whether it is the point at infinity.
    pub fn is_infinity(&self) -> bool {
        G::is_infinity(&self.0)
    }

    /// The point as one of the group.
    pub fn in_subgroup(self) -> Result<Point<G>, Rule> {
        if G::is_in_subgroup(&self.0) { Ok(Point(self.0)) } else { Err(Rule::NotInSubgroup) }
    }

    /// [`CurvePoint::in_subgroup`] of each, faster together.
    pub fn in_subgroup_each(points: &[Self]) -> Vec<Result<Point<G>, Rule>> {
        Self::in_subgroup_each_on(Backend::fastest(), points)
    }

    pub(super) fn in_subgroup_each_on(backend: Backend, points: &[Self]) -> Vec<Result<Point<G>, Rule>> {
        // The formulas have none at infinity, which is in the subgroup.
        let finite: Vec<_> = points.iter().filter(|point| !point.is_infinity()).map(|point| point.0).collect();
        let mut good = backend.are_in_subgroup::<G>(&finite).into_iter();
        let is_good = |point: &Self| point.is_infinity() || good.next().unwrap_or_default();
        let good: Vec<bool> = points.iter().map(is_good).collect();
        let verdict = |(point, good): (&Self, bool)| if good { Ok(Point(point.0)) } else { Err(Rule::NotInSubgroup) };
        points.iter().zip(good).map(verdict).collect()
    }

    /// The sum of two points.
    pub fn add(&self, other: &Self) -> Self {
        Self(G::to_affine(&G::add_affine(&G::to_jacobian(&self.0), &other.0)))
    }
}

impl<G: Group> Point<G> {
    /// From one of the encodings of [`CurvePoint::parse`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        CurvePoint::parse(bytes)?.in_subgroup()
    }

    /// From the compressed encoding alone.
    pub fn parse_compressed(bytes: &[u8]) -> Result<Self, Rule> {
        if bytes.len() == G::COMPRESSED { Self::parse(bytes) } else { Err(Rule::Length) }
    }

    /// [`Point::parse_compressed`] of each, faster together.
    pub fn parse_compressed_each(encodings: &[&[u8]]) -> Vec<Result<Self, Rule>> {
        Self::parse_compressed_each_on(Backend::fastest(), encodings)
    }

    /// As [`Point::parse_compressed_each`], on a backend that is available.
    pub fn parse_compressed_each_on<'a>(backend: Backend, encodings: &[&'a [u8]]) -> Vec<Result<Self, Rule>> {
        let read = |bytes: &&'a [u8]| match bytes.len() == G::COMPRESSED {
            true => CurvePoint::<G>::read(bytes),
            false => Err(Rule::Length),
        };
        let read: Vec<_> = encodings.iter().map(read).collect();
        let compressed = read.iter().filter_map(|encoding| match encoding {
            Ok(Encoding::Compressed(bytes)) => Some(*bytes),
            _ => None,
        });
        let mut points = backend.uncompress::<G>(&Vec::from_iter(compressed)).into_iter();
        let on_curve = read.into_iter().map(|encoding| match encoding? {
            Encoding::Point(point) => Ok(point),
            Encoding::Compressed(_) => points.next().flatten().map(CurvePoint).ok_or(Rule::NotOnCurve),
        });
        let on_curve: Vec<_> = on_curve.collect();
        let points: Vec<_> = on_curve.iter().filter_map(|point| point.ok()).collect();
        let mut verdicts = CurvePoint::in_subgroup_each_on(backend, &points).into_iter();
        let verdict = |point: Result<_, _>| point.and_then(|_| verdicts.next().unwrap_or(Err(Rule::NotInSubgroup)));
        on_curve.into_iter().map(verdict).collect()
    }

    /// The generator that all protocols use.
    pub fn generator() -> Self {
        Self(G::generator())
    }

    /// The point as one of the curve.
    pub fn on_curve(&self) -> CurvePoint<G> {
        CurvePoint(self.0)
    }

    /// x and y; none at infinity.
    pub fn coordinates(&self) -> Option<(G::Element, G::Element)> {
        self.on_curve().coordinates()
    }

    /// Whether it is the point at infinity.
    pub fn is_infinity(&self) -> bool {
        G::is_infinity(&self.0)
    }

    /// The compressed encoding.
    pub fn compressed(&self) -> Vec<u8> {
        let mut bytes = vec![0; G::COMPRESSED];
        G::compress(&self.0, &mut bytes);
        bytes
    }

    /// The encoding that is not compressed.
    pub fn uncompressed(&self) -> Vec<u8> {
        let mut bytes = vec![0; 2 * G::COMPRESSED];
        G::serialise(&self.0, &mut bytes);
        bytes
    }

    /// The sum of two points.
    pub fn add(&self, other: &Self) -> Self {
        Self(G::to_affine(&G::add_affine(&G::to_jacobian(&self.0), &other.0)))
    }

    /// The sum of many points, infinity if there are none.
    pub fn sum<'a>(points: impl IntoIterator<Item = &'a Self>) -> Self {
        let add = |sum: G::Jacobian, point: &Self| G::add_affine(&sum, &point.0);
        Self(G::to_affine(&points.into_iter().fold(G::Jacobian::default(), add)))
    }

    /// The point with the other y.
    pub fn negate(&self) -> Self {
        Self(G::to_affine(&G::negate(&G::to_jacobian(&self.0))))
    }

    /// The point added up as many times as the scalar says.
    pub fn multiply(&self, scalar: &Scalar) -> Self {
        self.multiply_bits(&scalar.little_endian(), Scalar::BITS)
    }

    /// As [`Point::multiply`], by a scalar of 128 bits, which takes half the time.
    pub fn multiply_short(&self, scalar: u128) -> Self {
        self.multiply_bits(&scalar.to_le_bytes(), 128)
    }

    fn multiply_bits(&self, scalar: &[u8], bits: usize) -> Self {
        Self(G::to_affine(&G::multiply(&G::to_jacobian(&self.0), scalar, bits)))
    }
}
