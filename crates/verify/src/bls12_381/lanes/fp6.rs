//! Fp6, an element in each lane: c0 + c1 v + c2 v² over Fp2, with v³ = u + 1.

use ::blst::blst_fp6;

use super::fp2::Fp2;
use crate::lanes::Vector;

#[derive(Clone, Copy)]
pub(super) struct Fp6<V> {
    pub(super) c0: Fp2<V>,
    pub(super) c1: Fp2<V>,
    pub(super) c2: Fp2<V>,
}

impl<V: Vector> Fp6<V> {
    /// An element for each lane.
    #[inline(always)]
    pub(super) fn load<'a>(any: V, element: impl Fn(usize) -> &'a blst_fp6) -> Self {
        Self {
            c0: Fp2::load(any, |lane| &element(lane).fp2[0]),
            c1: Fp2::load(any, |lane| &element(lane).fp2[1]),
            c2: Fp2::load(any, |lane| &element(lane).fp2[2]),
        }
    }

    #[inline(always)]
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self { c0: self.c0.plus(&other.c0), c1: self.c1.plus(&other.c1), c2: self.c2.plus(&other.c2) }
    }

    #[inline(always)]
    pub(super) fn minus(&self, other: &Self) -> Self {
        Self { c0: self.c0.minus(&other.c0), c1: self.c1.minus(&other.c1), c2: self.c2.minus(&other.c2) }
    }

    /// See [`super::fp::Fp::folded`].
    #[inline(always)]
    pub(super) fn folded(&self) -> Self {
        Self { c0: self.c0.folded(), c1: self.c1.folded(), c2: self.c2.folded() }
    }

    /// The conjugate of each coefficient.
    #[inline(always)]
    pub(super) fn conjugate_each(&self) -> Self {
        Self { c0: self.c0.conjugate(), c1: self.c1.conjugate(), c2: self.c2.conjugate() }
    }

    /// Each coefficient multiplied by the one at its place.
    #[inline(always)]
    pub(super) fn multiply_each(&self, factors: &Self) -> Self {
        let Self { c0, c1, c2 } = self;
        Self { c0: c0.multiply(&factors.c0), c1: c1.multiply(&factors.c1), c2: c2.multiply(&factors.c2) }
    }

    #[inline(always)]
    pub(super) fn times_v(&self) -> Self {
        Self { c0: self.c2.times_xi(), c1: self.c0, c2: self.c1 }
    }

    /// By Karatsuba's method: six products in Fp2.
    #[inline(always)]
    pub(super) fn multiply(&self, other: &Self) -> Self {
        self.c0.any().call(
            #[inline(always)]
            || {
                let (a, b) = (self, other);
                let (v0, v1, v2) = (a.c0.multiply(&b.c0), a.c1.multiply(&b.c1), a.c2.multiply(&b.c2));
                let v12 = a.c1.plus(&a.c2).multiply(&b.c1.plus(&b.c2)).minus(&v1).minus(&v2);
                let v01 = a.c0.plus(&a.c1).multiply(&b.c0.plus(&b.c1)).minus(&v0).minus(&v1);
                let v02 = a.c0.plus(&a.c2).multiply(&b.c0.plus(&b.c2)).minus(&v0).minus(&v2);
                Self { c0: v0.plus(&v12.times_xi()), c1: v01.plus(&v2.times_xi()), c2: v02.plus(&v1) }
            },
        )
    }

    /// The product with b0 + b1 v.
    #[inline(always)]
    pub(super) fn multiply_two(&self, b0: &Fp2<V>, b1: &Fp2<V>) -> Self {
        self.c0.any().call(
            #[inline(always)]
            || {
                let (v0, v1) = (self.c0.multiply(b0), self.c1.multiply(b1));
                let v01 = self.c0.plus(&self.c1).multiply(&b0.plus(b1)).minus(&v0).minus(&v1);
                let c0 = v0.plus(&self.c2.multiply(b1).times_xi());
                Self { c0, c1: v01, c2: v1.plus(&self.c2.multiply(b0)) }
            },
        )
    }

    /// The product with b v.
    #[inline(always)]
    pub(super) fn multiply_one(&self, b: &Fp2<V>) -> Self {
        Self { c0: self.c2.multiply(b).times_xi(), c1: self.c0.multiply(b), c2: self.c1.multiply(b) }
    }
}
