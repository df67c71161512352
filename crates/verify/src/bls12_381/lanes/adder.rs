//! Additions of points in affine coordinates, one in each lane.

use super::Lanes;
use crate::bls12_381::field::Field;
use crate::bls12_381::pippenger::{Adder, Affine, Terms};
use crate::lanes::{Mask, Vector, mask};

/// Adds as many pairs at once as a vector has lanes.
#[derive(Clone, Copy)]
pub(in crate::bls12_381) struct InLanes<V>(pub(in crate::bls12_381) V);

impl<V: Vector, E: Field> Adder<E> for InLanes<V> {
    const PAIRS: usize = V::LANES;
    type Numbers = E::Lanes<V>;

    fn one(self) -> Self::Numbers {
        self.0.call(
            #[inline(always)]
            || E::Lanes::one(self.0),
        )
    }

    fn product(self, left: &Self::Numbers, right: &Self::Numbers) -> Self::Numbers {
        left.multiply(right)
    }

    fn inverse(self, numbers: &Self::Numbers) -> Self::Numbers {
        numbers.inverse()
    }

    fn denominators<'a>(self, terms: impl Fn(usize) -> Terms<'a, E>) -> Self::Numbers
    where
        E: 'a,
    {
        self.0.call(
            #[inline(always)]
            || {
                let left = E::Lanes::load(self.0, |lane| terms(lane).left.x);
                let right = E::Lanes::load(self.0, |lane| terms(lane).right.x);
                let special = special::<V, E>(&terms);
                let denominators = right.minus(&left);
                if special == 0 {
                    return denominators;
                }
                denominators.or_if(special, &E::Lanes::load(self.0, |lane| terms(lane).denominator()))
            },
        )
    }

    fn sums<'a>(
        self,
        terms: impl Fn(usize) -> Terms<'a, E>,
        inverses: &Self::Numbers,
        mut sum: impl FnMut(usize, Affine<E>),
    ) where
        E: 'a,
    {
        let (x, y) = self.0.call(
            #[inline(always)]
            || {
                let coordinate = |of: &dyn Fn(Terms<'a, E>) -> E| E::Lanes::load(self.0, |lane| of(terms(lane)));
                let (x1, y1) = (coordinate(&|terms| terms.left.x), coordinate(&|terms| terms.left.y));
                let (x2, y2) = (coordinate(&|terms| terms.right.x), coordinate(&|terms| terms.right.y));
                let mut numerators = y2.minus(&y1);
                let special = special::<V, E>(&terms);
                if special != 0 {
                    numerators = numerators.or_if(special, &coordinate(&|terms| terms.numerator()));
                }
                let slope = numerators.multiply(inverses);
                let x = slope.square().minus(&x1).minus(&x2);
                let y = slope.multiply(&x1.minus(&x)).minus(&y1);
                (x, y)
            },
        );
        for (lane, (x, y)) in x.elements().into_iter().zip(y.elements()).enumerate() {
            sum(lane, terms(lane).without_slope().unwrap_or(Affine { x, y }));
        }
    }
}

/// Where the numbers for the slope are not the differences of coordinates.
#[inline(always)]
fn special<'a, V: Vector, E: Field + 'a>(terms: impl Fn(usize) -> Terms<'a, E>) -> Mask {
    mask::<V>(|lane| terms(lane).left.x.equals(&terms(lane).right.x))
}
