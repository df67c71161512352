//! Benchmarks one ECDSA verification, from the bytes of key and signature on.
//!
//! Prints microseconds of CPU time for libsecp256k1 and for each backend, alternating in one run, and the share of
//! parsing; then microseconds of wall time on all processors, through a work queue.
//!
//! The signatures are those of Bitcoin's block 413,567, or of the file given as an argument: records of a 32-byte
//! digest, a length and a key, a length and a DER signature. All must be valid.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::hint::black_box;

use common::{Racer, Record, Worker, block_413567, median, race_on_all_processors, thread_time};
use figures::Figure;
use secp256k1::{Message, PublicKey, SECP256K1, ecdsa::Signature};
use turnpike_verify::BatchVerifier;
use turnpike_verify::secp256k1::Backend;
use turnpike_verify::secp256k1::ecdsa::{Policy, Signed, Verifier};

const ROUNDS: usize = 11;
/// Signatures in a piece of work: as many as a small block has.
const PIECE: usize = 512;

fn parse(record: &Record) -> Signed {
    Signed::parse(Policy::BITCOIN, record.digest, &record.signature, &record.key).unwrap()
}

fn peer(record: &Record) {
    let mut signature = Signature::from_der(&record.signature).unwrap();
    signature.normalize_s();
    let key = PublicKey::from_slice(&record.key).unwrap();
    SECP256K1.verify_ecdsa(Message::from_digest(record.digest), &signature, &key).unwrap();
}

fn main() {
    let records = block_413567();
    println!("{} signatures", records.len());
    let parsing = median((0..ROUNDS).map(|_| {
        let start = thread_time();
        for record in &records {
            black_box(parse(record));
        }
        (thread_time() - start) / records.len() as f64
    }));
    println!("parsing of key and signature alone {parsing:.3} us");
    for backend in Backend::ALL {
        let Some(mut verifier) = Verifier::on(backend) else {
            println!("{backend:?} is not available on this processor");
            continue;
        };
        for batch in [8, 64, records.len()] {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let start = thread_time();
                records.iter().for_each(peer);
                let middle = thread_time();
                for records in records.chunks(batch) {
                    records.iter().for_each(|record| verifier.push(parse(record)));
                    assert_eq!(verifier.verify_all(), Ok(()));
                }
                theirs.push((middle - start) / records.len() as f64);
                ours.push((thread_time() - middle) / records.len() as f64);
            }
            let (theirs, ours) = (median(theirs), median(ours));
            let ratio = theirs / ours;
            println!("{batch:>6} at once: libsecp256k1 {theirs:>6.2} us, {backend:?} {ours:>6.2} us, {ratio:.2}x");
            let name = format!("ECDSA, {batch} at once, {backend:?}");
            Figure { name: &name, value: ours, unit: "us", peer: Some(("libsecp256k1", theirs)) }.record();
        }
    }
    let pieces: Vec<Vec<Record>> = records.chunks(PIECE).map(<[Record]>::to_vec).collect();
    let own = || -> Worker<Vec<Record>> {
        let mut verifier = Verifier::default();
        Box::new(move |piece| {
            piece.iter().for_each(|record| verifier.push(parse(record)));
            assert_eq!(verifier.verify_all(), Ok(()));
        })
    };
    let contenders: [Racer<'_, Vec<Record>>; 2] = [
        ("libsecp256k1", &|| Box::new(|piece| piece.iter().for_each(peer))),
        (&format!("{:?}", Backend::fastest()), &own),
    ];
    race_on_all_processors("ECDSA", records.len(), &pieces, contenders);
}
