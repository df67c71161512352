//! Blocks, Merkle trees, the latest-transaction index, the chain store, Bitcoin import.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bitcoin;
mod flat;
mod ids;
pub mod index;
pub mod links;
pub mod merkle;
pub mod own;
