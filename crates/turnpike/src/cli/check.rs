//! `turnpike check`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Options of `check`.
#[derive(Args)]
pub struct CheckArgs {
    /// The data directory; the node must not be running on it
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// Data directories of other replicas, audited as well, whose blocks have to be the same
    #[arg(long, value_name = "DIRECTORY", num_args = 1.., value_hint = ValueHint::DirPath)]
    pub compare: Vec<PathBuf>,
}
