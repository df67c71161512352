//! The proof service and the cache in front of it.
//!
//! A [`Service`] answers proof frames. If its [`Cache`] has the reply, it writes it over the request in place.
//! Otherwise it has a [`Source`], the store of one chain, prove the reply, and fills the cache with it. Whoever extends
//! a chain announces the new block to the cache, which drops what the block made stale.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bitcoin;
mod cache;
mod counters;
mod own;
pub mod paper;
mod service;
mod source;

pub use bitcoin::{BitcoinAnnouncer, BitcoinSource, begin as begin_bitcoin};
pub use cache::{Cache, Config, Lookup, Memory, Tip};
pub use counters::Counters;
pub use own::{OwnSource, touched};
pub use service::Service;
pub use source::{Refusal, Source};
