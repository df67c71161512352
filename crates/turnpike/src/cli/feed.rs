//! `turnpike feed`.

use clap::Args;
use wire::AccountId;

use super::common::default_node;
use super::host::Host;

/// Options of `feed`.
#[derive(Args)]
pub struct FeedArgs {
    /// Follow this node; the port is 7400 unless given [env: TURNPIKE_NODE]
    #[arg(long, value_name = "HOST[:PORT]", default_value = default_node())]
    pub node: Host,
    /// Begin with the operation of this sequence
    #[arg(long, value_name = "SEQUENCE", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub from: u64,
    /// Exit after the operation of this sequence
    #[arg(long, value_name = "SEQUENCE")]
    pub until: Option<u64>,
    /// Print only operations with this account as source or destination
    #[arg(long, value_name = "ACCOUNT")]
    pub account: Option<AccountId>,
}
