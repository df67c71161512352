//! `turnpike verify`: signatures, proofs, proofs of work and blocks out of files, with all processors or by a node.

mod block;
pub(super) mod engine;
mod equihash;
mod groth16;
mod pairings;
mod records;
mod report;
mod run;
mod signatures;

use std::fs;
use std::path::Path;
use std::thread;

use crate::cli::{VerifyCommand, VerifyOptions};
use crate::error::Error;
use crate::output::Output;

/// Maximum size of a file: eight times the longest blk*.dat file that Bitcoin Core writes.
const MAX_FILE_SIZE: u64 = 1 << 30;

/// Runs `turnpike verify`. That something is invalid is [`Error::Failed`], and everything else [`Error::Unusable`].
pub fn run(command: &VerifyCommand, output: Output) -> Result<(), Error> {
    let report = match command {
        VerifyCommand::Equihash(args) => equihash::run(args, output),
        VerifyCommand::Ecdsa(args) => signatures::run_ecdsa(args, output),
        VerifyCommand::Schnorr(args) => signatures::run_schnorr(args, output),
        VerifyCommand::Bls(args) => pairings::run_bls(args, output),
        VerifyCommand::Groth16(args) => pairings::run_groth16(args, output),
        VerifyCommand::Pairing(args) => pairings::run_pairing(args, output),
        VerifyCommand::Block(args) => block::run(args, output),
    };
    let report = report.map_err(|error| Error::Unusable(Box::new(error)))?;
    output.result(&report, report::Report::describe);
    match report.invalid() {
        0 => Ok(()),
        invalid => Err(Error::Failed(format!("{invalid} of {} are not valid", report.checked()))),
    }
}

/// The number of threads to use.
fn threads(options: &VerifyOptions) -> usize {
    options.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
}

/// A whole file.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let length = fs::metadata(path).map_err(|error| Error::file("read", path, error))?.len();
    if length > MAX_FILE_SIZE {
        return Err(Error::Input(format!("{} has more than 1 GiB: split it", path.display())));
    }
    fs::read(path).map_err(|error| Error::file("read", path, error))
}
