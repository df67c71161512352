//! Additions of points in affine coordinates.

use super::Affine;
use crate::bls12_381::field::Field;

/// Adds a few pairs of points at once, by the inverses of their denominators.
pub trait Adder<E: Field>: Copy {
    /// How many.
    const PAIRS: usize;

    /// A number for each of them.
    type Numbers: Copy;

    /// Ones.
    fn one(self) -> Self::Numbers;

    /// The products.
    fn product(self, left: &Self::Numbers, right: &Self::Numbers) -> Self::Numbers;

    /// The inverses; none of the numbers is zero.
    fn inverse(self, numbers: &Self::Numbers) -> Self::Numbers;

    /// The denominators of the slopes.
    fn denominators<'a>(self, terms: impl Fn(usize) -> Terms<'a, E>) -> Self::Numbers
    where
        E: 'a;

    /// Calls `sum` with the number and the sum of each pair.
    fn sums<'a>(
        self,
        terms: impl Fn(usize) -> Terms<'a, E>,
        inverses: &Self::Numbers,
        sum: impl FnMut(usize, Affine<E>),
    ) where
        E: 'a;
}

/// One addition after the other, on any processor.
#[derive(Clone, Copy)]
pub struct OneByOne;

impl<E: Field> Adder<E> for OneByOne {
    const PAIRS: usize = 1;
    type Numbers = E;

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
    fn denominators<'a>(self, terms: impl Fn(usize) -> Terms<'a, E>) -> E
    where
        E: 'a,
    {
        terms(0).denominator()
    }

    #[inline(always)]
    fn sums<'a>(self, terms: impl Fn(usize) -> Terms<'a, E>, inverse: &E, mut sum: impl FnMut(usize, Affine<E>))
    where
        E: 'a,
    {
        let terms = terms(0);
        let with_slope = || {
            let (left, slope) = (terms.left, terms.numerator() * *inverse);
            let x = slope.square() - left.x - terms.right.x;
            Affine { x, y: slope * (left.x - x) - left.y }
        };
        sum(0, terms.without_slope().unwrap_or_else(with_slope));
    }
}

/// Two points to be added.
#[derive(Clone, Copy)]
pub struct Terms<'a, E> {
    pub(in crate::bls12_381) left: &'a Affine<E>,
    pub(in crate::bls12_381) right: &'a Affine<E>,
}

impl<E: Field> Terms<'_, E> {
    /// The denominator of the slope of the line through both; any number but zero if the sum takes none.
    #[inline(always)]
    pub(in crate::bls12_381) fn denominator(&self) -> E {
        let Self { left, right } = self;
        if !left.x.equals(&right.x) {
            right.x - left.x
        } else if left.y.equals(&right.y) && !left.is_infinity() {
            // Not zero: no point of an odd order is its own negative.
            left.y + left.y
        } else {
            E::one()
        }
    }

    /// The numerator of the slope.
    #[inline(always)]
    pub(in crate::bls12_381) fn numerator(&self) -> E {
        let Self { left, right } = self;
        if !left.x.equals(&right.x) {
            right.y - left.y
        } else {
            let square = left.x.square();
            square + square + square
        }
    }

    /// The sum, where it takes no slope.
    #[inline(always)]
    pub(in crate::bls12_381) fn without_slope(&self) -> Option<Affine<E>> {
        let Self { left, right } = self;
        if left.is_infinity() {
            Some(**right)
        } else if right.is_infinity() {
            Some(**left)
        } else if left.x.equals(&right.x) && !left.y.equals(&right.y) {
            Some(Affine::default())
        } else {
            None
        }
    }
}
