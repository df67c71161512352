//! Verification in lanes: a signature, or a point, in each lane of a [`crate::lanes::Vector`]. Everything here is written once for all
//! vectors: those of AVX-512 IFMA and of AVX2 with FMA, of which two are used side by side, and one plain word for processors without.
//!
//! - [`limbs`], [`kernel`], [`field`] and [`point`] are the arithmetic, each over the one before it; [`scalar`] is that
//!   of numbers modulo the order, which takes no lanes.
//! - [`combination`] is u G + v Q with a point Q of its own in each lane: what ECDSA, recovery and a single Schnorr signature
//!   come down to.
//! - [`multiple`] is a sum of multiples of any number of points: what a batch of Schnorr signatures comes down to.
//!
//! None of this is secret, so nothing has to take the same time for all numbers. But lanes cannot branch apart, so all of
//! them do the same.

// The fuzzers have the model too; cargo does not know their flag.
#![allow(unexpected_cfgs)]

mod combination;
pub(super) mod ecdsa;
mod field;
mod inverse;
mod kernel;
mod limbs;
mod multiple;
mod point;
mod scalar;
pub(super) mod schnorr;
mod table;

pub(super) use kernel::Kernel;

#[cfg(test)]
mod tests;
