//! The node: ledger, chain, proof service and data path put together.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admission;
mod completer;
pub mod config;
mod controller;
mod cycles;
mod error;
mod http;
mod in_nic;
pub mod layout;
mod memory;
mod metrics;
mod node;
mod queries;
mod recovery;
mod retries;
mod rtl;
pub mod sealing;
mod shared;
pub mod signatures;
mod threads;
mod tier;
mod turns;
mod verification;

pub use config::{Config, ConfigError};
pub use error::Error;
pub use in_nic::InNic;
pub use node::Node;
pub use shared::Shared;
pub use tier::Choice;
