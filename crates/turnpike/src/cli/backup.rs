//! `turnpike backup`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Options of `backup`.
#[derive(Args)]
pub struct BackupArgs {
    /// Back up this data directory; a node may be running on it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,
    /// Copy to this directory: missing, empty, or an earlier backup of the same data, which is brought up to date
    #[arg(value_hint = ValueHint::DirPath)]
    pub to: PathBuf,
}
