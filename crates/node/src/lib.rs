//! The node: ledger, chain, proof service and data path put together.
//!
//! - One thread writes the ledger: `io`, or the executor on a replica.
//! - A reply leaves once its promise is true: `durable` after the sync of the journal, `final` after the replicas'
//!   decision.
//! - Queues are bounded; a request that does not fit is answered `BUSY`.
//! - A panic on a thread that changes money aborts the process ([`abort_on_panic`]): the state may be wrong.
//!
//! Start with [`Node`] (`node`), which starts the threads; `docs/architecture.md` lists them. Then follow an operation:
//! `controller`, `completer`, `blocks`. [`config`] has every setting, [`layout`] the data directory, `replica` the
//! parts of a replicated node.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admission;
pub mod backup;
mod blocks;
mod cable;
mod chain_queries;
pub mod clock;
mod completer;
pub mod config;
mod controller;
mod cycles;
pub mod disk;
mod electrum_server;
mod error;
pub mod feeds;
mod follow;
mod follower;
pub mod http;
mod in_nic;
pub mod kv_server;
mod kv_tier;
pub mod layout;
pub mod listings;
mod memory;
mod metrics;
mod node;
mod node_state;
pub mod open_files;
pub mod plan;
mod queries;
mod recovery;
pub mod reload;
mod replica;
mod retries;
mod rtl;
mod scrub;
pub mod sealing;
pub mod signatures;
pub mod site;
mod sockets;
mod staging;
mod starting;
pub mod text;
mod threads;
mod tier;
mod turns;
mod verification;
mod workers;

pub use config::{Config, ConfigError};
pub use error::Error;
pub use follow::{FollowError, FollowStatus};
pub use in_nic::InNic;
pub use node::Node;
pub use node_state::NodeState;
pub use replica::{INCARNATION, check_votes, network_id, replica_engine, state_sync};
pub use threads::abort_on_panic;
pub use tier::Choice;
