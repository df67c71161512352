//! `turnpike headers`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::common::{ChainArg, NetworkArg, NodeArgs, PinArgs};

/// Options of `headers`.
#[derive(Args)]
pub struct HeadersArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Fetch headers of this chain
    #[arg(long, value_enum, default_value_t = ChainArg::Own)]
    pub chain: ChainArg,
    #[command(flatten)]
    pub pin: PinArgs,
    /// Accept other sealed headers in place of those in the file, and report the replaced ones
    #[arg(long)]
    pub accept_reorganisation: bool,
    /// Use this Bitcoin network
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
    /// Keep the headers in this file
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}
