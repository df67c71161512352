//! Channels that carry messages, and a selector that serves many of them on one thread: what RUBIN gives RDMA after Java
//! NIO (Rüsch, Messadi, Kapitza, *Towards Low-Latency Byzantine Agreement Protocols Using RDMA*, 2018), for every way to
//! a peer.
//!
//! A [`Channel`] carries whole messages in order, each in a registered buffer: the sender fills a [`Buffer`] in place, and
//! the receiver is handed the [`Message`] where it came to, and gives it back by dropping it. There is no other copy.
//! Credits say how many messages the peer has room for, so a receiver never runs dry of buffers. The [`Address`] chooses
//! what carries the messages. Everything has a bound: [`Config`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod channel;
#[cfg(feature = "commonware")]
pub mod commonware;
mod config;
mod counters;
mod credits;
mod error;
mod events;
pub mod future;
pub mod measure;
mod memory;
mod notify;
mod operations;
mod pool;
pub mod probe;
#[cfg(feature = "rdma")]
mod rdma;
mod secure;
mod selector;
mod server_channel;
mod shm;
mod spinning;
pub mod tcp;
mod transport;

pub use address::Address;
pub use channel::Channel;
pub use config::{Config, ZeroCopyFrom};
pub use counters::Counters;
pub use error::Error;
pub use notify::Waker;
pub use operations::Operations;
pub use pool::{Buffer, Message};
pub use secure::{Identity, KEY_BYTES, PublicKey, SecretKey};
pub use selector::{SelectionKey, Selector};
pub use server_channel::ServerChannel;
#[cfg(fuzzing)]
pub use shm::scribble;
