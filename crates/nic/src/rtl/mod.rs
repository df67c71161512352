//! Backend `rtl`: the NIC of `rtl/nic`, simulated, between the network and the data path.
//!
//! ```text
//! sockets or a TAP device <-> ports [ NIC ] host <-> data path
//! ```
//!
//! Every datagram enters the NIC as an Ethernet packet, and every reply leaves it as one. What its engines do not take comes out
//! on the host's side and is answered by the data path, or, where it is ARP or an echo request, right here.
//!
//! The transfer engine executes compact frames, and batches of them. The node's ledger follows it (`engine`, [`lockstep`]): each operation is executed
//! by the data path as well, in the NIC's order, and so gets into the journal. At [`Promise::Durable`](wire::Promise::Durable) the NIC's reply is held
//! until the node has given the same; at [`Promise::Accepted`](wire::Promise::Accepted) it leaves at once. The accounts of compact frames have one
//! writer, the NIC, until something else is about to write them (a batch of 128-bit operations, a connection), it has no
//! room to remember another operation, or the two differ: then the NIC **hands over**, and the node answers everything until
//! it starts anew.
//!
//! Proofs are answered out of the NIC's cache ([`proofs`]), which the node fills and tells of blocks.
//!
//! The clock moves while a packet is inside. The thread of the data path moves it.

mod backend;
pub mod batches;
mod config;
mod counters;
mod device;
mod engine;
pub mod lockstep;
pub mod model;
mod nic;
pub mod packet;
pub mod proofs;
mod queue;
pub mod tap;
pub mod ticks;

pub use backend::{Network, RtlBackend, RtlTransmitter};
pub use config::{HandOver, RtlConfig, RtlError};
pub use counters::RtlCounters;
pub use queue::Announcer;
