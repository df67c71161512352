//! The engine headers of `bpf/`, compiled for this machine: the XDP tier and the in-NIC ledger without a kernel, so that they can be
//! compared with the Rust engines on any machine, and fuzzed.
//!
//! [`Engine`] runs the C code; [`Reference`] does the same with the Rust engines.

mod engine;
mod reference;

pub use xdp::InNicConfig;

pub use engine::{Engine, Tables};
pub use reference::{MAC, PORT, Reference, frame, own_addresses, trusted};
