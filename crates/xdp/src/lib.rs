//! The NIC tier: an XDP program that answers from the node's own tables in the driver's receive hook, and sockets that
//! take frames from there, bypassing the host's network stack (AF_XDP).
//!
//! "User space writes, the NIC tier reads":
//!
//! - The node's tables lie in an [`Arena`], memory that the program of `bpf/` maps as well. The program reads
//!   concurrently with the single writer thread, under the tables' sequence locks, so nothing is copied.
//! - [`State`] is the first page: where the tables are, which senders the program answers, and up to which operation
//!   everything is durable.
//! - [`Program`] loads the program and [`Link`] attaches it to an [`Interface`]. When the link is dropped, or the
//!   process dies, the kernel detaches it.
//! - A [`Socket`] receives what the program does not answer, and sends. [`probe`] checks what this machine supports.
//!
//! [`KvProgram`] answers gets of the key-value store, from its mirror in an arena.
//!
//! [`InNicLedger`] is another program, after the in-NIC transfer paper: it executes transfers itself, on its own store.
//!
//! Start with [`Arena`] (`arena`) and [`Program`] (`program`), then [`Socket`] (`socket`). `shared_layout` is
//! generated, and shared with `bpf/layout.h`.
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
