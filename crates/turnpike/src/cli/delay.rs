//! `turnpike delay`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::common::ServerOptions;

/// Commands of delay functions.
#[derive(Subcommand)]
pub enum DelayCommand {
    /// Hash a message to a number, square it --iterations times, and prove it
    Evaluate(DelayEvaluateArgs),
    /// Verify a proof of a message and a number of squarings
    Verify(DelayVerifyArgs),
    /// Open a time-lock in the form of LCS35: compute 2^(2^ITERATIONS) modulo a number
    Unlock(DelayUnlockArgs),
}

/// Options of `turnpike delay evaluate`.
#[derive(Args)]
pub struct DelayEvaluateArgs {
    /// The message
    pub message: String,
    /// Square this number of times
    #[arg(long, value_name = "COUNT")]
    pub iterations: u64,
    /// Use this modulus: rsa-1024, rsa-2048, or a file with its decimal digits
    #[arg(long, value_name = "MODULUS", default_value = "rsa-2048")]
    pub modulus: ModulusChoice,
    /// Write the proof to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Save progress to this file: after a crash, the same command resumes from it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub keep: Option<PathBuf>,
}

/// Options of `turnpike delay verify`.
#[derive(Args)]
pub struct DelayVerifyArgs {
    /// The proof
    #[arg(value_hint = ValueHint::FilePath)]
    pub proof: PathBuf,
    /// The message that was squared
    #[arg(long)]
    pub message: String,
    /// Require this number of squarings
    #[arg(long, value_name = "COUNT")]
    pub iterations: u64,
    /// Use this modulus: rsa-1024, rsa-2048, or a file with its decimal digits
    #[arg(long, value_name = "MODULUS", default_value = "rsa-2048")]
    pub modulus: ModulusChoice,
    #[command(flatten)]
    pub server: ServerOptions,
}

/// Options of `turnpike delay unlock`.
#[derive(Args)]
pub struct DelayUnlockArgs {
    /// Square this number of times
    #[arg(long, value_name = "COUNT")]
    pub iterations: u64,
    /// Use this modulus: a file with its decimal digits
    #[arg(long, value_name = "MODULUS")]
    pub modulus: ModulusChoice,
    /// Decipher this with the solution, in hexadecimal
    #[arg(long, value_name = "HEX")]
    pub ciphertext: Option<String>,
    /// Save progress to this file: after a crash, the same command resumes from it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub keep: Option<PathBuf>,
}

/// The modulus of a delay function.
#[derive(Clone, Debug)]
pub enum ModulusChoice {
    /// RSA-1024
    Rsa1024,
    /// RSA-2048
    Rsa2048,
    /// A file with decimal digits
    File(PathBuf),
}

impl From<&str> for ModulusChoice {
    fn from(text: &str) -> Self {
        match text {
            "rsa-1024" => Self::Rsa1024,
            "rsa-2048" => Self::Rsa2048,
            path => Self::File(path.into()),
        }
    }
}
