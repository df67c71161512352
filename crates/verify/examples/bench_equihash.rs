//! Microseconds of one Zcash header's Equihash check on each backend and in crate `equihash`, in turns, in one run: CPU time of
//! one thread, and then time of the clock with a work queue over all processors.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use std::{array, thread};

use common::{median, thread_time};
use turnpike_verify::WorkQueue;
use turnpike_verify::equihash::{Backend, Parameters, Solution, verify_on};

const VECTORS: &str = include_str!("../tests/vectors/equihash.txt");
const ROUNDS: usize = 101;
const TIMES: usize = 20;

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

/// Verifies a solution: the input, the indices.
type Contender = fn(&[u8], &[u8]);

/// Headers of one round with all processors.
const QUEUED: usize = 1000;

/// Microseconds of the clock for one header with all processors, as the mean of many.
fn time_queued(threads: usize, verify: Contender, header: &Arc<(Vec<u8>, Vec<u8>)>) -> f64 {
    let start = Instant::now();
    let queue = WorkQueue::start("bench", threads, QUEUED, || {
        let header = header.clone();
        move |()| verify(&header.0, &header.1)
    })
    .unwrap();
    (0..QUEUED).for_each(|_| queue.try_push(()).unwrap());
    drop(queue);
    start.elapsed().as_nanos() as f64 / 1e3 / QUEUED as f64
}

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
    let names = ["crate equihash".to_owned()].into_iter().chain(backends.iter().map(|backend| format!("{backend:?}")));
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    for (name, median) in names.zip(&medians) {
        println!("{name:<16}{median:>9.2} us {:>7.2}x", medians[0] / median);
    }

    let threads = thread::available_parallelism().map_or(1, usize::from);
    let header = Arc::new((input, indices));
    let contenders: [Contender; 2] = [
        |input, indices| equihash::is_valid_solution(200, 9, input, &[], indices).unwrap(),
        |input, indices| verify_on(Backend::fastest(), &Parameters::ZCASH, &Solution { input, indices }).unwrap(),
    ];
    let mut times: [Vec<f64>; 2] = array::from_fn(|_| Vec::new());
    for _ in 0..11 {
        for (contender, times) in contenders.iter().zip(&mut times) {
            times.push(time_queued(threads, *contender, &header));
        }
    }
    let [peer, own] = times.map(median);
    println!(
        "{threads} threads: crate equihash {peer:.2} us, {:?} {own:.2} us, {:.2}x",
        Backend::fastest(),
        peer / own
    );
}
