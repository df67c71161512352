//! Blocks, Merkle trees, the latest-transaction index, the chain store, Bitcoin import.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bitcoin;
pub mod index;
pub mod merkle;
mod prefetch;
