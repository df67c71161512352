//! A node of the real program in a process of its own, as the demo has it.

use std::net::SocketAddr;
use std::path::Path;

// The program is no library.
#[allow(dead_code, reason = "not every test needs all of it")]
#[path = "../../src/process.rs"]
mod process;

pub use process::Process;

/// Starts a node on a data directory and waits until it serves. Port 0 takes any that is free.
#[allow(dead_code, reason = "not every test starts a node")]
pub fn start(data: &Path, listen: SocketAddr, arguments: &[&str]) -> Process {
    Process::start(env!("CARGO_BIN_EXE_turnpike"), data, listen, arguments).unwrap()
}
