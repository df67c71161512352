//! `turnpike coproc`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Programs of the pairing coprocessor.
#[derive(Subcommand)]
pub enum CoprocCommand {
    /// Run a program until it waits; the exit status is 1 if it does not
    Run(CoprocRunArgs),
    /// Write the image of a program: what instruction memory and data memory begin with
    Assemble(CoprocAssembleArgs),
    /// Print a program as text
    Disassemble(CoprocDisassembleArgs),
}

/// Options of `coproc run`.
#[derive(Args)]
pub struct CoprocRunArgs {
    /// The program: a text, or an image
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Instructions after which it is stopped
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub instructions: u64,
}

/// Options of `coproc assemble`.
#[derive(Args)]
pub struct CoprocAssembleArgs {
    /// The text
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The file to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

/// Options of `coproc disassemble`.
#[derive(Args)]
pub struct CoprocDisassembleArgs {
    /// The program: an image, or a text
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}
