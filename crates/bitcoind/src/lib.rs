//! A client for a Bitcoin node's JSON-RPC, as Bitcoin Core serves it, with the calls that a wallet server needs.
//!
//! Calls block. The size of answers is bounded. What a node says is not trusted: callers check the blocks they take.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod client;
mod error;
pub mod hex;

pub use client::{BlockInfo, Client, Fees, PackageResult, Settings, TestResult};
pub use error::{Error, Failure};
