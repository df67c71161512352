//! `turnpike verify bls`, `turnpike verify groth16` and `turnpike verify pairing`: verification with pairings on
//! BLS12-381.
//!
//! A line of text has message, key and signature; proof and public inputs; or the input of EIP-2537's check. Binary
//! records: length of the message (2, big-endian), message, key (48), signature (96); proof (192), public inputs (32
//! each, their number by the verifying key); number of pairs (2), pairs (384 each).

use std::sync::Arc;

use verify::bls12_381::eip2537;
use verify::bls12_381::groth16::Claim;
use verify::bls12_381::signature::Signed;

use super::engine::Engine;
use super::groth16::{Key, ProofRecord};
use super::records::{self, Format, merge};
use super::report::Report;
use crate::cli::{VerifyFiles, VerifyGroth16Args};
use crate::error::Error;
use crate::output::Output;

#[derive(Clone)]
struct BlsRecord {
    message: Vec<u8>,
    key: Vec<u8>,
    signature: Vec<u8>,
}

struct BlsFile;

impl Format for BlsFile {
    type Record = BlsRecord;

    const KIND: &'static str = "signatures";
    const LINE: &'static str = "a message, a key of 48 bytes and a signature of 96";
    const AT_ONCE: usize = 256;

    fn of_line(&self, fields: Vec<Vec<u8>>) -> Option<BlsRecord> {
        let [message, key, signature] = fields.try_into().ok()?;
        Some(BlsRecord { message, key, signature })
    }

    fn take<'a>(&self, bytes: &'a [u8]) -> Option<(BlsRecord, &'a [u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (message, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        let (key, rest) = rest.split_at_checked(48)?;
        let (signature, rest) = rest.split_at_checked(96)?;
        Some((BlsRecord { message: message.to_vec(), key: key.to_vec(), signature: signature.to_vec() }, rest))
    }
}

/// Runs `turnpike verify bls`.
pub fn run_bls(args: &VerifyFiles, output: Output) -> Result<Report, Error> {
    records::run(args, output, &BlsFile, |records, engine| {
        let mut items = Vec::with_capacity(records.len());
        let mut parsed = Vec::with_capacity(records.len());
        let encoded: Vec<_> =
            records.iter().map(|record| (&record.message[..], &record.signature[..], &record.key[..])).collect();
        for item in Signed::parse_each(&encoded) {
            parsed.push(item.map(|item| items.push(item)).map_err(|rule| rule.to_string()));
        }
        Ok(merge(parsed, engine.bls(&items)?))
    })
}

struct ProofFile {
    inputs: usize,
}

impl Format for ProofFile {
    type Record = ProofRecord;

    const KIND: &'static str = "proofs";
    const LINE: &'static str = "a proof of 192 bytes and its public inputs of 32 bytes each";
    const AT_ONCE: usize = 256;

    fn of_line(&self, fields: Vec<Vec<u8>>) -> Option<ProofRecord> {
        let (proof, inputs) = fields.split_first()?;
        let inputs = inputs.concat();
        let (inputs, []) = inputs.as_chunks() else { return None };
        Some(ProofRecord { proof: proof.as_slice().try_into().ok()?, inputs: inputs.to_vec() })
    }

    fn take<'a>(&self, bytes: &'a [u8]) -> Option<(ProofRecord, &'a [u8])> {
        let (proof, rest) = bytes.split_first_chunk()?;
        let (inputs, rest) = rest.split_at_checked(32 * self.inputs)?;
        Some((ProofRecord { proof: *proof, inputs: inputs.as_chunks().0.to_vec() }, rest))
    }
}

/// Runs `turnpike verify groth16`.
pub fn run_groth16(args: &VerifyGroth16Args, output: Output) -> Result<Report, Error> {
    let key = Arc::new(Key::find(&args.key)?);
    if args.files.options.server.server.is_some() && key.id.is_none() {
        return Err(Error::Input(
            "a node has only the keys sapling-spend, sapling-output and sprout: omit --server".to_string(),
        ));
    }
    records::run(&args.files, output, &ProofFile { inputs: key.key.inputs() }, move |records, engine| {
        let mut items = Vec::with_capacity(records.len());
        let mut parsed = Vec::with_capacity(records.len());
        let encoded: Vec<_> = records.iter().map(|record| (&record.proof[..], record.inputs.as_flattened())).collect();
        for (claim, record) in Claim::parse_each_for(&key.key, &encoded).into_iter().zip(records) {
            parsed.push(claim.map(|claim| items.push((claim, record))).map_err(|rule| rule.to_string()));
        }
        Ok(merge(parsed, engine.groth16(&key, items)?))
    })
}

struct PairingFile;

impl Format for PairingFile {
    type Record = Vec<u8>;

    const KIND: &'static str = "pairing checks";
    const LINE: &'static str = "pairs of points of 384 bytes";
    const AT_ONCE: usize = 16;

    fn of_line(&self, fields: Vec<Vec<u8>>) -> Option<Vec<u8>> {
        Some(fields.concat())
    }

    fn take<'a>(&self, bytes: &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
        let (count, rest) = bytes.split_first_chunk()?;
        let (pairs, rest) = rest.split_at_checked(eip2537::PAIR * usize::from(u16::from_be_bytes(*count)))?;
        Some((pairs.to_vec(), rest))
    }
}

/// Runs `turnpike verify pairing`.
pub fn run_pairing(args: &VerifyFiles, output: Output) -> Result<Report, Error> {
    records::run(args, output, &PairingFile, |records, engine: &mut Engine| engine.pairings(records))
}
