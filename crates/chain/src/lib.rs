//! Blocks, Merkle trees, the latest-transaction index, the chain store, Bitcoin import.
//!
//! - A block is committed once the catalog covers it: opening the store truncates whatever a crash left after that.
//! - One thread appends; any number of readers prove from committed blocks meanwhile.
//! - Definitions of headers, trees and the index are those of `docs/protocol.md`, which `spv` verifies without this
//!   crate.
//!
//! Start with [`own`], the store of the node's own chain, and [`index`], which proves balances; [`merkle`] has the
//! transaction tree, [`links`] the back-links between transactions of an account, [`bitcoin`] the imported blocks.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bitcoin;
pub mod database;
mod flat;
mod ids;
pub mod index;
pub mod links;
pub mod merkle;
pub mod own;
pub mod progress;
