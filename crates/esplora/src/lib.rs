//! Esplora's HTTP API over imported Bitcoin blocks: paths in, replies out, without a socket.
//!
//! An [`Api`] answers as Blockstream's electrs does: the same fields in the same order, the same texts of errors. Blocks, the cache of
//! proofs and what a network prefix may use are those of the [`electrum::Service`] that it stands on.
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
