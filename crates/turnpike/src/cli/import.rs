//! `turnpike import`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::common::NetworkArg;

/// Sources of blocks.
#[derive(Subcommand)]
pub enum ImportCommand {
    /// Import Bitcoin blocks: blk*.dat files, raw blocks, or a folder of them
    Bitcoin {
        /// The file or folder
        #[arg(value_hint = ValueHint::AnyPath)]
        path: PathBuf,
        /// Import into this data directory, which is created if missing
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        data: PathBuf,
        /// Use this Bitcoin network
        #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
        network: NetworkArg,
        /// Start from the first block found instead of genesis, and trust it
        #[arg(long)]
        trust_first: bool,
    },
}
