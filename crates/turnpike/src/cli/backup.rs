//! `turnpike backup`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Options of `backup`.
#[derive(Args)]
pub struct BackupArgs {
    /// The data directory; a node may be running on it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,
    /// The new or empty directory to copy it to
    #[arg(value_hint = ValueHint::DirPath)]
    pub to: PathBuf,
}
