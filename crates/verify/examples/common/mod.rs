//! Code that the benchmarks share.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::thread::available_parallelism;
use std::time::Instant;

use figures::Figure;
use turnpike_verify::WorkQueue;

const BLOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/secp256k1/bitcoin_block_413567.bin");

/// An ECDSA signature.
#[derive(Clone)]
pub struct Record {
    pub digest: [u8; 32],
    pub key: Vec<u8>,
    /// In DER.
    pub signature: Vec<u8>,
}

/// The signatures of Bitcoin's block 413,567, or of the file given as an argument: records of a 32-byte digest, a
/// length and a key, a length and a DER signature. All must be valid.
pub fn block_413567() -> Vec<Record> {
    let path = std::env::args().nth(1).unwrap_or(BLOCK.into());
    let bytes = std::fs::read(path).unwrap();
    let mut records = Vec::new();
    let mut rest = &bytes[..];
    while let Some((digest, behind)) = rest.split_first_chunk() {
        let (key, behind) = behind[1..].split_at(behind[0].into());
        let (signature, behind) = behind[1..].split_at(behind[0].into());
        records.push(Record { digest: *digest, key: key.to_vec(), signature: signature.to_vec() });
        rest = behind;
    }
    records
}

/// Microseconds of CPU time of this thread.
pub fn thread_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on Linux, and the time is written to a variable of its type.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// The median.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a thread does with each piece of work. Each thread makes its own.
pub type Worker<P> = Box<dyn FnMut(P) + Send>;

/// A name, and the function that makes a worker for each thread.
pub type Racer<'a, P> = (&'a str, &'a dyn Fn() -> Worker<P>);

/// Prints the microseconds of wall time per item on all processors, through a work queue.
///
/// Peer and engine alternate; prints their medians and the ratio.
pub fn race_on_all_processors<P: Clone + Send + 'static>(
    what: &str,
    items: usize,
    pieces: &[P],
    contenders: [Racer<'_, P>; 2],
) {
    const ROUNDS: usize = 11;
    let threads = available_parallelism().map_or(1, usize::from);
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        for ((_, worker), times) in contenders.iter().zip(&mut times) {
            let work = pieces.to_vec();
            let start = Instant::now();
            let queue = WorkQueue::start("bench", threads, work.len(), worker).unwrap();
            work.into_iter().for_each(|piece| assert!(queue.try_push(piece).is_ok()));
            drop(queue);
            times.push(start.elapsed().as_nanos() as f64 / 1e3 / items as f64);
        }
    }
    let [theirs, ours] = times.map(median);
    let [peer, own] = contenders.map(|(name, _)| name);
    println!("{threads} threads: {peer} {theirs:.3} us, {own} {ours:.3} us, {:.2}x", theirs / ours);
    let name = format!("{what}, {threads} threads, {own}");
    Figure { name: &name, value: ours, unit: "us", peer: Some((peer, theirs)) }.record();
}
