//! The client library: batching, retries, header synchronisation, proof checks.
//!
//! [`Client`] sends one request at a time and is all that most programs need:
//!
//! ```no_run
//! use turnpike_client::{Client, Options};
//! # fn main() -> Result<(), turnpike_client::Error> {
//! let mut client = Client::connect("127.0.0.1:7400".parse().unwrap(), &Options::default())?;
//! let (alice, bob) = (1_u32.into(), 2_u32.into());
//! client.create(alice)?;
//! client.create(bob)?;
//! client.issue(alice, 1000)?;
//! let receipt = client.transfer(alice, bob, 50)?;
//! println!("{} is {}, the sender has {} left", receipt.transaction, receipt.promise, receipt.value);
//! # Ok(())
//! # }
//! ```
//!
//! [`Pipeline`] keeps many datagrams in flight and allocates nothing per operation; [`load`] generates load with it.
//! Both are built on [`Window`], which tracks the requests in flight and when to repeat them. It uses neither sockets
//! nor clocks, so that a simulator can drive it, too.
//!
//! Proofs are checked against headers, and headers against the chain's key or its replicas, so a node cannot forge
//! them. A retry carries the transaction id of its first attempt, by which the node recognises it.
//!
//! Start with [`Client`] (`client`) and [`Window`] (`window`); `proofs`, `headers` and `finality` check replies.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod client;
mod error;
mod feed;
mod finality;
mod headers;
mod history;
pub mod load;
mod local;
mod options;
mod pipeline;
mod proofs;
mod seals;
mod signer;
mod socket;
mod stream;
mod verify;
mod window;

pub use self::verify::{Check, Verdict};
pub use client::{Client, Receipt};
pub use error::Error;
pub use feed::{Feed, FeedPart};
pub use finality::Finality;
pub use headers::{Fork, Reorganised, Tip};
pub use history::{AssetPage, HistoryFilter, HistoryPage, PastTransaction, Role};
pub use local::connected;
pub use options::Options;
pub use pipeline::Pipeline;
pub use proofs::{ProvedBitcoin, ProvedEntry, ProvedTransaction, bitcoin_proof};
pub use seals::SealBatches;
pub use signer::{Signer, bind};
pub use window::{BatchDraft, Completion, Draft, Failure, Limits, Outgoing, Window};

use std::time::{SystemTime, UNIX_EPOCH};

use wire::TransactionId;

/// A new transaction id: a UUIDv7 with the present time. Mark the operation with [`wire::Operation::timed`], and a
/// retry is never executed, however late it arrives.
pub fn fresh_transaction_id() -> Result<TransactionId, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::Clock)?;
    Ok(TransactionId::timed(now.as_millis() as u64, random()?))
}

/// Random bits from the operating system.
fn random() -> Result<u128, Error> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(Error::Random)?;
    Ok(u128::from_ne_bytes(bits))
}
