//! The verification engines for C: the functions of `include/turnpike_verify.h`, which documents them.
//!
//! Each function does three things: it turns pointers into slices (`memory`), calls the [`shared`] verifier, and turns
//! the outcome, including a panic, into a [`Status`].

#![allow(non_camel_case_types)]

mod delay;
mod functions;
mod memory;
mod policy;
mod status;
mod text;

pub use delay::*;
pub use functions::*;
pub use memory::Items;
pub use policy::EcdsaPolicy;
pub use shared::{Backend, RuleCode, Scheme, Verifier};
pub use status::Status;
pub use text::*;

/// The code of an item that breaks no rule.
pub const TURNPIKE_VALID: u8 = 0;

/// The code of an item that was not verified, because the call did not complete.
pub const TURNPIKE_NOT_VERIFIED: u8 = 255;

const _: () = assert!(TURNPIKE_VALID == shared::VALID && TURNPIKE_NOT_VERIFIED == shared::NOT_VERIFIED);
