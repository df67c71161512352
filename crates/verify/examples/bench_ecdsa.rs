//! Microseconds of CPU time of one ECDSA verification, from the bytes of key and signature on: libsecp256k1 first, then each
//! backend, in turns, in one run; what of it is parsing; and signatures a second on all processors, through a work queue.
//!
//! The signatures are those of Bitcoin's block 413,567, or of the file that an argument names: records of a 32-byte digest,
//! a length and a key, a length and a DER signature; all must be good ones.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/mod.rs"]
mod common;

use std::hint::black_box;
use std::thread::available_parallelism;
use std::time::Instant;

use common::{median, thread_time};
use secp256k1::{Message, PublicKey, SECP256K1, ecdsa::Signature};
use turnpike_verify::secp256k1::Backend;
use turnpike_verify::secp256k1::ecdsa::{Policy, Signed, Verifier};
use turnpike_verify::{BatchVerifier, WorkQueue};

const BLOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/secp256k1/bitcoin_block_413567.bin");
const ROUNDS: usize = 11;
/// Signatures in a piece of work: as many as a small block has.
const PIECE: usize = 512;

#[derive(Clone)]
struct Record {
    digest: [u8; 32],
    key: Vec<u8>,
    signature: Vec<u8>,
}

impl Record {
    fn parse(&self) -> Signed {
        Signed::parse(Policy::BITCOIN, self.digest, &self.signature, &self.key).unwrap()
    }
}

fn read(bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let Some((digest, behind)) = rest.split_first_chunk() {
        let (key, behind) = behind[1..].split_at(behind[0].into());
        let (signature, behind) = behind[1..].split_at(behind[0].into());
        records.push(Record { digest: *digest, key: key.to_vec(), signature: signature.to_vec() });
        rest = behind;
    }
    records
}

fn peer(record: &Record) {
    let mut signature = Signature::from_der(&record.signature).unwrap();
    signature.normalize_s();
    let key = PublicKey::from_slice(&record.key).unwrap();
    SECP256K1.verify_ecdsa(Message::from_digest(record.digest), &signature, &key).unwrap();
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or(BLOCK.into());
    let records = read(&std::fs::read(path).unwrap());
    println!("{} signatures", records.len());
    let parsing = median((0..ROUNDS).map(|_| {
        let start = thread_time();
        for record in &records {
            black_box(record.parse());
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
                    records.iter().for_each(|record| verifier.push(record.parse()));
                    assert_eq!(verifier.verify_all(), Ok(()));
                }
                theirs.push((middle - start) / records.len() as f64);
                ours.push((thread_time() - middle) / records.len() as f64);
            }
            let (theirs, ours) = (median(theirs), median(ours));
            let ratio = theirs / ours;
            println!("{batch:>6} at once: libsecp256k1 {theirs:>6.2} us, {backend:?} {ours:>6.2} us, {ratio:.2}x");
        }
    }
    let threads = available_parallelism().map_or(1, usize::from);
    let rate = median((0..3).map(|_| {
        let pieces: Vec<Vec<Record>> = records.chunks(PIECE).map(<[Record]>::to_vec).collect();
        let start = Instant::now();
        let queue = WorkQueue::start("bench", threads, pieces.len(), || {
            let mut verifier = Verifier::default();
            move |piece: Vec<Record>| {
                piece.iter().for_each(|record| verifier.push(record.parse()));
                assert_eq!(verifier.verify_all(), Ok(()));
            }
        })
        .unwrap();
        pieces.into_iter().for_each(|piece| assert!(queue.try_push(piece).is_ok()));
        drop(queue);
        records.len() as f64 / start.elapsed().as_secs_f64()
    }));
    println!("{threads} threads, {:?}: {rate:.0} signatures a second", Backend::fastest());
}
