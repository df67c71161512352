//! `turnpike coproc`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Programs of the pairing coprocessor.
#[derive(Subcommand)]
pub enum CoprocCommand {
    /// Run a program until NOOP_WAIT; exit with status 1 if it does not get there
    Run(CoprocRunArgs),
    /// Write the image of a program: the initial instruction and data memory
    Assemble(CoprocAssembleArgs),
    /// Print a program as text
    Disassemble(CoprocDisassembleArgs),
}

/// Options of `coproc run`.
#[derive(Args)]
pub struct CoprocRunArgs {
    /// The program, as text or image
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Stop after this number of instructions
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub instructions: u64,
}

/// Options of `coproc assemble`.
#[derive(Args)]
pub struct CoprocAssembleArgs {
    /// The program, as text
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Write the image to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

/// Options of `coproc disassemble`.
#[derive(Args)]
pub struct CoprocDisassembleArgs {
    /// The program, as image or text
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}
