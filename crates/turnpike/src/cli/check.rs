//! `turnpike check`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Options of `check`.
#[derive(Args)]
pub struct CheckArgs {
    /// The data directory; the node must not be running on it
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// Audit these data directories of other replicas too, and require the same blocks
    #[arg(long, value_name = "DIRECTORY", num_args = 1.., value_hint = ValueHint::DirPath)]
    pub compare: Vec<PathBuf>,
}
