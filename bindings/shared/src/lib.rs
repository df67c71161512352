//! The verification engines over plain memory: shared by the C and the Python binding.
//!
//! Both bindings pass contiguous items ([`Items`]), and get a code for each: [`VALID`], or the [`RuleCode`] of the
//! first rule that the item breaks. A [`Verifier`] holds the choice of a [`Backend`] and the threads; a [`Call`] of it
//! can be stopped. Nothing here is `unsafe`; the bindings handle pointers and buffers.

mod backend;
mod bls12_381;
mod call;
mod delay;
mod equihash;
mod error;
mod items;
mod parsed;
mod secp256k1;
mod sha256;
mod verifier;

pub use backend::{Backend, Scheme};
pub use call::Call;
pub use delay::{DelayError, delay, evaluate_delay, verify_delay};
pub use error::Error;
pub use items::Items;
pub use secp256k1::{Policy, policy};
pub use sha256::{Function, Root};
pub use verifier::Verifier;
pub use verify::RuleCode;
pub use verify::bls12_381::groth16::VerifyingKey;
pub use verify::equihash::ZCASH_HEADER_LENGTH;
pub use verify::sha256::{Digest, Tag};
pub use verify::vdf::{Delay, EvaluateError, Evaluated, Modulus};

/// The code of an item that breaks no rule.
pub const VALID: u8 = 0;

/// The code of an item that was not verified. All codes are set to it first, so that a call that did not complete
/// leaves no item that appears valid.
pub const NOT_VERIFIED: u8 = 255;

fn code(verdict: Result<(), RuleCode>) -> u8 {
    verdict.err().map_or(VALID, |rule| rule as u8)
}
