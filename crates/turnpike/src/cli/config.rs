//! `turnpike config`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::ServeArgs;

/// Configuration.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Check a file, and the paths and certificates in it, and report everything that is wrong
    Check {
        /// The file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Print a file with every key and its default
    Default,
    /// Print the configuration that `serve` would run with, given the same options
    Show(ServeArgs),
}
