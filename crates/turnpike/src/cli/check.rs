//! `turnpike check`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Options of `check`.
#[derive(Args)]
pub struct CheckArgs {
    /// The data directory; the node must not be running on it
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}
