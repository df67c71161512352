//! Measures lookups and two-account transfers, in batches, at several sizes: `bench_table [keys ...]`.
//!
//! Prints medians in nanoseconds per operation. Keys are random, so that beyond the caches every operation misses.
#![allow(clippy::unwrap_used)]

use std::{hint::black_box, time::Instant};

use figures::Figure;
use turnpike_table::{Config, EntryIndex, Table};

/// Operations timed together: enough to make the clock's cost negligible, and short enough that other programs rarely
/// interrupt.
const RUN: usize = 1 << 12;

/// Transfers whose accounts are looked up together: a batch like that of the data path.
const GROUP: usize = 256;

/// Number of runs for the median.
const RUNS: usize = 501;

type Accounts = Table<16, 8>;

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).map(|arg| arg.parse().unwrap()).collect();
    let sizes = if sizes.is_empty() { vec![16 << 10, 2_000_000, 50_000_000] } else { sizes };
    println!(
        "{:>10} {:>8} {:>7} {:>7} {:>7} {:>9} {:>9}",
        "keys", "MB", "insert", "lookup", "miss", "transfer", "one by one"
    );
    for keys in sizes {
        let started = Instant::now();
        let mut table = Accounts::with_capacity(&Config::new(keys).prefault(true)).unwrap();
        let prepared = started.elapsed();
        let started = Instant::now();
        for number in 0..keys as u64 {
            table.insert(&key(number), 1_000_000_u64.to_le_bytes()).unwrap();
        }
        let insert = started.elapsed().as_secs_f64() * 1e9 / keys as f64;
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let lookup = median(|| {
            let keys: Vec<_> = (0..RUN).map(|_| key(random.below(keys))).collect();
            time(|| lookups(&table, &keys))
        });
        let miss = median(|| {
            let keys: Vec<_> = (0..RUN).map(|_| key(keys as u64 + random.below(keys))).collect();
            time(|| lookups(&table, &keys))
        });
        let transfer = median(|| {
            let pairs: Vec<_> = (0..RUN).map(|_| [key(random.below(keys)), key(random.below(keys))]).collect();
            time(|| transfers(&mut table, &pairs))
        });
        let single = median(|| {
            let keys: Vec<_> = (0..RUN).map(|_| key(random.below(keys))).collect();
            time(|| keys.iter().for_each(|key| _ = black_box(table.get(key))))
        });
        let megabytes = table.resident_estimate() as f64 / 1e6;
        println!("{keys:>10} {megabytes:>8.1} {insert:>7.1} {lookup:>7.1} {miss:>7.1} {transfer:>9.1} {single:>9.1}");
        for (what, value) in
            [("insert", insert), ("lookup", lookup), ("miss", miss), ("transfer", transfer), ("one by one", single)]
        {
            Figure { name: &format!("table: {what} of {keys} keys"), value, unit: "ns", peer: None }.record();
        }
        eprintln!("           memory prepared in {} ms", prepared.as_millis());
    }
}

/// An account id independent of its number, like that of a keyed account.
fn key(number: u64) -> [u8; 16] {
    let high = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let low = (number ^ high >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

fn lookups(table: &Accounts, keys: &[[u8; 16]]) {
    let mut found = [None; RUN];
    table.lookup_batch(keys, &mut found);
    black_box(&found);
}

/// The ledger's work on balances: finds both accounts, subtracts the amount from one and adds it to the other.
fn transfers(table: &mut Accounts, pairs: &[[[u8; 16]; 2]]) {
    for pairs in pairs.chunks(GROUP) {
        let keys = pairs.as_flattened();
        let mut found = [None; 2 * GROUP];
        table.lookup_batch(keys, &mut found[..keys.len()]);
        for pair in found[..keys.len()].chunks(2) {
            let &[Some(source), Some(destination)] = pair else { panic!("an account is lost") };
            if let Some(rest) = balance(table, source).checked_sub(1)
                && source != destination
                && let Some(sum) = balance(table, destination).checked_add(1)
            {
                table.set_value(source, rest.to_le_bytes());
                table.set_value(destination, sum.to_le_bytes());
            }
        }
    }
}

fn balance(table: &Accounts, account: EntryIndex) -> u64 {
    u64::from_le_bytes(table.value(account))
}

/// Nanoseconds per operation of a run.
fn time(run: impl FnOnce()) -> f64 {
    let started = Instant::now();
    run();
    started.elapsed().as_secs_f64() * 1e9 / RUN as f64
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * bound as u128) >> 64) as u64
    }
}
