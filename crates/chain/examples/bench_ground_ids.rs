//! Measures the cost of ids that somebody searched for because their paths in the index begin alike.
//!
//! Usage: `bench_ground_ids [COUNT [BITS]]`. The index holds two million other ids. Prints processor time: of a block
//! that creates all the ids, against one that creates as many others; of the root after one of them changes; and of a
//! proof, which needs the index only for its first part.
#![allow(missing_docs, clippy::unwrap_used)]

use spv::Locator;
use std::ops::Range;
use turnpike_chain::index::{Index, Pending, account_paths};
use turnpike_chain::links::Links;
use wire::{AccountId, Operation, TransactionId};

const OTHERS: u128 = 2_000_000;

/// Operations of a block.
const BLOCK: usize = 1 << 20;

/// Ids that are checked together.
const PIECE: usize = 4096;

fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn measure<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = processor_time();
    let result = work();
    (result, processor_time() - start)
}

/// Ids whose paths all begin with `bits` zeros, searched for by all processors.
fn ground(count: usize, bits: u32) -> Vec<AccountId> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let search = |thread: usize| {
        let mut found = Vec::with_capacity(count / threads + PIECE);
        let mut next = (thread as u128 + 1) << 64;
        let (mut ids, mut paths) = (vec![AccountId::ZERO; PIECE], vec![0; PIECE]);
        while found.len() < count.div_ceil(threads) {
            for id in &mut ids {
                *id = AccountId::from(next);
                next += 1;
            }
            account_paths(&ids, &mut paths);
            found.extend(ids.iter().zip(&paths).filter(|(_, path)| **path >> (64 - bits) == 0).map(|(id, _)| *id));
        }
        found
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || search(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.truncate(count);
    all
}

struct Chain {
    index: Index,
    pending: Pending,
    height: u32,
}

impl Chain {
    fn block(&mut self, operations: &[Operation]) {
        self.height += 1;
        self.index.prepare(&mut self.pending, operations);
        let first = Locator { height: self.height, position: 0 };
        self.index.apply(&mut self.pending, first, operations, &mut vec![Links::NONE; operations.len()]).unwrap();
        self.pending.root(&self.index);
        self.index.publish(&mut self.pending);
    }

    fn create(&mut self, accounts: &[AccountId]) -> f64 {
        let create = |account: &AccountId| Operation::create(TransactionId::ZERO, *account);
        let blocks = accounts.chunks(BLOCK).map(|accounts| accounts.iter().map(create).collect::<Vec<_>>());
        blocks.map(|block| measure(|| self.block(&block)).1).sum()
    }

    /// Prints what changes and proofs of some of these accounts cost.
    fn print(&mut self, name: &str, accounts: &[AccountId]) {
        let some: Vec<_> = accounts.iter().step_by((accounts.len() / 1000).max(1)).collect();
        let before = self.pending.hashed();
        let issue = |account: &AccountId| self.block(&[Operation::issue(TransactionId::ZERO, *account, 1)]);
        let ((), time) = measure(|| some.iter().copied().for_each(issue));
        let each = some.len() as f64;
        let hashed = (self.pending.hashed() - before) as f64 / each;
        let (leaves, held) = measure(|| some.iter().map(|account| self.index.leaf(account)).collect::<Vec<_>>());
        let (answers, proved) = measure(|| leaves.into_iter().map(|leaf| leaf.prove()).collect::<Vec<_>>());
        let depth = answers.iter().map(|answer| answer.path.len()).max().unwrap_or(0);
        println!(
            "{name}: a block that changes one {:.1} us, {hashed:.0} entries hashed; a proof {:.1} us with the index held and {:.1} us \
             without, {depth} nodes",
            time / each / 1e3,
            held / each / 1e3,
            proved / each / 1e3,
        );
    }
}

fn ids(numbers: Range<u128>) -> Vec<AccountId> {
    numbers.map(AccountId::from).collect()
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().unwrap());
    let count = arguments.next().unwrap_or(100_000);
    let bits = arguments.next().unwrap_or(14) as u32;
    let ground = ground(count, bits);
    for (name, accounts) in [("others", ids(OTHERS..OTHERS + count as u128)), ("alike", ground)] {
        let index = Index::new();
        let mut chain = Chain { pending: Pending::new(&index), index, height: 0 };
        chain.create(&ids(0..OTHERS));
        let time = chain.create(&accounts);
        println!("{name}: {count} created in {:.0} ms, {:.0} ns each", time / 1e6, time / count as f64);
        chain.print(name, &accounts);
        if name == "alike" {
            chain.print("the others beside them", &ids(0..OTHERS));
            let (entries, time) = measure(|| chain.index.entries().copied().collect::<Vec<_>>());
            let (again, filled) = measure(|| Index::from_entries(1, entries.len() as u64, entries).unwrap());
            println!("all entries listed in {:.0} ms, read again in {:.0} ms", time / 1e6, filled / 1e6);
            assert_eq!(
                Pending::new(&again).root(&again),
                chain.pending.root(&chain.index),
                "the root follows from the accounts"
            );
        }
    }
}
