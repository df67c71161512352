//! Benchmarks one BIP340 verification, from the bytes of key and signature on.
//!
//! Prints microseconds of CPU time for libsecp256k1, one signature at a time, and for each backend in batches,
//! alternating in one run; then microseconds of wall time on all processors, through a work queue.
//!
//! The messages are the digests that the signatures of Bitcoin's block 413,567 sign; the keys are made here, a
//! different one for each.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Racer, block_413567, median, race_on_all_processors, thread_time};
use figures::Figure;
use secp256k1::{Keypair, SECP256K1, XOnlyPublicKey, schnorr::Signature};
use turnpike_verify::BatchVerifier;
use turnpike_verify::secp256k1::Backend;
use turnpike_verify::secp256k1::schnorr::{Signed, Verifier};
use turnpike_verify::sha256::Tag;

const ROUNDS: usize = 7;
/// Signatures in a piece of work: as many as a block has.
const PIECE: usize = 1024;
const SECRET: Tag = Tag::new("turnpike/bench");

#[derive(Clone)]
struct Record {
    message: [u8; 32],
    key: [u8; 32],
    signature: [u8; 64],
}

impl Record {
    fn make(message: [u8; 32], number: u32) -> Self {
        let secret = SECRET.hash(&number.to_be_bytes());
        let pair = Keypair::from_seckey_byte_array(SECP256K1, secret).unwrap();
        let signature = SECP256K1.sign_schnorr_no_aux_rand(&message, &pair).to_byte_array();
        Self { message, key: pair.x_only_public_key().0.serialize(), signature }
    }

    fn parse(&self) -> Signed<'_> {
        Signed::parse(&self.message, &self.signature, &self.key).unwrap()
    }
}

fn peer(record: &Record) {
    let key = XOnlyPublicKey::from_byte_array(record.key).unwrap();
    SECP256K1.verify_schnorr(&Signature::from_byte_array(record.signature), &record.message, &key).unwrap();
}

fn verify(backend: Backend, records: &[Record]) {
    let mut verifier = Verifier::on(backend).unwrap();
    records.iter().for_each(|record| verifier.push(record.parse()));
    assert_eq!(verifier.verify_all(), Ok(()));
}

fn main() {
    let digests = block_413567().into_iter().map(|record| record.digest);
    let records: Vec<Record> = digests.zip(0..).map(|(digest, number)| Record::make(digest, number)).collect();
    println!("{} signatures", records.len());
    for backend in Backend::ALL {
        if !backend.is_available() {
            println!("{backend:?} is not available on this processor");
            continue;
        }
        for batch in [64, 256, 1024, records.len()] {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let start = thread_time();
                records.iter().for_each(peer);
                let middle = thread_time();
                for records in records.chunks(batch) {
                    verify(backend, records);
                }
                theirs.push((middle - start) / records.len() as f64);
                ours.push((thread_time() - middle) / records.len() as f64);
            }
            let (theirs, ours) = (median(theirs), median(ours));
            let ratio = theirs / ours;
            println!("{batch:>6} at once: libsecp256k1 {theirs:>6.2} us, {backend:?} {ours:>6.2} us, {ratio:.2}x");
            let name = format!("BIP340, {batch} at once, {backend:?}");
            Figure { name: &name, value: ours, unit: "us", peer: Some(("libsecp256k1", theirs)) }.record();
        }
    }
    let pieces: Vec<Vec<Record>> = records.chunks(PIECE).map(<[Record]>::to_vec).collect();
    let contenders: [Racer<'_, Vec<Record>>; 2] = [
        ("libsecp256k1", &|| Box::new(|piece| piece.iter().for_each(peer))),
        (&format!("{:?}", Backend::fastest()), &|| Box::new(|piece| verify(Backend::fastest(), &piece))),
    ];
    race_on_all_processors("BIP340", records.len(), &pieces, contenders);
}
