//! Nanoseconds per transfer of the engine: accounts and memory of retries, without journal and network.
//!
//! `bench_engine [accounts] [window] [batch]`, by default 2,000,000 accounts, retries recognised of 30 million
//! operations and batches of 1024. Time advances as if there were 3 million operations per second. It prints medians
//! over rounds of a million transfers, for fresh transfers, retries, balance queries, transfers linked in pairs, and
//! two-phase transfers: a HOLD and later its CAPTURE, both together. They are processor time, so that other load on the
//! machine counts only through the caches.
#![allow(missing_docs, clippy::unwrap_used)]

use figures::Figure;
use std::time::Duration;
use turnpike_ledger::{Ledger, Limits, Now, Secret, retries};

use wire::{AccountId, Operation, TransactionId};

/// Operations per microsecond.
const RATE: u64 = 3;

const ROUND: usize = 1 << 20;
const ROUNDS: usize = 9;

/// Xorshift: the accounts must be unpredictable, not secret.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn account(&mut self, accounts: u64) -> AccountId {
        AccountId::from(u128::from(self.next() % accounts) + 1)
    }
}

fn argument(at: usize, default: usize) -> usize {
    std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Nanoseconds that this thread has run.
fn processor_time() -> f64 {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    figures.split(' ').next().unwrap().parse().unwrap()
}

/// Executes operations in batches. Returns nanoseconds per operation, and how many were recorded.
fn run(
    ledger: &mut Ledger,
    operations: &mut [Operation],
    values: &mut [u64],
    batch: usize,
    elapsed: &mut u64,
) -> (f64, usize) {
    let mut recorded = 0;
    let start = processor_time();
    for (operations, values) in operations.chunks_mut(batch).zip(values.chunks_mut(batch)) {
        *elapsed += operations.len() as u64 / RATE;
        let (values, now) = (&mut values[..operations.len()], Now { elapsed: *elapsed, unix: *elapsed });
        ledger.execute(operations, values, now, |_, _| recorded += 1);
    }
    ((processor_time() - start) / operations.len() as f64, recorded)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let (accounts, window, batch) = (argument(1, 2_000_000), argument(2, 30_000_000), argument(3, 1024));
    let retention = Duration::from_micros(window as u64 / RATE);
    // Forgotten operations stay a little longer.
    let operations = window + window / 32;
    let retries = retries::Limits { operations, retention, ..retries::Limits::with_operations(1024) };
    let mut ledger = Ledger::new(Limits { accounts, retries }, Secret::from_seed([7; 16])).unwrap();
    let mut elapsed = 0;
    let mut values = vec![0; ROUND];
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut id = 0u128;
    let mut next = || {
        id += 1;
        TransactionId::from(id)
    };
    for first in (0..accounts as u128).step_by(ROUND) {
        let last = (first + ROUND as u128).min(accounts as u128);
        let all: Vec<_> = (first..last).map(|account| AccountId::from(account + 1)).collect();
        let mut creates: Vec<_> = all.iter().map(|account| Operation::create(next(), *account)).collect();
        run(&mut ledger, &mut creates, &mut values, batch, &mut elapsed);
        let mut issues: Vec<_> = all.iter().map(|account| Operation::issue(next(), *account, 1 << 32)).collect();
        run(&mut ledger, &mut issues, &mut values, batch, &mut elapsed);
    }
    let [mut fresh, mut retries, mut refers, mut linked, mut two_phase] = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        let transfers: Vec<_> = (0..ROUND)
            .map(|_| {
                let (source, destination) = (random.account(accounts as u64), random.account(accounts as u64));
                Operation::transfer(next(), source, destination, 1 + random.next() % 100)
            })
            .collect();
        let (nanoseconds, recorded) = run(&mut ledger, &mut transfers.clone(), &mut values, batch, &mut elapsed);
        assert!(recorded > ROUND - ROUND / 1000);
        fresh.push(nanoseconds);
        // Those whose records are in memory.
        let mut again = transfers[ROUND - window.min(ROUND) / 4..].to_vec();
        let (nanoseconds, recorded) = run(&mut ledger, &mut again, &mut values, batch, &mut elapsed);
        assert_eq!(recorded, 0);
        retries.push(nanoseconds);
        let mut queries: Vec<_> =
            (0..ROUND).map(|_| Operation::refer(TransactionId::ZERO, random.account(accounts as u64))).collect();
        refers.push(run(&mut ledger, &mut queries, &mut values, batch, &mut elapsed).0);
        let mut pairs = transfers;
        for (position, transfer) in pairs.iter_mut().enumerate() {
            *transfer = Operation { transaction: next(), ..*transfer };
            *transfer = if position % 2 == 0 { transfer.linked() } else { *transfer };
        }
        linked.push(run(&mut ledger, &mut pairs, &mut values, batch, &mut elapsed).0);
        let holds = (0..ROUND).map(|_| {
            let (source, destination) = (random.account(accounts as u64), random.account(accounts as u64));
            Operation::hold(next(), source, destination, 1 + random.next() % 100, 0)
        });
        let mut holds: Vec<_> = holds.collect();
        let mut captures: Vec<_> = holds.iter().map(|hold| Operation::capture(hold, hold.amount())).collect();
        let (holding, recorded) = run(&mut ledger, &mut holds, &mut values, batch, &mut elapsed);
        assert!(recorded > ROUND - ROUND / 1000);
        let (capturing, recorded) = run(&mut ledger, &mut captures, &mut values, batch, &mut elapsed);
        assert!(recorded > ROUND - ROUND / 1000);
        two_phase.push(holding + capturing);
    }
    let sum: u128 = ledger.iter().map(|(_, balance)| u128::from(balance)).sum();
    assert_eq!(sum, ledger.issued());
    println!("accounts {accounts}, window {window}, batch {batch}");
    let all =
        [("transfer", fresh), ("retry", retries), ("refer", refers), ("linked", linked), ("two-phase", two_phase)];
    for (name, figures) in all {
        let median = median(figures);
        println!("{name:10} {median:6.1} ns");
        Figure { name: &format!("ledger: {name}"), value: median, unit: "ns", peer: None }.record();
    }
}
