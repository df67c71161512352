//! `turnpike proof`: fetches and verifies proofs.

mod get;
mod report;
mod subject;
mod verify;

use crate::cli::ProofCommand;
use crate::error::Error;
use crate::output::Output;

/// Runs `turnpike proof`.
pub fn run(command: &ProofCommand, output: Output) -> Result<(), Error> {
    match command {
        ProofCommand::Get(args) => get::get(args, output),
        ProofCommand::Verify(args) => verify::verify(args, output),
    }
}
