//! The client library for C: the functions of `include/turnpike.h`, which documents them.
//!
//! A function turns pointers into slices (`memory`), does its work with the Rust client, and turns the outcome,
//! including a panic, into a [`ClientStatus`] and an [`Error`] (`error`).
//!
//! Operations take a connection from the `pool`, or join the next frame of one that is in use; `frames` sends the
//! frames. Reads (`info`, `chain`, `proofs`) use [`client::Client`] over a connection of the same pool.

#![allow(non_camel_case_types)]

mod chain;
mod client_handle;
mod codes;
mod error;
mod failure;
mod frames;
mod id;
mod info;
mod memory;
mod operation;
mod options;
mod outcome;
mod pool;
mod proofs;
mod signer;
mod submit;
mod text;

pub use chain::*;
pub use client_handle::*;
pub use codes::{ClientStatus, Command, Promise};
pub use error::Error;
pub use id::*;
pub use info::*;
pub use operation::*;
pub use options::Options;
pub use outcome::{Execution, OperationResult};
pub use proofs::*;
pub use signer::*;
pub use submit::*;
pub use text::*;
