//! `turnpike headers`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::common::{ChainArg, NetworkArg, NodeArgs, PinArgs};

/// Options of `headers`.
#[derive(Args)]
pub struct HeadersArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Which chain
    #[arg(long, value_enum, default_value_t = ChainArg::Own)]
    pub chain: ChainArg,
    #[command(flatten)]
    pub pin: PinArgs,
    /// Where the node has other headers of its own chain than those kept here, sealed as well, take its headers, and tell what they
    /// replace
    #[arg(long)]
    pub accept_reorganisation: bool,
    /// The Bitcoin network
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
    /// The file to keep them in
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}
