//! Points of the two curves and groups.

use super::backend::Backend;
use super::encoding::Encoding;
use super::{Group, Rule, Scalar};

/// A point of the curve that a group is on, which need not be in the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurvePoint<G: Group>(pub(super) G::Affine);

/// A point of a group: on the curve, and in the subgroup of prime order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point<G: Group>(pub(super) G::Affine);

impl<G: Group> CurvePoint<G> {
    /// Parses a compressed or uncompressed encoding, depending on its length.
    ///
    /// Coordinates are big-endian, with the coefficient of u first and flags in the three highest bits
    /// (draft-irtf-cfrg-pairing-friendly-curves, appendix C).
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        match Encoding::<G>::read(bytes)? {
            Encoding::Infinity => Ok(Self::default()),
            Encoding::Coordinates(x, y) => Self::new(x, y),
            Encoding::Compressed(bytes) => G::uncompress(bytes).map(Self).ok_or(Rule::NotOnCurve),
        }
    }

    /// The point with these coordinates. (0, 0) is not a point.
    pub fn new(x: G::Element, y: G::Element) -> Result<Self, Rule> {
        let point = G::from_coordinates(x.into(), y.into());
        if G::is_infinity(&point) || !G::is_on_curve(&point) { Err(Rule::NotOnCurve) } else { Ok(Self(point)) }
    }

    /// x and y; `None` at infinity.
    pub fn coordinates(&self) -> Option<(G::Element, G::Element)> {
        let (x, y) = G::coordinates(&self.0);
        (!self.is_infinity()).then(|| (x.into(), y.into()))
    }

    /// Whether it is the point at infinity.
    pub fn is_infinity(&self) -> bool {
        G::is_infinity(&self.0)
    }

    /// The point as one of the group, if it is in the subgroup.
    pub fn in_subgroup(self) -> Result<Point<G>, Rule> {
        if G::is_in_subgroup(&self.0) { Ok(Point(self.0)) } else { Err(Rule::NotInSubgroup) }
    }

    /// [`CurvePoint::in_subgroup`] for each point, faster together.
    pub fn in_subgroup_each(points: &[Self]) -> Vec<Result<Point<G>, Rule>> {
        Self::in_subgroup_each_on(Backend::fastest(), points)
    }

    pub(super) fn in_subgroup_each_on(backend: Backend, points: &[Self]) -> Vec<Result<Point<G>, Rule>> {
        // The formulas cannot handle infinity, which is in the subgroup.
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
    /// Parses one of the encodings of [`CurvePoint::parse`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        CurvePoint::parse(bytes)?.in_subgroup()
    }

    /// Parses only the compressed encoding.
    pub fn parse_compressed(bytes: &[u8]) -> Result<Self, Rule> {
        if bytes.len() == G::COMPRESSED { Self::parse(bytes) } else { Err(Rule::Length) }
    }

    /// [`Point::parse_compressed`] for each encoding, faster together.
    pub fn parse_compressed_each(encodings: &[&[u8]]) -> Vec<Result<Self, Rule>> {
        Self::parse_compressed_each_on(Backend::fastest(), encodings)
    }

    /// [`Point::parse_compressed_each`] on the given backend, which must be available.
    pub fn parse_compressed_each_on<'a>(backend: Backend, encodings: &[&'a [u8]]) -> Vec<Result<Self, Rule>> {
        let read = |bytes: &&'a [u8]| match bytes.len() == G::COMPRESSED {
            true => Encoding::<G>::read(bytes),
            false => Err(Rule::Length),
        };
        let read: Vec<_> = encodings.iter().map(read).collect();
        let compressed = read.iter().filter_map(|encoding| match encoding {
            Ok(Encoding::Compressed(bytes)) => Some(*bytes),
            _ => None,
        });
        let mut points = backend.uncompress::<G>(&Vec::from_iter(compressed)).into_iter();
        let on_curve = read.into_iter().map(|encoding| match encoding? {
            Encoding::Infinity => Ok(CurvePoint::default()),
            Encoding::Coordinates(x, y) => CurvePoint::new(x, y),
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

    /// x and y; `None` at infinity.
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

    /// The uncompressed encoding.
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

    /// The point multiplied by the scalar.
    pub fn multiply(&self, scalar: &Scalar) -> Self {
        self.multiply_bits(&scalar.little_endian(), Scalar::BITS)
    }

    /// [`Point::multiply`] by a scalar of 128 bits, which takes half the time.
    pub fn multiply_short(&self, scalar: u128) -> Self {
        self.multiply_bits(&scalar.to_le_bytes(), 128)
    }

    fn multiply_bits(&self, scalar: &[u8], bits: usize) -> Self {
        Self(G::to_affine(&G::multiply(&G::to_jacobian(&self.0), scalar, bits)))
    }
}
