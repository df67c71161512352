//! `turnpike config`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::ServeArgs;

/// Configuration.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Check a file and the paths and certificates in it, and report all errors
    Check {
        /// The configuration file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Print a file with every key and its default
    Default,
    /// Print the configuration that `serve` would run with, with the same options
    Show(ServeArgs),
}
