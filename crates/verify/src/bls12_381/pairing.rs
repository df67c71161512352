//! Pairings: the optimal ate pairing, to the power of 3 as [`Fp12::final_exponentiation`] has it.

use super::{Fp12, G1, G2, Point, portable};

/// What is paired.
pub type Pair = (Point<G1>, Point<G2>);

/// The pairing of two points.
pub fn pairing(left: &Point<G1>, right: &Point<G2>) -> Fp12 {
    multi_pairing(&[(*left, *right)])
}

/// The product of pairings.
pub fn multi_pairing(pairs: &[Pair]) -> Fp12 {
    miller_loop(pairs).final_exponentiation()
}

/// Whether a product of pairings is one. It is where there are none.
pub fn is_product_one(pairs: &[Pair]) -> bool {
    multi_pairing(pairs).is_one()
}

/// The product of Miller loops: what is left of a product of pairings before the final exponentiation. A pair with a point at
/// infinity counts as one.
pub fn miller_loop(pairs: &[Pair]) -> Fp12 {
    let finite = pairs.iter().filter(|(left, right)| !left.is_infinity() && !right.is_infinity());
    Fp12(portable::miller_loop(&Vec::from_iter(finite.map(|(left, right)| (&left.0, &right.0)))))
}
