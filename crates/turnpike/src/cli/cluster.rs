//! `turnpike cluster`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Replicas on this machine, in a directory with a folder for each: its configuration, its key, its data and its log.
#[derive(Subcommand)]
pub enum ClusterCommand {
    /// Make keys and configurations; nothing is started
    Init(ClusterInitArgs),
    /// Start the replicas that do not run, and wait until all serve
    Start(ClusterArgs),
    /// Tell which replicas run, and how far each is
    Status(ClusterArgs),
    /// Stop the replicas that run, and wait until they have ended
    Stop(ClusterArgs),
}

/// Options of `cluster init`.
#[derive(Args)]
pub struct ClusterInitArgs {
    /// The directory; must be empty, or not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// How many replicas; of 3f + 1 f may be away or lie
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub replicas: u8,
    /// Name of the network
    #[arg(long, default_value = "turnpike")]
    pub network: String,
    /// The first of the replicas' ports for clients, on loopback; 0 for any that are free
    #[arg(long, value_name = "PORT", default_value_t = 7400)]
    pub port: u16,
    /// Prefix from which unsigned operations are taken, such as 127.0.0.0/8; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub trusted: Vec<String>,
    /// Public key that may sign ISSUE; may be repeated
    #[arg(long, value_name = "HEX")]
    pub issuer: Vec<String>,
    /// How long replicas wait for a leader, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 250)]
    pub patience: u64,
    /// How many accounts each table holds
    #[arg(long, value_name = "COUNT")]
    pub accounts: Option<u64>,
}

/// Which cluster.
#[derive(Args)]
pub struct ClusterArgs {
    /// The directory that `turnpike cluster init` made
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}
