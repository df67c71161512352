//! `turnpike demo`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::common::IoArg;

/// Options of `demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// Import the blk*.dat files in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub blocks: Option<PathBuf>,
    /// Make this number of transfers twice: undisturbed, and with a kill -9 in the middle
    #[arg(long, default_value_t = 1_000_000)]
    pub transfers: u64,
    /// Transfer between this number of accounts
    #[arg(long, default_value_t = 100_000)]
    pub accounts: u32,
    /// Fetch and verify this number of proofs, of transfers and of imported blocks each
    #[arg(long, default_value_t = 2_000)]
    pub proofs: u32,
    /// Carry datagrams by this backend
    #[arg(long, value_enum)]
    pub io: Option<IoArg>,
    /// Skip the part with replicas
    #[arg(long)]
    pub no_replicas: bool,
    /// Run as the Byzantine replica of the cluster in this directory
    #[arg(long, value_name = "DIR", hide = true)]
    pub liar: Option<PathBuf>,
}
