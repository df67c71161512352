//! `turnpike verify equihash`: headers of Zcash and its relatives.

use std::path::Path;
use std::sync::Arc;

use verify::equihash::{Header, Parameters, Solution};

use super::engine::Engine;
use super::report::{Outcome, Report};
use super::run::Work;
use super::{read, threads};
use crate::cli::VerifyEquihashArgs;
use crate::error::Error;
use crate::output::Output;

/// Bytes of a header up to and with the nonce.
const INPUT: usize = 140;

/// Headers in a piece of work: a few hundred microseconds of work.
const AT_ONCE: usize = 32;

/// Headers or records that lie one after the other in a file.
struct Piece {
    file: Arc<str>,
    bytes: Vec<u8>,
    /// Number of the first in the file.
    first: usize,
    parameters: Parameters,
    personalisation: [u8; 8],
    /// Inputs and solutions without a length between them and without a target, instead of headers.
    records: bool,
}

/// Runs `turnpike verify equihash`.
pub fn run(args: &VerifyEquihashArgs, output: Output) -> Result<Report, Error> {
    let asked = args.parameters.map(|(n, k)| parameters(n, k, args.personalisation)).transpose()?;
    let files = args.files.files.iter().map(|path| Ok((path, read(path)?))).collect::<Result<Vec<_>, Error>>()?;
    let total = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let options = &args.files.options;
    let (server, personalisation) = (options.server.get()?, args.personalisation);
    let mut work = Work::start(threads(options), total, output, || {
        let mut engine = Engine::new(server.as_ref())?;
        Ok(move |piece: Piece| piece.verify(&mut engine))
    })?;
    for (path, bytes) in &files {
        let lengths = match (args.records, asked) {
            (true, Some(parameters)) => record_lengths(path, bytes, &parameters)?,
            (true, None) => return Err(Error::Input("--records needs --parameters".to_string())),
            (false, _) => header_lengths(path, bytes)?,
        };
        let parameters = match asked {
            Some(parameters) => parameters,
            None => guess(path, bytes, args.personalisation)?,
        };
        let file: Arc<str> = path.display().to_string().into();
        let (mut rest, mut first) = (&bytes[..], 0);
        for lengths in lengths.chunks(AT_ONCE) {
            let (taken, after) = rest.split_at(lengths.iter().sum());
            let piece = Piece {
                file: file.clone(),
                bytes: taken.to_vec(),
                first,
                parameters,
                personalisation,
                records: args.records,
            };
            work.push(piece)?;
            rest = after;
            first += lengths.len();
        }
        if !rest.is_empty() {
            work.found().skip("blocks' transactions: only the header of a Zcash block is checked", 1);
            work.found().bytes += rest.len() as u64;
        }
    }
    work.finish()
}

impl Piece {
    fn verify(self, engine: &mut Engine) -> Result<Outcome, Error> {
        let mut outcome = Outcome::of_bytes(self.bytes.len());
        let (kind, verdicts) = if self.records {
            let records = self.bytes.chunks(INPUT + self.parameters.solution_length());
            let verify = |record: &[u8]| {
                let (input, indices) = record.split_at(INPUT.min(record.len()));
                verify::equihash::verify(&self.parameters, &Solution { input, indices })
                    .map_err(|rule| rule.to_string())
            };
            ("solutions", records.map(verify).collect())
        } else {
            ("headers", engine.headers(&headers(&self.bytes), &self.parameters, self.personalisation)?)
        };
        for (number, verdict) in (self.first..).zip(verdicts) {
            outcome.count(kind, verdict, || (self.file.to_string(), format!("number {number}")));
        }
        Ok(outcome)
    }
}

fn parameters(n: usize, k: usize, personalisation: [u8; 8]) -> Result<Parameters, Error> {
    Parameters::new(n, k, personalisation)
        .ok_or_else(|| Error::Input(format!("({n},{k}) are not supported parameters of Equihash")))
}

/// The headers that lie one after the other.
fn headers(bytes: &[u8]) -> Vec<Header<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(|| {
        let header = Header::first_of(rest)?;
        rest = &rest[header.bytes().len()..];
        Some(header)
    })
    .collect()
}

/// Lengths of the headers in a file: one after the other, or the one that a block begins with.
fn header_lengths(path: &Path, bytes: &[u8]) -> Result<Vec<usize>, Error> {
    let lengths: Vec<usize> = headers(bytes).iter().map(|header| header.bytes().len()).collect();
    match lengths.first() {
        None => Err(Error::Input(format!(
            "{} does not begin with a header of Zcash or one of its relatives",
            path.display()
        ))),
        Some(_) if lengths.iter().sum::<usize>() == bytes.len() => Ok(lengths),
        // If the bytes after the first header are not all headers, they are a block's transactions.
        Some(first) => Ok(vec![*first]),
    }
}

fn record_lengths(path: &Path, bytes: &[u8], parameters: &Parameters) -> Result<Vec<usize>, Error> {
    let length = INPUT + parameters.solution_length();
    if bytes.is_empty() || !bytes.len().is_multiple_of(length) {
        let (file, n, k) = (path.display(), parameters.n(), parameters.k());
        return Err(Error::Input(format!(
            "{file} does not consist of records of {length} bytes, as ({n},{k}) requires"
        )));
    }
    Ok(vec![length; bytes.len() / length])
}

/// The parameters that solutions of the first header's length belong to.
fn guess(path: &Path, bytes: &[u8], personalisation: [u8; 8]) -> Result<Parameters, Error> {
    let length = Header::first_of(bytes).map_or(0, |header| header.solution().indices.len());
    Parameters::of_solution_length(length, personalisation).ok_or_else(|| {
        let file = path.display();
        Error::Input(format!(
            "{file}: no known parameters have solutions of {length} bytes; name them with --parameters"
        ))
    })
}
