//! `turnpike info`.

use std::time::Duration;

use clap::Args;

use super::common::{NodeArgs, seconds};

/// Options of `info`.
#[derive(Args)]
pub struct InfoArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Wait until the node answers, at most this long
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "30", value_parser = seconds)]
    pub wait: Option<Duration>,
}
