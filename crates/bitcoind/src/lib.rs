//! A client for a Bitcoin node's JSON-RPC, as Bitcoin Core serves it, with the calls that a wallet server needs.
//!
//! - A call blocks for at most [`Settings::patience`]; [`Client::wait_for_new_block`] adds its own.
//! - The size of answers is bounded.
//! - Answers are not trusted: callers check the blocks that they accept.
//!
//! ```no_run
//! use std::time::Duration;
//! use turnpike_bitcoind::{Client, Settings};
//!
//! # fn main() -> Result<(), turnpike_bitcoind::Error> {
//! let client = Client::new(Settings {
//!     url: "http://127.0.0.1:8332".to_owned(),
//!     cookie: "/var/lib/bitcoind/.cookie".into(),
//!     patience: Duration::from_secs(30),
//! });
//! let best = client.block_info()?.best;
//! println!("the best block has {} bytes", client.block(&best)?.len());
//! # Ok(())
//! # }
//! ```
//!
//! Start with [`Client`] (`client`); [`Error`] and [`Failure`] (`error`) distinguish an unreachable node from one that
//! refuses a call.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod client;
mod error;
pub mod hex;

pub use client::{BlockInfo, Client, Fees, PackageResult, Settings, TestResult};
pub use error::{Error, Failure};
