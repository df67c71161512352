//! Files of things to verify. A file is text or binary: text has a record on each line, its fields in hexadecimal and
//! parted by spaces; empty lines and those that begin with # are skipped. Binary has records one after the other.

use std::path::Path;
use std::sync::Arc;

use super::engine::{Engine, Verdict};
use super::report::{Outcome, Report};
use super::run::Work;
use super::{read, threads};
use crate::cli::VerifyFiles;
use crate::error::Error;
use crate::hex;
use crate::output::Output;

/// A format of records in files.
pub trait Format {
    /// A record.
    type Record: Clone + Send + 'static;

    /// The kind of records, in the plural.
    const KIND: &'static str;
    /// The contents of a line of text.
    const LINE: &'static str;
    /// Records in a piece of work: some milliseconds of work, or more where more are verified faster together.
    const AT_ONCE: usize;

    /// The record of the fields on a line; none if they make none.
    fn of_line(&self, fields: Vec<Vec<u8>>) -> Option<Self::Record>;

    /// Splits a record from the beginning of bytes, and returns the rest; `None` if it is not whole.
    fn take<'a>(&self, bytes: &'a [u8]) -> Option<(Self::Record, &'a [u8])>;
}

struct Piece<R> {
    file: Arc<str>,
    records: Vec<R>,
    first: usize,
    bytes: usize,
}

/// Verifies all records of files.
pub fn run<F: Format>(
    args: &VerifyFiles,
    output: Output,
    format: &F,
    verify: impl Fn(&[F::Record], &mut Engine) -> Result<Vec<Verdict>, Error> + Clone + Send + 'static,
) -> Result<Report, Error> {
    let files = args.files.iter().map(|path| Ok((path, read(path)?))).collect::<Result<Vec<_>, Error>>()?;
    let total = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let server = args.options.server.get()?;
    let mut work = Work::start(threads(&args.options), total, output, || {
        let (mut engine, verify) = (Engine::new(server.as_ref())?, verify.clone());
        Ok(move |piece: Piece<F::Record>| {
            let mut outcome = Outcome::of_bytes(piece.bytes);
            for (number, verdict) in (piece.first..).zip(verify(&piece.records, &mut engine)?) {
                outcome.count(F::KIND, verdict, || (piece.file.to_string(), format!("number {number}")));
            }
            Ok(outcome)
        })
    })?;
    for (path, bytes) in &files {
        let records = if is_text(bytes) { read_text(path, bytes, format) } else { read_binary(path, bytes, format) }?;
        if records.is_empty() {
            return Err(Error::Input(format!("{} holds no {}", path.display(), F::KIND)));
        }
        let file: Arc<str> = path.display().to_string().into();
        let (count, mut first) = (records.len(), 0);
        for records in records.chunks(F::AT_ONCE) {
            let bytes = bytes.len() * records.len() / count;
            work.push(Piece { file: file.clone(), records: records.to_vec(), first, bytes })?;
            first += records.len();
        }
    }
    work.finish()
}

/// The verdicts of all items, from those on their encodings, and those on the items that are encoded well.
pub fn merge(mut parsed: Vec<Verdict>, verdicts: Vec<Verdict>) -> Vec<Verdict> {
    let good = parsed.iter_mut().filter(|verdict| verdict.is_ok());
    good.zip(verdicts).for_each(|(parsed, verdict)| *parsed = verdict);
    parsed
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

fn read_text<F: Format>(path: &Path, bytes: &[u8], format: &F) -> Result<Vec<F::Record>, Error> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let record = |line: &str| format.of_line(line.split_whitespace().map(hex::decode).collect::<Option<_>>()?);
    lines
        .map(|(number, line)| {
            record(line).ok_or_else(|| {
                Error::Input(format!("{}, line {number}: expected {} in hexadecimal", path.display(), F::LINE))
            })
        })
        .collect()
}

fn read_binary<F: Format>(path: &Path, bytes: &[u8], format: &F) -> Result<Vec<F::Record>, Error> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (record, after) = format.take(rest).ok_or_else(|| {
            let (file, at) = (path.display(), bytes.len() - rest.len());
            Error::Input(format!("{file} ends inside the record at byte {at}; check that it is a file of {}", F::KIND))
        })?;
        records.push(record);
        rest = after;
    }
    Ok(records)
}
