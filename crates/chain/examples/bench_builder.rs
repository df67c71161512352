//! What a transaction costs the block builder: index, tree, table of ids, store. Prints the medians.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Instant;
use turnpike_chain::index::Index;
use turnpike_chain::links::Links;
use turnpike_chain::merkle::{Tree, leaves};
use wire::{AccountId, Operation, TransactionId};

const ACCOUNTS: u32 = 2_000_000;
const BLOCK: u32 = 1 << 20;
const ROUNDS: usize = 5;

/// A generator of numbers that is good enough to spread accounts.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) * u64::from(bound) >> 32) as u32
    }
}

fn transfers(numbers: &mut Numbers) -> Vec<Operation> {
    (0..BLOCK)
        .map(|n| {
            let source = numbers.below(ACCOUNTS);
            let destination = (source + 1 + numbers.below(ACCOUNTS - 1)) % ACCOUNTS;
            Operation::transfer(TransactionId::from(n), AccountId::from(source), AccountId::from(destination), 1)
        })
        .collect()
}

/// Adds up what steps take, by name.
#[derive(Default)]
struct Times(Vec<(&'static str, Vec<f64>)>);

impl Times {
    fn measure<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let time = start.elapsed().as_nanos() as f64 / f64::from(BLOCK);
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, times)) => times.push(time),
            None => self.0.push((name, vec![time])),
        }
        result
    }

    fn print(mut self) {
        let mut sum = 0.0;
        for (name, times) in &mut self.0 {
            times.sort_by(f64::total_cmp);
            let median = times[times.len() / 2];
            sum += median;
            println!("{name:<28} {median:7.1} ns a transaction");
        }
        println!("{:<28} {sum:7.1} ns a transaction", "sum");
    }
}

fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096 >> 20
}

fn main() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut index = Index::new();
    let before = resident();
    let start = Instant::now();
    for first in (0..ACCOUNTS).step_by(100_000) {
        let creates: Vec<_> = (first..first + 100_000)
            .flat_map(|n| {
                let account = AccountId::from(n);
                [
                    Operation::create(TransactionId::from(n), account),
                    Operation::issue(TransactionId::from(n), account, 1 << 40),
                ]
            })
            .collect();
        index.apply(1, &creates, &mut vec![Links::NONE; creates.len()]).unwrap();
    }
    let created = start.elapsed();
    index.root();
    println!(
        "{ACCOUNTS} accounts: {:.0} ns for a CREATE and an ISSUE, root {:.0} ms more; {} MiB resident for the index",
        created.as_nanos() as f64 / f64::from(ACCOUNTS),
        (start.elapsed() - created).as_secs_f64() * 1e3,
        resident() - before,
    );
    let mut times = Times::default();
    for round in 0..ROUNDS {
        let operations = transfers(&mut numbers);
        let mut links = vec![Links::NONE; operations.len()];
        times.measure("index: apply", || index.apply(round as u32 + 2, &operations, &mut links).unwrap());
        times.measure("index: root", || index.root());
        let leaves = times.measure("tree: leaves", || leaves(&operations, &[]));
        times.measure("tree: nodes", || Tree::new(&leaves));
    }
    times.print();
}
