//! `turnpike verify ecdsa` and `turnpike verify schnorr`: signatures in files.
//!
//! A file is text or binary. Text has a signature on each line: digest (or message), key and signature in hexadecimal, parted by
//! spaces; empty lines and those that begin with # are skipped. Binary has records. ECDSA: digest (32 bytes), length of the key
//! (1), key, length of the signature (1), signature in DER or 64 bytes r ‖ s. Schnorr: message (32), key (32), signature (64).

use std::path::Path;
use std::sync::Arc;

use verify::secp256k1::ecdsa::{self, Encoding, HighS, Policy};
use verify::secp256k1::{Rule, schnorr};

use super::engine::{EcdsaItem, Engine, Verdict};
use super::report::{Outcome, Report};
use super::run::Work;
use super::{read, threads};
use crate::cli::{VerifyEcdsaArgs, VerifyFiles};
use crate::error::Error;
use crate::hex;
use crate::output::Output;

/// Signatures in a piece of work: some milliseconds of work, and many times the lanes of the widest backend.
const AT_ONCE: usize = 1024;

/// The shortest record of either kind.
const MIN_RECORD: usize = 32 + 1 + 1;

/// An item as it is in a file: digest or message, key, signature.
#[derive(Clone, Debug)]
struct Record {
    digest: [u8; 32],
    key: Vec<u8>,
    signature: Vec<u8>,
}

/// Takes a record from the beginning of bytes, and gives what follows; none if it is not whole.
type ReadRecord = fn(&[u8]) -> Option<(Record, &[u8])>;

struct Piece {
    file: Arc<str>,
    records: Vec<Record>,
    first: usize,
    bytes: usize,
}

/// Runs `turnpike verify ecdsa`.
pub fn run_ecdsa(args: &VerifyEcdsaArgs, output: Output) -> Result<Report, Error> {
    let policy = if args.lax { Policy::BITCOIN_LAX } else { Policy::BITCOIN };
    let high_s = if args.low_s { HighS::Refuse } else { HighS::Normalise };
    let policies = [Policy { high_s, ..policy }, Policy { high_s, encoding: Encoding::Compact, ..policy }];
    run(&args.files, output, read_ecdsa_record, move |records, engine| {
        verify_ecdsa(
            records.iter().map(|record| (&record.digest, &record.key[..], &record.signature[..])),
            &policies,
            engine,
        )
    })
}

/// Runs `turnpike verify schnorr`.
pub fn run_schnorr(args: &VerifyFiles, output: Output) -> Result<Report, Error> {
    run(args, output, read_schnorr_record, |records, engine| {
        verify_schnorr(records.iter().map(|record| (&record.digest, &record.key[..], &record.signature[..])), engine)
    })
}

fn run(
    args: &VerifyFiles,
    output: Output,
    read_record: ReadRecord,
    verify: impl Fn(&[Record], &mut Engine) -> Result<Vec<Verdict>, Error> + Clone + Send + 'static,
) -> Result<Report, Error> {
    let files = args.files.iter().map(|path| Ok((path, read(path)?))).collect::<Result<Vec<_>, Error>>()?;
    let total = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let server = args.options.server();
    let mut work = Work::start(threads(&args.options), total, output, || {
        let (mut engine, verify) = (Engine::new(server.as_ref())?, verify.clone());
        Ok(move |piece: Piece| {
            let mut outcome = Outcome::of_bytes(piece.bytes);
            for (number, verdict) in (piece.first..).zip(verify(&piece.records, &mut engine)?) {
                outcome.count("signatures", verdict, || (piece.file.to_string(), format!("number {number}")));
            }
            Ok(outcome)
        })
    })?;
    for (path, bytes) in &files {
        let records = if is_text(bytes) { read_text(path, bytes) } else { read_binary(path, bytes, read_record) }?;
        if records.is_empty() {
            return Err(Error::Input(format!("{} holds no signatures", path.display())));
        }
        let file: Arc<str> = path.display().to_string().into();
        let (count, mut first) = (records.len(), 0);
        for records in records.chunks(AT_ONCE) {
            let bytes = bytes.len() * records.len() / count;
            work.push(Piece { file: file.clone(), records: records.to_vec(), first, bytes })?;
            first += records.len();
        }
    }
    work.finish()
}

/// Verifies ECDSA signatures: digest, key, signature. The first of the policies that a signature can be parsed by is taken.
pub fn verify_ecdsa<'a>(
    items: impl Iterator<Item = (&'a [u8; 32], &'a [u8], &'a [u8])>,
    policies: &[Policy],
    engine: &mut Engine,
) -> Result<Vec<Verdict>, Error> {
    let mut signed = Vec::new();
    let mut parsed = Vec::new();
    for (digest, key, signature) in items {
        let mut items = policies.iter().map(|policy| ecdsa::Signed::parse(*policy, *digest, signature, key));
        let mut item = items.next().unwrap_or(Err(Rule::SignatureLength));
        if let (Err(_), Some(Ok(other))) = (&item, items.find(Result::is_ok)) {
            item = Ok(other);
        }
        parsed.push(item.map(|item| signed.push(EcdsaItem { signed: item, key })).map_err(|rule| rule.to_string()));
    }
    Ok(merge(parsed, engine.ecdsa(&signed)?))
}

/// The verdicts on Schnorr signatures: message, key, signature.
pub fn verify_schnorr<'a>(
    items: impl Iterator<Item = (&'a [u8; 32], &'a [u8], &'a [u8])>,
    engine: &mut Engine,
) -> Result<Vec<Verdict>, Error> {
    let mut signed = Vec::new();
    let mut parsed = Vec::new();
    for (message, key, signature) in items {
        let item = schnorr::Signed::parse(message, signature, key);
        parsed.push(item.map(|item| signed.push((*message, item))).map_err(|rule| rule.to_string()));
    }
    Ok(merge(parsed, engine.schnorr(&signed)?))
}

/// The verdicts of all items, from those on their encodings, and those on the items that are encoded well.
fn merge(mut parsed: Vec<Verdict>, verdicts: Vec<Verdict>) -> Vec<Verdict> {
    let good = parsed.iter_mut().filter(|verdict| verdict.is_ok());
    good.zip(verdicts).for_each(|(parsed, verdict)| *parsed = verdict);
    parsed
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

fn read_text(path: &Path, bytes: &[u8]) -> Result<Vec<Record>, Error> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let record = |(number, line): (usize, &str)| {
        let fields: Option<Vec<Vec<u8>>> = line.split_whitespace().map(hex::decode).collect();
        let [digest, key, signature] = fields?.try_into().ok()?;
        Some(Record { digest: digest.try_into().ok()?, key, signature }).ok_or(number).ok()
    };
    lines
        .map(|line| {
            record(line).ok_or_else(|| {
                let (file, number) = (path.display(), line.0);
                Error::Input(format!(
                    "{file}, line {number}: expected a digest of 32 bytes, a key and a signature in hexadecimal"
                ))
            })
        })
        .collect()
}

fn read_binary(path: &Path, bytes: &[u8], read_record: ReadRecord) -> Result<Vec<Record>, Error> {
    let mut records = Vec::with_capacity(bytes.len() / MIN_RECORD.max(100));
    let mut rest = bytes;
    while !rest.is_empty() {
        let (record, after) = read_record(rest).ok_or_else(|| {
            let (file, at) = (path.display(), bytes.len() - rest.len());
            Error::Input(format!("{file} ends inside of the record at byte {at}; is it a file of signatures?"))
        })?;
        records.push(record);
        rest = after;
    }
    Ok(records)
}

fn read_ecdsa_record(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (digest, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first()?;
    let (key, rest) = rest.split_at_checked((*length).into())?;
    let (length, rest) = rest.split_first()?;
    let (signature, rest) = rest.split_at_checked((*length).into())?;
    Some((Record { digest: *digest, key: key.to_vec(), signature: signature.to_vec() }, rest))
}

fn read_schnorr_record(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (message, rest) = bytes.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(32)?;
    let (signature, rest) = rest.split_at_checked(64)?;
    Some((Record { digest: *message, key: key.to_vec(), signature: signature.to_vec() }, rest))
}
