//! Verification in lanes: a signature, or a point, in each lane of a [`Vector`]. Everything here is written once for all
//! vectors: those of AVX-512 IFMA, of which two are used side by side, and one plain word for processors without them.
//!
//! - [`field`] and [`point`] are the arithmetic, [`scalar`] that of numbers modulo the order, which takes no lanes.
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
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(any(test, fuzzing))]
mod model;
mod multiple;
mod plain;
mod point;
mod scalar;
pub(super) mod schnorr;
mod table;
mod vector;

#[cfg(target_arch = "x86_64")]
pub(super) use ifma::Ifma;
#[cfg(any(test, fuzzing))]
pub(super) use model::Model;
pub(super) use plain::Plain;
pub(super) use vector::Vector;

/// Whether this processor has AVX-512 IFMA.
pub(super) fn has_ifma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return ifma::is_available();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(test)]
mod tests;
