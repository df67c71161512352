//! The Electrum protocol, versions 1.4 to 1.8, over imported Bitcoin blocks and the mempool of the node that they come
//! from.
//!
//! A [`Session`] is one client: bytes in, bytes out, without a socket. [`Service`] is the state that all sessions
//! share: the active branch in memory, statuses of scripts, the cache of proofs, the usage of network prefixes.
//! [`server`] has the sockets and the threads.
//!
//! The protocol is that of `electrum-protocol` (spesmilo); where it leaves errors open, codes and texts are
//! ElectrumX's.
//!
//! [`Limits`] bounds connections, subscriptions, buffers and the work of each network prefix, so that no client can
//! take the share of the others.
//!
//! Start with [`Session`] (`session`), then [`Service`] (`service`) and `methods`, one module for each group of calls.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod buffers;
mod client;
mod generation_cache;
mod limits;
mod mempool;
mod methods;
mod node;
mod notifications;
mod paths;
mod rpc;
pub mod server;
mod service;
mod session;
mod status;
mod sums;
mod version;

use bitcoind::hex;
pub use generation_cache::GenerationCache;
pub use limits::{Limits, Share, Shares};
pub use mempool::{Coin, Mempool, Outpoint, Read, Unconfirmed, Update};
pub use node::Node;
pub use paths::Path;
pub use service::{Announcement, Counts, Error, Service, Settings, Snapshot};
pub use session::{NextStep, Progress, Session};
pub use sums::{Sum, Sums};
