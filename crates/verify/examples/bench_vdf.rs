//! Benchmarks delays: nanoseconds of CPU time per squaring in a chain, modulo RSA-1024 and RSA-2048.
//!
//! Then prints what an evaluation with its proof takes compared with the squarings alone, and what verification takes.
//! With an argument, prints only the squarings, as a line `BITS NANOSECONDS` each: for bench/vdf/run, which alternates
//! them with those of the peers.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/mod.rs"]
mod common;

use std::ops::ControlFlow;
use std::time::Instant;

use common::{median, thread_time};
use figures::Figure;
use turnpike_verify::vdf::{Delay, Modulus, RSA_1024, RSA_2048};

const SQUARINGS: u64 = 100_000;
const ROUNDS: usize = 5;
/// Enough for three segments.
const ITERATIONS: u64 = 1 << 21;

fn squaring(modulus: &Modulus) -> f64 {
    let mut number = modulus.hash(b"bench");
    let start = thread_time();
    modulus.square(&mut number, SQUARINGS);
    std::hint::black_box(number);
    (thread_time() - start) * 1e3 / SQUARINGS as f64
}

fn main() {
    let only_squarings = std::env::args().len() > 1;
    for digits in [RSA_1024, RSA_2048] {
        let modulus = Modulus::from_decimal(digits).unwrap();
        let bits = modulus.length() * 8;
        let nanoseconds = median((0..ROUNDS).map(|_| squaring(&modulus)));
        if only_squarings {
            println!("{bits} {nanoseconds:.1}");
            continue;
        }
        println!("{bits} bits: {nanoseconds:.0} ns a squaring, {}", modulus.backend());
        let delay = Delay { input: modulus.hash(b"bench"), modulus, iterations: ITERATIONS };
        let start = Instant::now();
        let evaluated = delay.evaluate(&[], |_| ControlFlow::Continue(())).unwrap().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let squarings = ITERATIONS as f64 * nanoseconds * 1e-9;
        println!(
            "  {ITERATIONS} squarings with the proof: {seconds:.3} s, {:.3} times the squarings",
            seconds / squarings
        );
        let start = thread_time();
        evaluated.verify().unwrap();
        let milliseconds = (thread_time() - start) * 1e-3;
        println!("  verifying: {milliseconds:.2} ms, {} bytes", evaluated.to_bytes().len());
        let figure = |name: String, value, unit| Figure { name: &name, value, unit, peer: None }.record();
        figure(format!("{ITERATIONS} squarings with the proof, {bits} bits"), seconds, "s");
        figure(format!("verifying {ITERATIONS} squarings, {bits} bits"), milliseconds, "ms");
    }
}
