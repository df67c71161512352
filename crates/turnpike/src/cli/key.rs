//! `turnpike key`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// Key files: the secret key as 64 hexadecimal digits, readable by their owner only.
#[derive(Subcommand)]
pub enum KeyCommand {
    /// Make a key
    New {
        /// The file to write; must not exist
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Show a key's public key and account
    Show {
        /// The key file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}
