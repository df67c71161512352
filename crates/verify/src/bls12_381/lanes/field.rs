//! What [`Fp`] and [`Fp2`] have in common.

use super::{Fp, Fp2};
use crate::bls12_381 as scalar;
use crate::lanes::{Mask, Vector};

/// An element of a field in each lane.
pub trait Lanes<V: Vector, E>: Copy {
    /// An element for each lane.
    fn load(any: V, element: impl Fn(usize) -> E) -> Self;

    /// The element of each lane.
    fn elements(&self) -> Vec<E>;

    /// One in all lanes.
    fn one(any: V) -> Self;

    /// The difference.
    fn minus(&self, other: &Self) -> Self;

    /// The product.
    fn multiply(&self, other: &Self) -> Self;

    /// `other` in the lanes of the mask.
    fn or_if(&self, mask: Mask, other: &Self) -> Self;
}

impl<V: Vector> Lanes<V, scalar::Fp> for Fp<V> {
    #[inline(always)]
    fn load(any: V, element: impl Fn(usize) -> scalar::Fp) -> Self {
        Self::load(any, |lane| element(lane).0.l)
    }

    fn elements(&self) -> Vec<scalar::Fp> {
        self.words().into_iter().map(|l| scalar::Fp(::blst::blst_fp { l })).collect()
    }

    #[inline(always)]
    fn one(any: V) -> Self {
        Self::one(any)
    }

    #[inline(always)]
    fn minus(&self, other: &Self) -> Self {
        self.minus(other)
    }

    #[inline(always)]
    fn multiply(&self, other: &Self) -> Self {
        self.any().call(
            #[inline(always)]
            || self.tight().multiply_tight(&other.tight()),
        )
    }

    #[inline(always)]
    fn or_if(&self, mask: Mask, other: &Self) -> Self {
        self.or_if(mask, other)
    }
}

impl<V: Vector> Lanes<V, scalar::Fp2> for Fp2<V> {
    #[inline(always)]
    fn load(any: V, element: impl Fn(usize) -> scalar::Fp2) -> Self {
        Self { c0: Fp::load(any, |lane| element(lane).0.fp[0].l), c1: Fp::load(any, |lane| element(lane).0.fp[1].l) }
    }

    fn elements(&self) -> Vec<scalar::Fp2> {
        self.elements().into_iter().map(scalar::Fp2).collect()
    }

    #[inline(always)]
    fn one(any: V) -> Self {
        Self::one(any)
    }

    #[inline(always)]
    fn minus(&self, other: &Self) -> Self {
        self.minus(other)
    }

    #[inline(always)]
    fn multiply(&self, other: &Self) -> Self {
        self.multiply(other)
    }

    #[inline(always)]
    fn or_if(&self, mask: Mask, other: &Self) -> Self {
        self.or_if(mask, other)
    }
}
