//! `turnpike config`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// Configuration.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Check a file, naming each key that is wrong
    Check {
        /// The file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Print a file with every key and its default
    Default,
}
