//! Esplora's HTTP API over imported Bitcoin blocks: paths in, replies out, without a socket.
//!
//! An [`Api`] answers as Blockstream's electrs does, with the same fields in the same order and the same error texts.
//! It uses the blocks, the cache of proofs and the limits per network prefix of an [`electrum::Service`].
//!
//! One request reads a bounded number of bytes of transactions.
//!
//! Start with [`Api`] (`api`), which has the paths, then `reader`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod api;
mod blocks;
mod broadcast;
mod mempool;
mod merkle_block;
mod reader;
mod reply;
mod scripts;
mod transactions;
mod values;

pub use api::Api;
pub use reply::Reply;
