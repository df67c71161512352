//! Pairings: the optimal ate pairing, to the power of 3 as [`Fp12::final_exponentiation`] has it.

use ::blst::{blst_p1_affine, blst_p2_affine};

use super::backend::Backend;
use super::{Fp12, G1, G2, Point, portable};

/// The arguments of a pairing.
pub type Pair = (Point<G1>, Point<G2>);

/// The pairing of two points.
pub fn pairing(left: &Point<G1>, right: &Point<G2>) -> Fp12 {
    multi_pairing(&[(*left, *right)])
}

/// The pairing of each pair.
pub fn pairings(pairs: &[Pair]) -> Vec<Fp12> {
    let mut values = Backend::fastest().pairings(&finite(pairs)).into_iter().map(Fp12);
    // The default is one.
    pairs.iter().map(|pair| if is_finite(pair) { values.next() } else { None }.unwrap_or_default()).collect()
}

/// The product of pairings.
pub fn multi_pairing(pairs: &[Pair]) -> Fp12 {
    Fp12(Backend::fastest().miller_loop(&finite(pairs))).final_exponentiation()
}

/// Whether a product of pairings is one. The empty product is.
pub fn is_product_one(pairs: &[Pair]) -> bool {
    is_product_one_on(Backend::fastest(), pairs)
}

pub(super) fn is_product_one_on(backend: Backend, pairs: &[Pair]) -> bool {
    Product::new(backend, pairs).is_one()
}

/// A product of pairings, computed in parts. The empty product is one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Product(Fp12);

impl Product {
    /// The product of these pairings, on a backend that is available.
    pub fn new(backend: Backend, pairs: &[Pair]) -> Self {
        Self(Fp12(backend.miller_loop(&finite(pairs))))
    }

    /// The product of both.
    pub fn times(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }

    /// Whether it is one; this takes as long as a few pairs.
    pub fn is_one(self) -> bool {
        self.0.final_exponentiation().is_one()
    }
}

/// The product of Miller loops: a product of pairings before the final exponentiation. A pair with a point at infinity
/// counts as one.
pub fn miller_loop(pairs: &[Pair]) -> Fp12 {
    Fp12(portable::miller_loop(&finite(pairs)))
}

/// The pairs without a point at infinity.
pub(super) fn finite(pairs: &[Pair]) -> Vec<(&blst_p1_affine, &blst_p2_affine)> {
    pairs.iter().filter(|pair| is_finite(pair)).map(|(left, right)| (&left.0, &right.0)).collect()
}

fn is_finite((left, right): &Pair) -> bool {
    !left.is_infinity() && !right.is_infinity()
}
