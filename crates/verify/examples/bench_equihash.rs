//! Benchmarks the Equihash check of one Zcash header on each backend and in crate `equihash`, alternating in one run.
//!
//! Prints microseconds of CPU time of one thread, then wall time with a work queue over all processors.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::hint::black_box;
use std::sync::Arc;

use common::{Racer, median, race_on_all_processors, thread_time};
use figures::Figure;
use turnpike_verify::equihash::{Backend, Parameters, Solution, verify, verify_on};

const VECTORS: &str = include_str!("../tests/vectors/equihash.txt");
const ROUNDS: usize = 101;
const TIMES: usize = 20;
const PEER: &str = "crate equihash";

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Microseconds of one call, as the mean of a few.
fn time(mut run: impl FnMut()) -> f64 {
    let start = thread_time();
    for _ in 0..TIMES {
        run();
    }
    (thread_time() - start) / TIMES as f64
}

/// The header up to and including the nonce, and its solution's indices.
type Header = Arc<(Vec<u8>, Vec<u8>)>;

/// Headers of one round on all processors.
const QUEUED: usize = 1000;

fn main() {
    // The first vector is the header of mainnet block 415000.
    let line = VECTORS.lines().find(|line| line.starts_with("200 9 valid")).unwrap();
    let fields: Vec<&str> = line.split(' ').collect();
    let (input, indices) = (from_hex(fields[3]), from_hex(fields[4]));
    let solution = Solution { input: &input, indices: &indices };
    let backends: Vec<Backend> = Backend::ALL.into_iter().filter(|backend| backend.is_available()).collect();
    let mut times = vec![Vec::new(); backends.len() + 1];
    for _ in 0..ROUNDS {
        times[0].push(time(|| equihash::is_valid_solution(200, 9, black_box(&input), &[], &indices).unwrap()));
        for (backend, times) in backends.iter().zip(&mut times[1..]) {
            times.push(time(|| verify_on(*backend, &Parameters::ZCASH, black_box(&solution)).unwrap()));
        }
    }
    let names = [PEER.to_owned()].into_iter().chain(backends.iter().map(|backend| format!("{backend:?}")));
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    for (name, median) in names.zip(&medians) {
        println!("{name:<16}{median:>9.2} us {:>7.2}x", medians[0] / median);
        if name != PEER {
            let name = format!("Equihash (200,9) header, {name}");
            Figure { name: &name, value: *median, unit: "us", peer: Some((PEER, medians[0])) }.record();
        }
    }

    let header = Arc::new((input, indices));
    let pieces = vec![header; QUEUED];
    let contenders: [Racer<'_, Header>; 2] = [
        (PEER, &|| Box::new(|header| equihash::is_valid_solution(200, 9, &header.0, &[], &header.1).unwrap())),
        (&format!("{:?}", Backend::fastest()), &|| {
            Box::new(|header| verify(&Parameters::ZCASH, &Solution { input: &header.0, indices: &header.1 }).unwrap())
        }),
    ];
    race_on_all_processors("Equihash (200,9) header", QUEUED, &pieces, contenders);
}
