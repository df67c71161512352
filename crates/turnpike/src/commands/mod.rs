//! The commands, a file for each.

mod key;
mod manual;
mod replay;

use crate::cli::Command;
use crate::error::Error;
use crate::output::Output;

/// Runs a command.
pub fn run(command: Command, output: Output) -> Result<(), Error> {
    match command {
        Command::Key(command) => key::run(&command, output),
        Command::Replay(args) => replay::run(&args, output),
        Command::Completions { shell } => {
            manual::completions(shell);
            Ok(())
        }
        Command::Man { directory } => manual::man(&directory),
        _ => todo!(),
    }
}
