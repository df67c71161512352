//! The rate at which the in-NIC ledger executes transfers on one processor: `BPF_PROG_TEST_RUN`, without a driver.
//!
//! usage: bench_in_nic [ACCOUNTS] [RUNS] [RETRIES]
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;
mod processor;

use std::time::Duration;

use common::{Envelope, MAC, PORT, bytes, compact};
use figures::Figure;
use processor::processor_time;
use turnpike_xdp::{InNicConfig, InNicLedger};
use wire::Command;

/// Runs in a row, for which the ring has room.
const AT_ONCE: u32 = 300_000;

fn main() {
    let number = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (accounts, runs) = (number(1).unwrap_or(1_000_000_u32), number(2).unwrap_or(6_000_000_u32));
    let config = InNicConfig { accounts: accounts as usize + 1, ..InNicConfig::default() };
    let retries = number(3).map_or(config.retries, |retries| retries as usize);
    // Short, as the runs follow each other faster than packets arrive.
    let config = InNicConfig { retries, retention: Duration::ZERO, ..config };
    let mut nic = match InNicLedger::load_bench(&config, [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344], accounts) {
        Ok(nic) => nic,
        Err(error) => return eprintln!("{error}"),
    };
    nic.state().set_listening(PORT, MAC, &["10.0.0.1".parse().unwrap()]);
    nic.state().set_trusted([("10.0.0.0".parse().unwrap(), 8)]);
    for account in 1..=accounts + 1 {
        nic.insert(account, 1 << 32).unwrap();
    }
    let mut frame = Envelope::default().frame(&bytes(&compact(Command::Transfer, 1, 1, 2, 1)));
    let mut times = [0.0; 3];
    for (round, taken) in (1..).zip(&mut times) {
        let (mut done, mut time) = (0, 0);
        while done < runs {
            let begun = processor_time();
            frame = nic.test_run(&frame, AT_ONCE).unwrap().packet;
            time += processor_time() - begun;
            done += AT_ONCE;
            let mut executed = 0;
            while nic.drain(AT_ONCE as usize, |committed| executed += u32::from(committed.status == 0)) > 0 {}
            assert_eq!(executed, AT_ONCE, "all are executed");
        }
        let time = time as f64 / f64::from(done);
        println!(
            "round {round}: transfers between {accounts} accounts in {time:.0} ns of processor time, {:.2} million a second",
            1e3 / time
        );
        *taken = time;
    }
    times.sort_by(f64::total_cmp);
    let name = format!("transfers in the in-NIC ledger's program, {accounts} accounts");
    Figure { name: &name, value: times[1], unit: "ns", peer: None }.record();
}
