//! `turnpike demo`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::common::IoArg;

/// Options of `demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// Folder with blk*.dat files to import
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub blocks: Option<PathBuf>,
    /// Transfers to make, twice: undisturbed, and with a kill -9 in the middle
    #[arg(long, default_value_t = 1_000_000)]
    pub transfers: u64,
    /// Accounts to make them between
    #[arg(long, default_value_t = 100_000)]
    pub accounts: u32,
    /// Proofs to fetch and verify, of own transfers and of the imported blocks each
    #[arg(long, default_value_t = 2_000)]
    pub proofs: u32,
    /// What carries datagrams to the node
    #[arg(long, value_enum)]
    pub io: Option<IoArg>,
    /// Leave out the replicas
    #[arg(long)]
    pub no_replicas: bool,
    /// Be the replica that lies, of the cluster in this directory
    #[arg(long, value_name = "DIR", hide = true)]
    pub liar: Option<PathBuf>,
}
