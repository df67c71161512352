//! A Bitcoin node, asked by its JSON-RPC as Bitcoin Core serves it: what a server of wallets needs of one.
//!
//! Calls block. Replies are bounded, and what a node says is not trusted: who takes blocks of it checks them.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod client;
mod error;
pub mod hex;

pub use client::{BlockInfo, Client, Fees, PackageResult, Settings, TestResult};
pub use error::{Error, Failure};
