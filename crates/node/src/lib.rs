//! The node: ledger, chain, proof service and data path put together.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admission;
mod blocks;
mod completer;
pub mod config;
mod controller;
mod cycles;
mod electrum_server;
mod error;
mod follower;
mod gathering;
pub mod http;
mod in_nic;
pub mod kv_server;
mod kv_tier;
pub mod layout;
pub mod listings;
mod memory;
mod metrics;
mod node;
mod queries;
mod recovery;
mod replica;
mod retries;
mod rtl;
pub mod sealing;
mod shared;
pub mod signatures;
pub mod site;
mod sockets;
mod threads;
mod tier;
mod turns;
mod verification;
mod workers;

pub use config::{Config, ConfigError};
pub use error::Error;
pub use in_nic::InNic;
pub use node::Node;
pub use replica::{replica_engine, state_sync};
pub use shared::Shared;
pub use threads::abort_on_panic;
pub use tier::Choice;
