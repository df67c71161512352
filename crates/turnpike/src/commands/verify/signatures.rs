//! `turnpike verify ecdsa` and `turnpike verify schnorr`: signatures in files.
//!
//! A line of text has digest (or message), key and signature. Binary records of ECDSA: digest (32 bytes), length of the
//! key (1), key, length of the signature (1), signature in DER or 64 bytes r ‖ s. Of Schnorr: message (32), key (32),
//! signature (64).

use verify::secp256k1::ecdsa::{self, Encoding, HighS, Policy};
use verify::secp256k1::{Rule, schnorr};

use super::engine::{EcdsaItem, Engine, Verdict};
use super::records::{self, Format, merge};
use super::report::Report;
use crate::cli::{VerifyEcdsaArgs, VerifyFiles};
use crate::error::Error;
use crate::output::Output;

/// An item as it is in a file: digest or message, key, signature.
#[derive(Clone, Debug)]
struct Record {
    digest: [u8; 32],
    key: Vec<u8>,
    signature: Vec<u8>,
}

impl Record {
    fn of_line(fields: Vec<Vec<u8>>) -> Option<Self> {
        let [digest, key, signature] = fields.try_into().ok()?;
        Some(Self { digest: digest.try_into().ok()?, key, signature })
    }
}

struct EcdsaFile;
struct SchnorrFile;

impl Format for EcdsaFile {
    type Record = Record;

    const KIND: &'static str = "signatures";
    const LINE: &'static str = "a digest of 32 bytes, a key and a signature";
    const AT_ONCE: usize = 1024;

    fn of_line(&self, fields: Vec<Vec<u8>>) -> Option<Record> {
        Record::of_line(fields)
    }

    fn take<'a>(&self, bytes: &'a [u8]) -> Option<(Record, &'a [u8])> {
        let (digest, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first()?;
        let (key, rest) = rest.split_at_checked((*length).into())?;
        let (length, rest) = rest.split_first()?;
        let (signature, rest) = rest.split_at_checked((*length).into())?;
        Some((Record { digest: *digest, key: key.to_vec(), signature: signature.to_vec() }, rest))
    }
}

impl Format for SchnorrFile {
    type Record = Record;

    const KIND: &'static str = EcdsaFile::KIND;
    const LINE: &'static str = "a message of 32 bytes, a key and a signature";
    const AT_ONCE: usize = EcdsaFile::AT_ONCE;

    fn of_line(&self, fields: Vec<Vec<u8>>) -> Option<Record> {
        Record::of_line(fields)
    }

    fn take<'a>(&self, bytes: &'a [u8]) -> Option<(Record, &'a [u8])> {
        let (message, rest) = bytes.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(32)?;
        let (signature, rest) = rest.split_at_checked(64)?;
        Some((Record { digest: *message, key: key.to_vec(), signature: signature.to_vec() }, rest))
    }
}

/// Runs `turnpike verify ecdsa`.
pub fn run_ecdsa(args: &VerifyEcdsaArgs, output: Output) -> Result<Report, Error> {
    let policy = if args.lax { Policy::BITCOIN_LAX } else { Policy::BITCOIN };
    let high_s = if args.low_s { HighS::Refuse } else { HighS::Normalise };
    let policies = [Policy { high_s, ..policy }, Policy { high_s, encoding: Encoding::Compact, ..policy }];
    records::run(&args.files, output, &EcdsaFile, move |records, engine| {
        verify_ecdsa(
            records.iter().map(|record| (&record.digest, &record.key[..], &record.signature[..])),
            &policies,
            engine,
        )
    })
}

/// Runs `turnpike verify schnorr`.
pub fn run_schnorr(args: &VerifyFiles, output: Output) -> Result<Report, Error> {
    records::run(args, output, &SchnorrFile, |records, engine| {
        verify_schnorr(records.iter().map(|record| (&record.digest, &record.key[..], &record.signature[..])), engine)
    })
}

/// Verifies ECDSA signatures: digest, key, signature. Uses the first policy by which a signature parses.
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
