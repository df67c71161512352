//! Fp2, an element in each lane: c0 + c1 u with u² = -1.

use ::blst::{blst_fp, blst_fp2};

use super::fp::{Fp, Product};
use crate::lanes::{Mask, Vector};

#[derive(Clone, Copy)]
pub struct Fp2<V> {
    pub(super) c0: Fp<V>,
    pub(super) c1: Fp<V>,
}

impl<V: Vector> Fp2<V> {
    #[inline(always)]
    pub(super) fn zero(any: V) -> Self {
        Self { c0: Fp::zero(any), c1: Fp::zero(any) }
    }

    #[inline(always)]
    pub(super) fn one(any: V) -> Self {
        Self { c0: Fp::one(any), c1: Fp::zero(any) }
    }

    #[inline(always)]
    pub(super) fn any(&self) -> V {
        self.c0.any()
    }

    #[inline(always)]
    pub(super) fn load<'a>(any: V, element: impl Fn(usize) -> &'a blst_fp2) -> Self {
        Self { c0: Fp::load(any, |lane| element(lane).fp[0].l), c1: Fp::load(any, |lane| element(lane).fp[1].l) }
    }

    /// The element of each lane.
    pub(super) fn elements(&self) -> Vec<blst_fp2> {
        let each = self.c0.words().into_iter().zip(self.c1.words());
        each.map(|(c0, c1)| blst_fp2 { fp: [blst_fp { l: c0 }, blst_fp { l: c1 }] }).collect()
    }

    #[inline(always)]
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self { c0: self.c0.plus(&other.c0), c1: self.c1.plus(&other.c1) }
    }

    #[inline(always)]
    pub(super) fn minus(&self, other: &Self) -> Self {
        Self { c0: self.c0.minus(&other.c0), c1: self.c1.minus(&other.c1) }
    }

    #[inline(always)]
    pub(super) fn twice(&self) -> Self {
        self.plus(self)
    }

    #[inline(always)]
    pub(super) fn thrice(&self) -> Self {
        self.twice().plus(self)
    }

    /// 1 + u times the element.
    #[inline(always)]
    pub(super) fn times_xi(&self) -> Self {
        Self { c0: self.c0.minus(&self.c1), c1: self.c0.plus(&self.c1) }
    }

    #[inline(always)]
    pub(super) fn conjugate(&self) -> Self {
        Self { c0: self.c0, c1: Fp::zero(self.any()).minus(&self.c1) }
    }

    /// See [`Fp::folded`].
    #[inline(always)]
    pub(super) fn folded(&self) -> Self {
        Self { c0: self.c0.folded(), c1: self.c1.folded() }
    }

    #[inline(always)]
    pub(super) fn or_if(&self, mask: Mask, other: &Self) -> Self {
        Self { c0: self.c0.or_if(mask, &other.c0), c1: self.c1.or_if(mask, &other.c1) }
    }

    #[inline(always)]
    pub(super) fn multiply(&self, other: &Self) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let left = Self { c0: self.c0.tight(), c1: self.c1.tight() };
                let [c0, c1] = left.times(&Self { c0: other.c0.tight(), c1: other.c1.tight() });
                Self { c0: c0.reduced(), c1: c1.reduced() }
            },
        )
    }

    /// By Karatsuba's method: three products, whose sums take two reductions.
    #[inline(always)]
    fn times(&self, other: &Self) -> [Product<V>; 2] {
        let (a, b, c, d) = (&self.c0, &self.c1, &other.c0, &other.c1);
        let (ac, bd) = (a.times(c), b.times(d));
        let sums = a.plus(b).carried().times(&c.plus(d).carried());
        [ac.minus(&bd), sums.minus(&ac).minus(&bd)]
    }

    /// The product of elements with tight coefficients; its own are, too.
    #[inline(always)]
    pub(super) fn multiply_tight(&self, other: &Self) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let [c0, c1] = self.times(other);
                Self { c0: c0.biased().reduced(), c1: c1.biased().reduced() }
            },
        )
    }

    /// The square of an element with tight coefficients; its own are, too.
    #[inline(always)]
    pub(super) fn square_tight(&self) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let (a, b) = (&self.c0, &self.c1);
                let c0 = a.plus(b).carried().multiply_tight(&a.minus(b).tight());
                Self { c0, c1: a.plus(a).carried().multiply_tight(b) }
            },
        )
    }

    /// Two products and two reductions.
    #[inline(always)]
    pub(super) fn square(&self) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let (a, b) = (self.c0.tight(), self.c1.tight());
                let c0 = a.plus(&b).carried().multiply_tight(&self.c0.minus(&self.c1).tight());
                let c1 = a.plus(&a).carried().multiply_tight(&b);
                Self { c0, c1 }
            },
        )
    }

    /// The product with an element of the field of p elements.
    #[inline(always)]
    pub(super) fn multiply_fp(&self, factor: &Fp<V>) -> Self {
        self.any().call(
            #[inline(always)]
            || {
                let factor = factor.tight();
                Self { c0: self.c0.tight().multiply_tight(&factor), c1: self.c1.tight().multiply_tight(&factor) }
            },
        )
    }
}
