//! Channels that carry messages, and a selector that serves many of them on one thread. The interface follows RUBIN,
//! which brings Java NIO to RDMA (Rüsch, Messadi, Kapitza, *Towards Low-Latency Byzantine Agreement Protocols Using
//! RDMA*, 2018), on every transport.
//!
//! - A [`Channel`] carries whole messages, in order. The [`Address`] selects the transport.
//! - Each message occupies a registered buffer. The sender fills a [`Buffer`] in place. The receiver gets a [`Message`]
//!   in the buffer that it arrived in, and returns the buffer by dropping the message.
//! - Credits bound the messages in flight: a side sends a message only with a credit, and the receiver grants one for
//!   each free buffer. So a receiver never runs out of buffers, and a peer that sends without a credit is disconnected.
//! - No method of a channel waits. A [`Selector`] waits for many channels at once; [`future`] does so for tasks.
//! - Every resource has a limit, see [`Config`].
//!
//! Start with [`Channel`] (`channel`) and [`Selector`] (`selector`), then `transport`, the interface that `tcp`, `shm`
//! and `rdma` implement, and `credits`.
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
