//! Rate at which the XDP program answers REFER on one processor, and hits in the proof cache: `BPF_PROG_TEST_RUN`,
//! without a driver.
//!
//! usage: bench_xdp [ACCOUNTS] [RUNS]
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;
mod processor;

use common::{Envelope, Tier, bytes, compact};
use figures::Figure;
use processor::processor_time;
use proof::Tip;
use turnpike_xdp::{Counter, Error, Program};
use wire::{Chain, Command, Query};

/// Length of a proof's body in bytes: that of `bpf/request.h`.
const BODY: usize = 40 + 8 * 32;

/// Size of a proof in the cache in bytes, in lines of 64 with a header of 8, with some slack.
const CACHED: usize = 384;

fn main() {
    let number = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (accounts, runs) = (number(1).unwrap_or(2_000_000_u32), number(2).unwrap_or(5_000_000_u32));
    let Some(mut tier) = Tier::with_cache(accounts as usize, 1 << 20, accounts as usize * CACHED) else { return };
    for account in 1..=accounts {
        tier.execute(compact(Command::Create, account, account, 0, 0));
    }
    let request = bytes(&compact(Command::Refer, 1, 1, 0, 0));
    measure("REFER", Program::load_bench(&tier.arena, accounts), &request, accounts, runs, Counter::Refer);

    let tip = Tip { hash: [1; 32], height: 1 };
    tier.cache.reorganise(Chain::Own, tip);
    let mut body = [&tip.hash[..], &tip.height.to_be_bytes(), &[7; BODY - 40]].concat();
    for account in 1..=u64::from(accounts) {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&account.to_le_bytes());
        body[40..48].copy_from_slice(&account.to_le_bytes());
        tier.cache.fill(Chain::Own, Query::Latest, &key, &body);
    }
    let request = [0; 48 + BODY];
    measure("proofs", Program::load_bench_proofs(&tier.arena, accounts), &request, accounts, runs, Counter::Proof);
}

fn measure(what: &str, program: Result<Program, Error>, request: &[u8], keys: u32, runs: u32, counter: Counter) {
    let program = match program {
        Ok(program) => program,
        Err(error) => return eprintln!("{error}"),
    };
    let frame = Envelope::default().frame(request);
    let mut times = [0.0; 3];
    for (round, taken) in (1..).zip(&mut times) {
        let before = (processor_time(), program.count(counter));
        let run = program.test_run(&frame, runs).unwrap();
        let time = (processor_time() - before.0) as f64 / f64::from(runs);
        let answered = (program.count(counter) - before.1) as f64 / f64::from(runs);
        println!(
            "round {round}: {what} of {keys} keys in {time:.0} ns of processor time, {:.2} million a second ({} ns by the clock), {:.1} % answered",
            1e3 / time,
            run.nanoseconds,
            100.0 * answered
        );
        assert!(answered > 0.95, "almost all are answered");
        *taken = time;
    }
    times.sort_by(f64::total_cmp);
    let name = format!("{what} in the XDP program, {keys} keys");
    Figure { name: &name, value: times[1], unit: "ns", peer: None }.record();
}
