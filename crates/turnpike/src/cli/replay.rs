//! `turnpike replay`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::common::{DEFAULT_NODE, seconds};

/// Options of `replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// The node's address
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_NODE)]
    pub node: SocketAddr,
    /// The capture (pcap; Ethernet, Linux cooked or raw IP)
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// UDP port that the transactions in the capture were sent to; any if not given
    #[arg(long)]
    pub port: Option<u16>,
    /// Keep the capture's timing instead of sending as fast as the node answers
    #[arg(long)]
    pub timed: bool,
    /// How long to wait for the last replies
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub wait: Duration,
}
