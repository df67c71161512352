//! The data path of a node, in the four stages of the in-NIC transfer paper:
//!
//! ```text
//! datagram -> packet selector -> command extractor -> store controller -> packet generator -> datagram
//! ```
//!
//! [`selector`] classifies a datagram and decides whether its sender may request it, [`extractor`] turns frames into
//! operations, a [`StoreController`] executes them and [`generator`] writes the reply over the request. [`DataPath`]
//! drives the four over a [`Backend`]: [`udp`], [`af_xdp`] or the simulated NIC of [`rtl`].
//!
//! Replies that wait for the disk are parked in [`parking`]. Datagrams that wait for a worker are stored in [`held`],
//! with separate buffers per class of work. All memory is allocated at start; what does not fit is answered `BUSY`.
//! [`cost`] determines the costs of requests.
//!
//! Start with [`DataPath`] (`path`), then [`backend`], the interface of the three backends, and [`controller`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod accept;
pub mod af_xdp;
pub mod backend;
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
pub mod prefix;
pub mod rate;
pub mod rtl;
pub mod selector;
pub mod streams;
mod sys;
pub mod udp;
mod wait;
mod waker;

pub use accept::{LogLimit, SpareDescriptor, is_exhausted, listen_advice, refuse};
pub use af_xdp::{AfXdpBackend, AfXdpTransmitter};
pub use backend::{Backend, Batch, Memory, Peer, Reply, Transmit, Waker};
pub use controller::{Answer, QueryKind, Release, StoreController};
pub use cost::Costs;
pub use counters::Counters;
pub use either::Either;
pub use held::{Class, Held, Pools};
pub use histogram::Histogram;
pub use parking::{Departures, Parking};
pub use path::DataPath;
pub use prefix::{Prefix, Sharer};
pub use rtl::{RtlBackend, RtlConfig};
pub use streams::{StreamLimits, Streams, WithStreams};
pub use sys::{pin_thread, yield_to_others};
pub use udp::{UdpBackend, UdpConfig, UdpTransmitter};
