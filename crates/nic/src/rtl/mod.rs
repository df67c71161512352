//! Backend `rtl`: the NIC of `rtl/nic`, simulated, between the network and the data path.
//!
//! ```text
//! sockets or a TAP device <-> ports [ NIC ] host <-> data path
//! ```
//!
//! Every datagram enters the NIC as an Ethernet packet, and every reply leaves it as one. What its engines do not take
//! leaves on the host's side: the data path answers it, or this module, if it is ARP or an echo request.
//!
//! The transfer engine executes compact frames, and batches of them. The node's ledger follows it (`engine`,
//! [`lockstep`]):
//!
//! - The data path executes each operation as well, in the NIC's order, so that it gets into the journal.
//! - At [`Promise::Durable`](wire::Promise::Durable) the NIC's reply is held until the node has given the same; at
//!   [`Promise::Accepted`](wire::Promise::Accepted) it is sent at once.
//! - The accounts of compact frames have one writer, the NIC, until something else is about to write them (a batch of
//!   128-bit operations, a connection), the NIC has no room to remember another operation, or the two replies differ.
//!   Then the NIC **hands over**: the node answers everything until it restarts.
//!
//! Proofs are answered from the NIC's cache ([`proofs`]), which the node fills and informs about blocks.
//!
//! The clock advances while a packet is inside. The data path's thread drives it.
//!
//! [`kv`] is the same NIC with a key-value store, whose host is `crates/kv` instead of a data path.

pub(crate) mod backend;
pub mod batches;
mod config;
mod counters;
pub(crate) mod device;
mod engine;
pub mod kv;
pub mod lockstep;
pub mod model;
pub(crate) mod nic;
pub mod packet;
pub mod proofs;
pub(crate) mod queue;
pub mod tap;
pub mod ticks;

pub use backend::{Network, RtlBackend, RtlTransmitter};
pub use config::{HandOver, RtlConfig, RtlError};
pub use counters::RtlCounters;
pub use queue::Announcer;
