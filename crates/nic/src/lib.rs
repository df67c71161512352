//! The data path of a node, in the four stages of the in-NIC transfer paper:
//!
//! ```text
//! datagram -> packet selector -> command extractor -> store controller -> packet generator -> datagram
//! ```
//!
//! [`selector`] classifies a datagram and decides whether its sender may request it, [`extractor`] turns frames into
//! operations, a [`StoreController`] executes them and [`generator`] writes the reply over the request. [`DataPath`]
//! drives the four over a [`Backend`]: [`udp`], [`af_xdp`], the simulated NIC of [`rtl`] or the NIC of a board
//! ([`cable`]).
//!
//! Replies that wait for the disk are parked in [`parking`]. Datagrams that wait for a worker are stored in [`held`],
//! with separate buffers per class of work. All memory is allocated at start; what does not fit is answered `BUSY`.
//! [`cost`] determines the costs of requests.
//!
//! Start with [`DataPath`] (`path`), then [`backend`], the interface of the three backends, and [`controller`].
//!
//! # Specification
//!
//! The data path's thread is the only one that calls the controller. On each datagram, the selector decides:
//!
//! - From the node's own port or from port 0, not a frame that gets a reply, or beyond the sender's rate: drop it. On a
//!   connection, a frame beyond the rate is refused with `RATE_LIMITED`.
//! - Unsigned operations: from a trusted prefix, add them to the list to execute. From others refuse them with
//!   `NOT_TRUSTED`.
//! - Signed operations: check their form, and queue them for verification. A worker marks those with an invalid
//!   signature and returns the datagram, which is then executed.
//! - An approval of a member change: on a replica, pass it to the controller. Otherwise refuse it with `NOT_FOUND`.
//! - A query: the controller answers it in place, refuses it, or defers it to a worker.
//! - On a replica, operations are ordered instead of executed: the controller takes the datagram, and the executor
//!   replies.
//!
//! The list is executed once it has 4,096 operations, and at the end of each received batch. For each request the
//! controller then *releases* the reply:
//!
//! - under `accepted`: at once;
//! - under `durable`: at once if everything executed so far is durable. Otherwise it is parked until the journal has
//!   synced the last sequence executed so far, which the reply may depend on. Room for it is reserved before the
//!   execution: without room the request is `BUSY`, and nothing of it is executed.
//!
//! When the journal has synced up to a sequence, its thread sends all parked replies up to it. If the journal fails, it
//! answers all of them `STORAGE_FAILED`.
//!
//! Invariants: a reply replaces its request, and is never longer than the buffer; replies leave in the order of their
//! sequences; a crash loses parked replies, whose clients repeat the request and get the first result.
//!
//! The NIC tier (`crates/xdp`) answers some requests before any of this: `turnpike_xdp::State` has its rule of
//! deferral.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod af_xdp;
pub mod backend;
pub mod cable;
pub mod controller;
pub mod cost;
pub mod counters;
pub mod csr;
mod either;
mod ethernet;
pub mod extractor;
pub mod frame;
pub mod generator;
pub mod held;
pub mod histogram;
pub mod parking;
mod path;
pub mod rate;
pub mod rtl;
pub mod selector;
pub mod streams;
mod sys;
pub mod udp;
mod wait;

pub use af_xdp::{AfXdpBackend, AfXdpTransmitter};
pub use backend::{Backend, Batch, Memory, Peer, Reply, Transmit};
pub use cable::CableBackend;
pub use controller::{Answer, QueryKind, Release, StoreController};
pub use cost::Costs;
pub use counters::Counters;
pub use either::Either;
pub use held::{Class, Held, Pools};
pub use histogram::{Histogram, HistogramSnapshot};
pub use parking::{Departures, Parking};
pub use path::DataPath;
pub use rtl::{RtlBackend, RtlConfig};
pub use streams::{FeedCarrier, StreamLimits, Streams, Subscriber, Subscription, WithStreams};
pub use sys::pin_thread;
pub use udp::{UdpBackend, UdpConfig, UdpTransmitter};
