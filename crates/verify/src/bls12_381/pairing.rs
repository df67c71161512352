//! Pairings: the optimal ate pairing, to the power of 3 as [`Fp12::final_exponentiation`] has it.

use ::blst::{blst_p1_affine, blst_p2_affine};

use super::backend::Backend;
use super::{Fp12, G1, G2, Point, portable};

/// What is paired.
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

/// Whether a product of pairings is one. It is where there are none.
pub fn is_product_one(pairs: &[Pair]) -> bool {
    multi_pairing(pairs).is_one()
}

/// The product of Miller loops: what is left of a product of pairings before the final exponentiation. A pair with a point at
/// infinity counts as one.
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
