//! Measures what a transaction costs the block builder: index, tree, and then whole blocks with a store in a temporary
//! directory.
//!
//! Prints medians of processor time for the parts. For whole blocks it prints means over some roots, as not every block
//! states one, and of wall time, too, since they wait for the disk. `ACCOUNTS=50000000` in the environment sets the
//! number of accounts.
#![allow(missing_docs, clippy::unwrap_used)]

use spv::{BlockHeader, Locator, SealingKey};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use storage::{Directory, RealDirectory};
use turnpike_chain::index::{Index, Pending};
use turnpike_chain::links::Links;
use turnpike_chain::merkle::Tree;
use turnpike_chain::own::{KeyValueCatalog, NextBlock, Options, OwnChain, RootSchedule};
use wire::{AccountId, Operation, TransactionId};

/// Number of accounts, unless the environment has `ACCOUNTS`.
const ACCOUNTS: u32 = 2_000_000;
const BLOCK: u32 = 1 << 20;
/// Number of roots.
const ROUNDS: usize = 3;

/// The time in nanoseconds that this thread has been on a processor: other programs on the machine do not count.
fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// A random number generator good enough to spread accounts.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}

fn transfers(numbers: &mut Numbers, accounts: u32) -> Vec<Operation> {
    (0..BLOCK)
        .map(|n| {
            let source = numbers.below(accounts);
            let destination = (source + 1 + numbers.below(accounts - 1)) % accounts;
            Operation::transfer(TransactionId::from(n), AccountId::from(source), AccountId::from(destination), 1)
        })
        .collect()
}

fn creates(accounts: Range<u32>) -> Vec<Operation> {
    let both = |n| {
        let (id, account) = (TransactionId::from(n), AccountId::from(n));
        [Operation::create(id, account), Operation::issue(id, account, 1 << 40)]
    };
    accounts.flat_map(both).collect()
}

/// Collects the time that steps take, by name.
#[derive(Default)]
struct Times(Vec<(&'static str, Vec<f64>)>);

impl Times {
    /// Measures work for this many blocks.
    fn measure<T>(&mut self, name: &'static str, blocks: u32, work: impl FnOnce() -> T) -> T {
        let start = processor_time();
        let result = work();
        let time = (processor_time() - start) / f64::from(BLOCK) / f64::from(blocks);
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
    (pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096) >> 20
}

fn main() {
    let accounts = std::env::var("ACCOUNTS").map_or(ACCOUNTS, |number| number.parse().expect("ACCOUNTS is a number"));
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut index = Index::new();
    let mut pending = Pending::new(&index);
    let start_of = |height| Locator { height, position: 0 };
    let before = resident();
    let start = processor_time();
    // In small steps, so that little but the index is resident afterwards.
    for first in (0..accounts).step_by(5_000) {
        let creates = creates(first..first + 5_000);
        index.prepare(&mut pending, &creates);
        index.apply(&mut pending, start_of(1), &creates, &mut vec![Links::NONE; creates.len()]).unwrap();
        index.publish(&mut pending);
    }
    let created = processor_time() - start;
    pending.root(&index);
    index.publish(&mut pending);
    println!(
        "{accounts} accounts: {:.0} ns for a CREATE and an ISSUE, root {:.0} ms more; {} MiB resident for the index",
        created / f64::from(accounts),
        (processor_time() - start - created) / 1e6,
        resident() - before,
    );
    let mut times = Times::default();
    let blocks = blocks_between_roots(accounts);
    let mut height = 1;
    for _ in 0..ROUNDS {
        for _ in 0..blocks {
            let operations = transfers(&mut numbers, accounts);
            let mut links = vec![Links::NONE; operations.len()];
            height += 1;
            index.prepare(&mut pending, &operations);
            times.measure("index: apply", 1, || {
                index.apply(&mut pending, start_of(height), &operations, &mut links).unwrap();
            });
            times.measure("tree", 1, || Tree::new(&operations, &[]));
        }
        times.measure("index: root", blocks, || pending.root(&index));
        times.measure("index: publish", blocks, || index.publish(&mut pending));
    }
    println!("a root every {blocks} blocks of {BLOCK}; {} MiB resident, with images", resident() - before);
    times.print();
    drop((index, pending));
    whole_blocks(&mut numbers, accounts);
}

/// Number of full blocks from one stated root to the next.
fn blocks_between_roots(accounts: u32) -> u32 {
    (u64::from(accounts) * RootSchedule::NODE.eighths).div_ceil(8 * u64::from(BLOCK)) as u32
}

/// Whole blocks: everything that the builder does from operations to a durable block.
fn whole_blocks(numbers: &mut Numbers, accounts: u32) {
    let folder = tempfile::tempdir().unwrap();
    let directory: Arc<dyn Directory> = Arc::new(RealDirectory::open(folder.path()).unwrap());
    let database = fjall::Database::builder(folder.path().join("catalog")).open().unwrap();
    let catalog = Box::new(KeyValueCatalog::new(&database).unwrap());
    let mut key = SealingKey::from_bytes(&[1; 32]).unwrap();
    let genesis = key.seal(&BlockHeader::genesis("bench", &[1; 16], 0, &key.public()));
    let mut chain = OwnChain::open(directory, catalog, Options::default(), || Ok(genesis)).unwrap();
    let mut append = |operations: &[Operation]| {
        let next = NextBlock { operations, tails: &[], end_sequence: 0, timestamp: 0 };
        let (wall, processor) = (Instant::now(), processor_time());
        chain.append(next, &mut key).unwrap();
        (wall.elapsed().as_nanos() as f64 / f64::from(BLOCK), (processor_time() - processor) / f64::from(BLOCK))
    };
    for first in (0..accounts).step_by(500_000) {
        append(&creates(first..first + 500_000));
    }
    // Between roots, so that each round has one.
    append(&[]);
    let blocks = ROUNDS * blocks_between_roots(accounts) as usize;
    let (wall, processor): (Vec<_>, Vec<_>) = (0..blocks).map(|_| append(&transfers(numbers, accounts))).unzip();
    for (name, times) in [("whole block, processor time", processor), ("whole block, wall time", wall)] {
        println!("{name:<28} {:7.1} ns a transaction", times.iter().sum::<f64>() / times.len() as f64);
    }
    append(&[]);
    let start = Instant::now();
    assert!(chain.snapshot().unwrap());
    println!("snapshot of the index: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
}
