//! The rate at which the XDP program answers REFER on one processor, and a hit in the proof cache: `BPF_PROG_TEST_RUN`, without a driver.
//!
//! usage: bench_xdp [ACCOUNTS] [RUNS]
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Envelope, Tier, bytes, compact};
use turnpike_xdp::{Counter, Program};
use wire::Command;

fn main() {
    let number = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (accounts, runs) = (number(1).unwrap_or(2_000_000_u32), number(2).unwrap_or(5_000_000_u32));
    let Some(mut tier) = Tier::new(accounts as usize, 1 << 20) else { return };
    for account in 1..=accounts {
        tier.execute(compact(Command::Create, account, account, 0, 0));
    }
    let program = match Program::load_bench(&tier.arena, accounts) {
        Ok(program) => program,
        Err(error) => return eprintln!("{error}"),
    };
    let frame = Envelope::default().frame(&bytes(&compact(Command::Refer, 1, 1, 0, 0)));
    for round in 1..=3 {
        let before = processor_time();
        let run = program.test_run(&frame, runs).unwrap();
        let time = (processor_time() - before) as f64 / f64::from(runs);
        assert!(run.replies());
        println!(
            "round {round}: REFER of {accounts} accounts in {time:.0} ns of processor time, {:.2} million a second ({} ns by the clock)",
            1e3 / time,
            run.nanoseconds
        );
    }
    assert_eq!(program.count(Counter::Refer), 3 * u64::from(runs), "all were answered");
}

/// Nanoseconds that this thread has had a processor: what other programs take of it does not count.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}
