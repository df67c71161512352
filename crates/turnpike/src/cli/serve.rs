//! `turnpike serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::common::{IoArg, NodePromiseArg};

/// Options of `serve`. They override the configuration file.
#[derive(Args)]
pub struct ServeArgs {
    /// Read this configuration file (TOML); `turnpike config default` prints one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Keep data in this directory, which is created if missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
    /// Listen for clients on this address
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Accept unsigned operations from this prefix, such as 127.0.0.0/8; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub trusted: Vec<String>,
    /// Use this promise for frames that request none
    #[arg(long, value_enum)]
    pub promise: Option<NodePromiseArg>,
    /// Serve metrics, health and lists over HTTP on this address
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Follow this node: copy its ledger, verify it, answer reads and proofs, and refuse writes
    #[arg(long, value_name = "NODE")]
    pub follow: Option<SocketAddr>,
    /// Size the table for this number of accounts
    #[arg(long, value_name = "COUNT")]
    pub accounts: Option<u64>,
    /// Carry datagrams by this backend; falls back to sockets if the machine does not allow it
    #[arg(long, value_enum)]
    pub io: Option<IoArg>,
    /// Attach XDP to this interface [default: the one with the address]; for the simulated NIC, a TAP
    /// device; for a board, the one on its network
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
}
