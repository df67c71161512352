//! A prototype of the fast path, to measure it: replicas that vote on batches of signed orders, over channels of
//! [`link`]. The protocol is specified in `docs/fast-path.md`.
//!
//! It has the messages of the [`wire`] crate, real signatures, [locks] that are synced before a vote leaves, and
//! certificates that every replica and the client verify. It has no blocks, so the certificate releases a lock, instead
//! of the block that settles its slot; no UNLOCK and no changes of the set; and balances are in memory.
//!
//! Start reading at [`replica`], whose `process` is steps 2 to 5 of the protocol.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod batch;
pub mod client;
pub mod cluster;
pub mod genesis;
pub mod locks;
pub mod replica;
pub mod state;
pub mod votes;
