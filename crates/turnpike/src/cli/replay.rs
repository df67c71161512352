//! `turnpike replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::common::{default_node, seconds};
use super::host::Host;

/// Options of `replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// Send to this node; the port is 7400 unless given [env: TURNPIKE_NODE]
    #[arg(long, value_name = "HOST[:PORT]", default_value = default_node())]
    pub node: Host,
    /// The capture (pcap; Ethernet, Linux cooked or raw IP)
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Send only packets of the capture to this UDP port [default: any]
    #[arg(long)]
    pub port: Option<u16>,
    /// Keep the timing of the capture instead of sending as fast as the node answers
    #[arg(long)]
    pub timed: bool,
    /// Wait for the last replies at most this long
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub wait: Duration,
}
