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
//!
//! # Specification
//!
//! A channel is connecting, greeting, then open; a failure or a close ends it from any state. `docs/link.md` has the
//! bytes of each transport.
//!
//! - On connection: both sides send a greeting with the number and size of their buffers, and whether they encrypt. A
//!   peer whose greeting has another version, an invalid size, or differs in encryption is refused. Messages are as
//!   long as the smaller buffers of both sides. Each side begins with one credit for each buffer of the other.
//! - With an [`Identity`], three messages of a Noise handshake follow, then a sealed message by which the connecting
//!   side learns that its key was accepted. Each side looks up the other's key before it sends anything else.
//! - On [`Channel::buffer`]: return a free buffer and spend a credit, or `None` without either. Dropping the buffer
//!   unsent returns both.
//! - On [`Channel::send`]: queue the message with all credits that can be granted, and send. In a selector, short
//!   messages after the first may wait until the next selection.
//! - On a received message: charge the peer one credit. If it has none, or no buffer is free, the channel fails.
//! - On a dropped [`Message`]: its buffer is free. Its credit goes with the next message. Without one it is sent alone
//!   once half of the buffers are free, or at once if the peer has no credit and no message waits here.
//! - On a violation by the peer (a frame out of sequence, a message longer than a buffer, credits that exceed its
//!   buffers, a failed authentication): the channel fails with that error.
//! - On failure: messages that arrived whole before it are still received, then each call returns the error.
//! - On [`Channel::close`]: queued messages are still sent. With encryption only a sealed close proves that none is
//!   missing: otherwise the peer gets [`Error::Lost`].
//!
//! Over `shm://` there are no credit counters: each side has buffers for all that it may have in flight, and the peer
//! returns them.
//!
//! Invariants: a buffer has one holder at any time, the user, the channel or the device; messages of a direction arrive
//! in order, without gaps; nothing that a peer does makes this side allocate more than its configuration allows, or
//! wait, except up to 250 ms when an `rdma://` channel is dropped.
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
