//! The engine headers of `bpf/`, compiled for this machine: the XDP tier and the in-NIC ledger without a kernel, for
//! comparing them with the Rust engines on any machine, and for fuzzing.
//!
//! [`Engine`] runs the C code; [`Reference`] does the same with the Rust engines. [`KvEngine`] is the tier of the
//! key-value store, together with the store.

mod engine;
mod kv;
mod reference;
mod writer;

pub use xdp::InNicConfig;

pub use engine::{Engine, Tables, fold_sum};
pub use kv::{KvEngine, KvHost};
pub use reference::{MAC, PORT, Reference, datagram, frame, own_addresses, trusted};
