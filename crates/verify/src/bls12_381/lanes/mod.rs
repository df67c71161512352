//! BLS12-381 in lanes: a pair, or a field element, in each lane of a [`crate::lanes::Vector`].
//!
//! - [`fp`], [`fp2`], [`fp6`] and [`fp12`] are the fields, each built on the one before it; [`bound`] shows why nothing
//!   overflows.
//! - [`root`] takes square roots; [`curve`] has the curves' formulas and endomorphisms.
//! - [`encoding`] decodes compressed points and checks which are in the subgroup.
//! - [`multiples`] multiplies many points; [`adder`] adds them in affine coordinates, for sums of multiples.
//! - [`products`] multiplies many field elements.
//! - [`miller`] computes the product of the Miller loops of many pairs, [`pairing`] the pairing of each.
//!
//! Nothing here is secret, so no computation has to take constant time. But lanes cannot branch separately, so all of
//! them do the same.

mod adder;
mod bound;
mod curve;
mod encoding;
mod field;
mod fp;
mod fp12;
mod fp2;
mod fp6;
mod miller;
mod multiples;
mod pairing;
pub(super) mod products;
mod root;

pub(super) use adder::InLanes;
pub(super) use curve::Curve;
pub(super) use encoding::{are_in_subgroup, uncompress};
pub(super) use field::Lanes;
pub(super) use fp::Fp;
pub(super) use fp2::Fp2;
pub(super) use miller::miller_loop;
pub(super) use multiples::multiply_each;
pub(super) use pairing::pairings;
pub(super) use root::Root;

#[cfg(test)]
mod counts;
#[cfg(test)]
mod tests;
