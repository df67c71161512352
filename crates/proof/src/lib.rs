//! The proof service and the cache in front of it.
//!
//! A [`Service`] answers proof frames. If its [`Cache`] has the reply, it writes it over the request in place.
//! Otherwise it has a [`Source`], the store of one chain, prove the reply, and fills the cache with it. Whoever extends
//! a chain announces the new block to the cache, which drops what the block made stale.
//!
//! A cached reply is true as of the tip that it names: a block makes every reply stale that it may have changed, and no
//! reply computed before a block is stored after it. Lookups never wait.
//!
//! Start with [`Service`] (`service`), then [`Cache`] (`cache`), whose module states the rules of coherence; `own` and
//! `bitcoin` are the two sources.
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
