//! `turnpike import`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::common::NetworkArg;

/// What can be imported.
#[derive(Subcommand)]
pub enum ImportCommand {
    /// Bitcoin blocks: blk*.dat files, raw blocks, or a folder of them
    Bitcoin {
        /// The file or folder
        #[arg(value_hint = ValueHint::AnyPath)]
        path: PathBuf,
        /// Data directory; made if it does not exist
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        data: PathBuf,
        /// Which network the blocks are of
        #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
        network: NetworkArg,
        /// Start from the first block found instead of genesis, trusting it
        #[arg(long)]
        trust_first: bool,
    },
}
