//! Verification in lanes: a signature, or a point, in each lane of a [`crate::lanes::Vector`].
//!
//! Everything here is written once for all vectors: AVX-512 IFMA, AVX2 with FMA (two vectors side by side of either),
//! and one plain word for other processors.
//!
//! - [`limbs`], [`kernel`], [`field`] and [`point`] are the arithmetic, each built on the one before it; [`scalar`] is
//!   arithmetic modulo the order, which needs no lanes.
//! - [`combination`] computes u G + v Q with its own point Q in each lane: the core of ECDSA, recovery and a single
//!   Schnorr signature.
//! - [`multiple`] sums multiples of any number of points: the core of a batch of Schnorr signatures.
//!
//! Nothing here is secret, so no computation has to take constant time. But lanes cannot branch separately, so all of
//! them do the same.

// The fuzzers need the model, too; cargo does not know their flag.
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
