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
        let run = program.test_run(&frame, runs).unwrap();
        assert!(run.replies());
        let rate = 1e3 / f64::from(run.nanoseconds);
        println!("round {round}: REFER of {accounts} accounts in {} ns, {rate:.2} million a second", run.nanoseconds);
    }
    assert_eq!(program.count(Counter::Refer), 3 * u64::from(runs), "all were answered");
}
