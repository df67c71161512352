//! Additions of points in affine coordinates.

use super::Affine;
use crate::bls12_381::field::Field;

/// Adds a few pairs of points at once, given the inverses of their denominators.
pub trait Adder<E: Field>: Copy {
    /// Number of pairs per call.
    const PAIRS: usize;

    /// One number per pair.
    type Numbers: Copy;

    /// A point in memory.
    type Point: Stored + 'static;

    /// Converts points to be added.
    fn store(self, points: &[Affine<E>]) -> Vec<Self::Point>;

    /// Converts sums back.
    fn load(self, points: &[Self::Point]) -> Vec<Affine<E>>;

    /// Ones.
    fn one(self) -> Self::Numbers;

    /// Products, of ones, denominators, their products and the inverses of those.
    fn product(self, left: &Self::Numbers, right: &Self::Numbers) -> Self::Numbers;

    /// The inverses of products; none of the numbers is zero.
    fn inverse(self, numbers: &Self::Numbers) -> Self::Numbers;

    /// The denominators of the slopes. If there are fewer than [`Adder::PAIRS`] pairs, the last one fills the rest.
    fn denominators(self, points: &[Self::Point], pairs: &[Pair]) -> Self::Numbers;

    /// Stores the sums of the pairs at their places, given the inverses of their denominators.
    fn sums(self, points: &mut [Self::Point], pairs: &[Pair], inverses: &Self::Numbers, places: &[u32]);
}

/// A point in the adder's form; infinity by default.
pub trait Stored: Copy + Default {
    /// The point with y negated.
    fn negative(&self) -> Self;

    /// Whether it is infinity.
    fn is_infinity(&self) -> bool;

    /// Whether both have the same x.
    fn has_x_of(&self, other: &Self) -> bool;

    /// Whether both have the same y.
    fn has_y_of(&self, other: &Self) -> bool;
}

/// A point's number times two, plus one for the point's negative.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entry(u32);

/// Two points to be added.
pub type Pair = [Entry; 2];

impl Entry {
    /// No point.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline(always)]
    pub(in crate::bls12_381) fn new(at: usize, is_negative: bool) -> Self {
        Self((at as u32) << 1 | u32::from(is_negative))
    }

    #[inline(always)]
    pub(in crate::bls12_381) fn at(self) -> usize {
        self.0 as usize >> 1
    }

    #[inline(always)]
    pub(in crate::bls12_381) fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    /// The point that it refers to.
    #[inline(always)]
    pub(super) fn resolve<P: Stored>(self, points: &[P]) -> P {
        let point = points[self.at()];
        if self.is_negative() { point.negative() } else { point }
    }
}

impl<E: Field> Stored for Affine<E> {
    fn negative(&self) -> Self {
        Self { x: self.x, y: -self.y }
    }

    #[inline(always)]
    fn is_infinity(&self) -> bool {
        self.x.equals(&E::default()) && self.y.equals(&E::default())
    }

    #[inline(always)]
    fn has_x_of(&self, other: &Self) -> bool {
        self.x.equals(&other.x)
    }

    #[inline(always)]
    fn has_y_of(&self, other: &Self) -> bool {
        self.y.equals(&other.y)
    }
}

/// Sequential additions, on any processor.
#[derive(Clone, Copy)]
pub struct OneByOne;

impl<E: Field> Adder<E> for OneByOne {
    const PAIRS: usize = 1;
    type Numbers = E;
    type Point = Affine<E>;

    fn store(self, points: &[Affine<E>]) -> Vec<Affine<E>> {
        points.to_vec()
    }

    fn load(self, points: &[Affine<E>]) -> Vec<Affine<E>> {
        points.to_vec()
    }

    #[inline(always)]
    fn one(self) -> E {
        E::one()
    }

    #[inline(always)]
    fn product(self, left: &E, right: &E) -> E {
        *left * *right
    }

    #[inline(always)]
    fn inverse(self, number: &E) -> E {
        number.inverse()
    }

    #[inline(always)]
    fn denominators(self, points: &[Affine<E>], pairs: &[Pair]) -> E {
        Terms::new(points, pairs[0]).denominator()
    }

    #[inline(always)]
    fn sums(self, points: &mut [Affine<E>], pairs: &[Pair], inverse: &E, places: &[u32]) {
        let terms = Terms::new(points, pairs[0]);
        let with_slope = || {
            let (left, slope) = (&terms.left, terms.numerator() * *inverse);
            let x = slope.square() - left.x - terms.right.x;
            Affine { x, y: slope * (left.x - x) - left.y }
        };
        points[places[0] as usize] = terms.without_slope().unwrap_or_else(with_slope);
    }
}

/// Two points to be added, with their signs applied.
#[derive(Clone, Copy)]
pub struct Terms<P> {
    left: P,
    right: P,
}

impl<P: Stored> Terms<P> {
    #[inline(always)]
    pub(in crate::bls12_381) fn new(points: &[P], [left, right]: Pair) -> Self {
        Self { left: left.resolve(points), right: right.resolve(points) }
    }

    /// Whether both have the same x.
    pub(in crate::bls12_381) fn have_same_x(&self) -> bool {
        self.left.has_x_of(&self.right)
    }

    /// Whether a point is added to itself. It has a tangent then: no point of odd order is its own negative.
    #[inline(always)]
    pub(in crate::bls12_381) fn is_double(&self) -> bool {
        let Self { left, right } = self;
        left.has_x_of(right) && left.has_y_of(right) && !left.is_infinity()
    }

    /// The sum, if it needs no slope.
    #[inline(always)]
    pub(in crate::bls12_381) fn without_slope(&self) -> Option<P> {
        let Self { left, right } = self;
        if left.is_infinity() {
            Some(*right)
        } else if right.is_infinity() {
            Some(*left)
        } else if left.has_x_of(right) && !left.has_y_of(right) {
            Some(P::default())
        } else {
            None
        }
    }
}

impl<E: Field> Terms<Affine<E>> {
    /// The denominator of the slope of the line through both; an arbitrary nonzero number if the sum needs none.
    #[inline(always)]
    fn denominator(&self) -> E {
        let Self { left, right } = self;
        if !left.x.equals(&right.x) {
            right.x - left.x
        } else if self.is_double() {
            left.y + left.y
        } else {
            E::one()
        }
    }

    /// The numerator of the slope.
    #[inline(always)]
    fn numerator(&self) -> E {
        let Self { left, right } = self;
        if !left.x.equals(&right.x) {
            right.y - left.y
        } else {
            let square = left.x.square();
            square + square + square
        }
    }
}
