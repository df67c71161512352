//! `turnpike key`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// A key file holds the secret key as 64 hexadecimal digits; only its owner can read it.
#[derive(Subcommand)]
pub enum KeyCommand {
    /// Generate a key
    New {
        /// Write the key to this file, which must not exist
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Show the account and the public key of a key
    Show {
        /// The key file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Print only the account
        #[arg(long, conflicts_with = "public_key")]
        account: bool,
        /// Print only the public key, in the form of `issuers` in the configuration
        #[arg(long)]
        public_key: bool,
    },
}
