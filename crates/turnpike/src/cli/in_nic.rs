//! `turnpike in-nic`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint, value_parser};

/// Options of `in-nic`.
#[derive(Args)]
pub struct InNicArgs {
    /// Keep data in this directory, which is created if missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "data")]
    pub data: PathBuf,
    /// Serve compact frames on this address
    #[arg(long, value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Accept operations from this prefix; may be repeated
    #[arg(long, value_name = "PREFIX", required = true)]
    pub trusted: Vec<String>,
    /// Serve metrics and health over HTTP on this address
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Size the table for this number of accounts
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 20)]
    pub accounts: u64,
    /// Remember this number of operations, so that retries are not executed again; 36 bytes each
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 24, value_parser = value_parser!(u64).range(1024..=1 << 26))]
    pub retries: u64,
    /// Remember an operation at least this long; answer BUSY while --retries operations are younger
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = value_parser!(u64).range(1..=3600))]
    pub retry_seconds: u64,
    /// Attach XDP to this interface [default: the one with the address of --listen]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
}
