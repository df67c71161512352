//! `turnpike serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::common::{IoArg, PromiseArg};

/// Options of `serve`. What is given here overrides the configuration file.
#[derive(Args)]
pub struct ServeArgs {
    /// Configuration file (TOML); `turnpike config default` prints one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Data directory; made if it does not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
    /// Address to serve the protocol on
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Prefix from which unsigned operations are taken, such as 127.0.0.0/8; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub trusted: Vec<String>,
    /// Promise of replies to frames that ask for none
    #[arg(long, value_enum)]
    pub promise: Option<PromiseArg>,
    /// Address for metrics and health
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// How many accounts the table holds
    #[arg(long, value_name = "COUNT")]
    pub accounts: Option<u64>,
    /// What carries datagrams; where the machine does not allow it, sockets do
    #[arg(long, value_enum)]
    pub io: Option<IoArg>,
    /// The interface that XDP answers on, if it is not the one that has the address to serve on; with the simulated NIC, a TAP device
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
}
