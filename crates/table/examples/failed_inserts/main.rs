//! Failed insertions by fill of a table: Figure 1 of Istvan and others (*A hash table for line-rate data processing*,
//! ACM TRETS 8(2), 2015), with the keyed hash next to theirs: `failed_inserts [BITS]`, for a table of 2^BITS items, 20
//! by default.
//!
//! As in the paper a key has one bucket, and fails if that is full. Prints a line for each point: part of the figure,
//! curve, fill in per cent, failed insertions in per cent of all.

mod keys;

use keys::Kind;
use turnpike_table::{Hasher, SLOTS, paper};

/// The fills of the figure, in per cent.
const FILLS: [usize; 19] = [10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100];

/// Limits of a bucket in part (a); the paper's go up to eight.
const LIMITS: [usize; 5] = [1, 2, 4, SLOTS, 16];

/// A hash function of 64 bits, whose upper ones pick the bucket.
type Function = fn(&[u8]) -> u64;

const FUNCTIONS: [(&str, Function); 4] =
    [("Lookup3", lookup3), ("multiplicative", multiplicative), ("CRC-32", crc), ("keyed", keyed)];

fn main() {
    let bits = std::env::args().nth(1).and_then(|bits| bits.parse().ok()).unwrap_or(20_u32).clamp(10, 26);
    let capacity = 1_usize << bits;
    let random = keys::generate(Kind::Random, capacity);
    for limit in LIMITS {
        tell("random keys", &format!("{limit} to a bucket"), &failures(&random, capacity, limit, lookup3));
    }
    for kind in [Kind::Names, Kind::Digests, Kind::Cookies] {
        let keys = keys::generate(kind, capacity);
        for (name, function) in FUNCTIONS {
            tell(kind.name(), name, &failures(&keys, capacity, SLOTS, function));
        }
    }
}

fn tell(part: &str, curve: &str, failures: &[f64]) {
    for (fill, failed) in FILLS.iter().zip(failures) {
        println!("{part}\t{curve}\t{fill}\t{failed:.5}");
    }
}

/// Failed insertions up to each fill, in per cent.
fn failures(keys: &[Vec<u8>], capacity: usize, limit: usize, hash: Function) -> Vec<f64> {
    let buckets = capacity / limit;
    let mut used = vec![0_u8; buckets];
    let (mut failed, mut done) = (0_u64, 0);
    FILLS
        .iter()
        .map(|fill| {
            let until = capacity * fill / 100;
            for key in &keys[done..until] {
                let bucket = ((hash(key) >> 32) * buckets as u64) >> 32;
                let used = &mut used[bucket as usize];
                if usize::from(*used) < limit { *used += 1 } else { failed += 1 }
            }
            done = until;
            100.0 * failed as f64 / until as f64
        })
        .collect()
}

fn lookup3(key: &[u8]) -> u64 {
    paper::lookup3(key, 0, 0).to_bits()
}

fn multiplicative(key: &[u8]) -> u64 {
    paper::multiplicative(key).to_bits()
}

fn keyed(key: &[u8]) -> u64 {
    thread_local! {
        // Any seed works; this one makes the figures repeatable.
        static HASHER: Hasher = Hasher::new(b"0123456789abcdef");
    }
    HASHER.with(|hasher| hasher.hash_bytes(key).to_bits())
}

/// The cyclic redundancy check of Ethernet (IEEE 802.3), bit by bit.
fn crc(key: &[u8]) -> u64 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let crc = key.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 })
    });
    u64::from(!crc) << 32
}
