//! Solves an Equihash problem by Wagner's algorithm, slowly.
//!
//! `solve_equihash N K PERSONALISATION INPUT`, where INPUT is the header up to and including the nonce, in hexadecimal.
//! Made some of the vectors in `tests/vectors/equihash.txt`: prints a line for the first solution, and one for the
//! first list of indices that breaks only the rule of the root. (192,7) takes 3 GB of memory and some minutes.
#![allow(missing_docs, clippy::unwrap_used)]

use std::env;

/// A leaf or an XOR of leaves, in the order of its bytes, and its number in its level's list of pairs.
type Row = ([u8; 32], u32);

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The `count` bits of a row from bit `from` on, at most 32.
fn bits(row: &[u8; 32], from: usize, count: usize) -> u64 {
    let mut bytes = [0; 8];
    for (to, byte) in bytes.iter_mut().zip(&row[from / 8..]) {
        *to = *byte;
    }
    u64::from_be_bytes(bytes) << (from % 8) >> (64 - count)
}

fn leaves(n: usize, k: usize, personalisation: &[u8], input: &[u8]) -> Vec<Row> {
    let per_hash = 512 / n;
    let mut personal = [0; 16];
    personal[..8].copy_from_slice(personalisation);
    personal[8..12].copy_from_slice(&(n as u32).to_le_bytes());
    personal[12..].copy_from_slice(&(k as u32).to_le_bytes());
    let mut parameters = blake2b_simd::Params::new();
    parameters.hash_length(per_hash * n / 8).personal(&personal);
    let leaf = |index: usize| {
        let number = (index / per_hash) as u32;
        let hash = parameters.to_state().update(input).update(&number.to_le_bytes()).finalize();
        let mut row = [0; 32];
        row[..n / 8].copy_from_slice(&hash.as_bytes()[index % per_hash * n / 8..][..n / 8]);
        (row, index as u32)
    };
    (0..2 << (n / (k + 1))).map(leaf).collect()
}

/// The indices below a pair of a level; the left half is the one with the lower first index.
fn indices(levels: &[Vec<(u32, u32)>], number: u32) -> Vec<u32> {
    let Some((level, below)) = levels.split_last() else { return vec![number] };
    let (left, right) = level[number as usize];
    let mut halves = [indices(below, left), indices(below, right)];
    halves.sort();
    halves.concat()
}

fn are_distinct(indices: &[u32]) -> bool {
    let mut sorted = indices.to_vec();
    sorted.sort();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// The indices as in a solution: one after the other, most significant bit first.
fn encode(indices: &[u32], width: usize) -> String {
    let digits: String = indices.iter().map(|index| format!("{index:0width$b}")).collect();
    (0..digits.len())
        .step_by(8)
        .map(|at| format!("{:02x}", u8::from_str_radix(&digits[at..at + 8], 2).unwrap()))
        .collect()
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [n, k, personalisation, input] = &arguments[..] else { panic!("usage: N K PERSONALISATION INPUT") };
    let (n, k): (usize, usize) = (n.parse().unwrap(), k.parse().unwrap());
    let collision = n / (k + 1);
    let mut rows = leaves(n, k, personalisation.as_bytes(), &from_hex(input));
    let mut levels: Vec<Vec<(u32, u32)>> = Vec::new();
    for height in 0..k {
        let key = |row: &Row| bits(&row.0, height * collision, collision);
        rows.sort_unstable_by_key(key);
        let (mut above, mut pairs) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for group in rows.chunk_by(|a, b| key(a) == key(b)) {
            for (at, left) in group.iter().enumerate() {
                for right in &group[at + 1..] {
                    let row = std::array::from_fn(|byte| left.0[byte] ^ right.0[byte]);
                    // Most likely the same index twice; and a bound on memory.
                    if (row != [0; 32] || height + 1 == k) && pairs.len() < 3 << collision {
                        above.push((row, pairs.len() as u32));
                        pairs.push((left.1, right.1));
                    }
                }
            }
        }
        eprintln!("level {}: {} rows", height + 1, above.len());
        rows = above;
        levels.push(pairs);
    }
    for (name, is_zero) in [("valid", true), ("Root", false)] {
        let found = rows.iter().filter(|row| (row.0 == [0; 32]) == is_zero);
        let found = found.map(|row| indices(&levels, row.1)).find(|indices| are_distinct(indices));
        match found {
            Some(indices) => println!("{n} {k} {name} {input} {}", encode(&indices, collision + 1)),
            None => eprintln!("no list of indices is {name}: try another nonce"),
        }
    }
}
