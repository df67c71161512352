//! Fp12, an element in each lane: c0 + c1 w over Fp6, with w² = v.

use ::blst::{blst_fp2, blst_fp6, blst_fp12, blst_fp12_frobenius_map};

use super::fp2::Fp2;
use super::fp6::Fp6;
use crate::bls12_381::Fp as Element;
use crate::bls12_381::portable::result;
use crate::lanes::Vector;

#[derive(Clone, Copy)]
pub(super) struct Fp12<V> {
    c0: Fp6<V>,
    c1: Fp6<V>,
}

/// The value of a line: c0 + c1 v + c2 v w.
#[derive(Clone, Copy)]
pub(super) struct Line<V> {
    pub(super) c0: Fp2<V>,
    pub(super) c1: Fp2<V>,
    pub(super) c2: Fp2<V>,
}

impl<V: Vector> Fp12<V> {
    #[inline(always)]
    pub(super) fn one(any: V) -> Self {
        let zero = Fp2::zero(any);
        Self { c0: Fp6 { c0: Fp2::one(any), c1: zero, c2: zero }, c1: Fp6 { c0: zero, c1: zero, c2: zero } }
    }

    #[inline(always)]
    pub(super) fn any(&self) -> V {
        self.c0.c0.any()
    }

    /// An element for each lane.
    #[inline(always)]
    pub(super) fn load<'a>(any: V, element: impl Fn(usize) -> &'a blst_fp12) -> Self {
        Self { c0: Fp6::load(any, |lane| &element(lane).fp6[0]), c1: Fp6::load(any, |lane| &element(lane).fp6[1]) }
    }

    /// The element of each lane.
    pub(super) fn elements(&self) -> Vec<blst_fp12> {
        let sixth = |half: &Fp6<V>| [half.c0.elements(), half.c1.elements(), half.c2.elements()];
        let halves = [sixth(&self.c0), sixth(&self.c1)];
        let half = |half: &[Vec<_>; 3], lane: usize| blst_fp6 { fp2: [half[0][lane], half[1][lane], half[2][lane]] };
        (0..V::LANES).map(|lane| blst_fp12 { fp6: [half(&halves[0], lane), half(&halves[1], lane)] }).collect()
    }

    /// The element to the power of p^6; in the cyclotomic subgroup, its inverse.
    #[inline(always)]
    pub(super) fn conjugate(&self) -> Self {
        let zero = Fp2::zero(self.any());
        Self { c0: self.c0, c1: Fp6 { c0: zero, c1: zero, c2: zero }.minus(&self.c1) }
    }

    /// By Karatsuba's method: three products in Fp6.
    #[inline(always)]
    pub(super) fn multiply(&self, other: &Self) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let (lower, upper) = (self.c0.multiply(&other.c0), self.c1.multiply(&other.c1));
                let sums = self.c0.plus(&self.c1).multiply(&other.c0.plus(&other.c1));
                Self { c0: lower.plus(&upper.times_v()).folded(), c1: sums.minus(&lower).minus(&upper).folded() }
            },
        )
    }

    /// The square of an element of the cyclotomic subgroup, by nine squares in Fp2 (Granger, Scott: Faster Squaring in
    /// the Cyclotomic Subgroup of Sixth Degree Extensions).
    #[inline(always)]
    pub(super) fn cyclotomic_square(&self) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let (a, b) = (&self.c0, &self.c1);
                let (t0, t1) = square_fp4(&a.c0, &b.c1);
                let (t2, t3) = square_fp4(&b.c0, &a.c2);
                let (t4, t5) = square_fp4(&a.c1, &b.c2);
                let (even, odd) = (Fp6 { c0: t0, c1: t2, c2: t4 }, Fp6 { c0: t5.times_xi(), c1: t1, c2: t3 });
                Self {
                    c0: even.plus(&even).plus(&even).minus(&a.plus(a)).folded(),
                    c1: odd.plus(&odd).plus(&odd).plus(&b.plus(b)).folded(),
                }
            },
        )
    }

    /// The element to the power of p^n, with [`Self::frobenius_factors`] of that n.
    #[inline(always)]
    pub(super) fn frobenius(&self, n: usize, factors: &Self) -> Self {
        let Self { c0, c1 } = if n.is_multiple_of(2) {
            *self
        } else {
            Self { c0: self.c0.conjugate_each(), c1: self.c1.conjugate_each() }
        };
        Self { c0: c0.multiply_each(&factors.c0), c1: c1.multiply_each(&factors.c1) }
    }

    /// The factors of the powers v^i w^j when they are raised to the power of p^n.
    #[inline(always)]
    pub(super) fn frobenius_factors(any: V, n: usize) -> Self {
        let one = blst_fp2 { fp: [Element::one().0, Element::default().0] };
        let ones = blst_fp12 { fp6: [blst_fp6 { fp2: [one; 3] }; 2] };
        let factors: blst_fp12 = result!(blst_fp12_frobenius_map(&ones, n));
        Self::load(any, |_| &factors)
    }

    /// Two products in Fp6.
    #[inline(always)]
    pub(super) fn square(&self) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let product = self.c0.multiply(&self.c1);
                let sums = self.c0.plus(&self.c1).multiply(&self.c0.plus(&self.c1.times_v()));
                Self { c0: sums.minus(&product).minus(&product.times_v()), c1: product.plus(&product) }
            },
        )
    }

    /// 13 products in Fp2.
    #[inline(always)]
    pub(super) fn multiply_line(&self, line: &Line<V>) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let lower = self.c0.multiply_two(&line.c0, &line.c1);
                let upper = self.c1.multiply_one(&line.c2);
                let sums = self.c0.plus(&self.c1).multiply_two(&line.c0, &line.c1.plus(&line.c2));
                Self { c0: lower.plus(&upper.times_v()), c1: sums.minus(&lower).minus(&upper) }
            },
        )
    }
}

/// The square of a + b s with s² = u + 1.
#[inline(always)]
fn square_fp4<V: Vector>(a: &Fp2<V>, b: &Fp2<V>) -> (Fp2<V>, Fp2<V>) {
    let (aa, bb) = (a.square(), b.square());
    (aa.plus(&bb.times_xi()), a.plus(b).square().minus(&aa).minus(&bb))
}
