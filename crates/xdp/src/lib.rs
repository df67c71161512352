//! The NIC tier: an XDP program that answers out of the node's own tables, in the driver's receive hook, and sockets
//! that take frames from there past the host's network stack (AF_XDP).
//!
//! "User space writes, the NIC tier reads": the tables of the node lie in an [`Arena`], memory that the program of
//! `bpf/` maps as well. It reads beside the one writer thread under the tables' sequence locks, so nothing is
//! copied. [`State`] is the first page: where the tables are, whom the program answers, and up to
//! which operation all is durable. [`Program`] loads the program, [`Link`] attaches it to an [`Interface`]; when the
//! link is dropped, or the process dies, the kernel detaches it. A [`Socket`] takes what the program does not answer, and
//! sends. [`probe`] tells what this machine allows.
//!
//! [`KvProgram`] answers gets of the key-value store, out of its mirror in an arena.
//!
//! [`InNicLedger`] is another program, after the in-NIC transfer paper: it executes transfers itself, on a store of its own.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arena;
mod btf;
mod committed;
mod error;
pub mod generator;
mod in_nic;
mod in_nic_config;
mod interface;
mod kv;
mod link;
mod loader;
mod mapping;
mod object;
pub mod probe;
mod program;
mod retries;
mod ring;
mod shared_layout;
mod socket;
mod state;
mod store;
mod sys;
mod umem;

pub use arena::Arena;
pub use committed::Committed;
pub use error::Error;
pub use in_nic::InNicLedger;
pub use in_nic_config::InNicConfig;
pub use interface::Interface;
pub use kv::{KvProgram, bench_key};
pub use link::{Link, Mode};
pub use program::{Program, QUEUES, TestRun};
pub use retries::{MOST_RETENTION, RetryFill, Tick};
pub use shared_layout::SOCKET_BYTES;
pub use shared_layout::{Counter, KvCounter, LedgerCounter};
pub use socket::{Gauge, Losses, Receiver, Sender, Socket, Transfer};
pub use state::{Flags, Offsets, State};
pub use store::InNicStore;
pub use umem::{FRAME_BYTES, Frame};
