//! `turnpike in-nic`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint, value_parser};

/// Options of `in-nic`.
#[derive(Args)]
pub struct InNicArgs {
    /// Data directory; made if it does not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "data")]
    pub data: PathBuf,
    /// Address to serve compact frames on
    #[arg(long, value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Prefix from which operations are taken; may be repeated
    #[arg(long, value_name = "PREFIX", required = true)]
    pub trusted: Vec<String>,
    /// Address for metrics and health
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// How many accounts there may be
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 20)]
    pub accounts: u64,
    /// How many operations are remembered, so that none is executed again when it is sent again: 36 bytes each
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 24, value_parser = value_parser!(u64).range(1024..=1 << 26))]
    pub retries: u64,
    /// How long an operation is remembered at least; where there are more in that time, requests are answered BUSY
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = value_parser!(u64).range(1..=3600))]
    pub retry_seconds: u64,
    /// The interface that XDP executes on, if it is not the one that has the address to serve on
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
}
