//! The tree of a solution.

use super::backend::LeafHash;
use super::blake2b::AT_ONCE;
use super::{Parameters, Rule};

/// The n bits of a leaf, or of the XOR of a subtree's leaves, in byte order, followed by zeros.
type Row = [u64; 4];

/// The indices of a solution of the right length.
pub(super) fn decode(parameters: &Parameters, solution: &[u8]) -> Vec<u32> {
    let width = parameters.collision_bits() + 1;
    let index = |number: usize| {
        let first = number * width;
        let mut bytes = [0; 8];
        let rest = &solution[first / 8..];
        match rest.first_chunk() {
            Some(chunk) => bytes = *chunk,
            None => bytes[..rest.len()].copy_from_slice(rest),
        }
        (u64::from_be_bytes(bytes) << (first % 8) >> (64 - width)) as u32
    };
    (0..1 << parameters.k).map(index).collect()
}

/// A row with the first `bits` bits set.
fn prefix(bits: usize) -> Row {
    let mut bytes = [0; 32];
    bytes[..bits / 8].fill(0xff);
    if !bits.is_multiple_of(8) {
        bytes[bits / 8] = !(0xff >> (bits % 8));
    }
    from_bytes(&bytes)
}

fn from_bytes(bytes: &[u8; 32]) -> Row {
    let mut row = [0; 4];
    for (word, bytes) in row.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    row
}

fn xor(a: Row, b: Row) -> Row {
    [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]]
}

fn and(a: Row, b: Row) -> Row {
    [a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]]
}

fn is_zero(a: Row) -> bool {
    a[0] | a[1] | a[2] | a[3] == 0
}

/// Whether no index occurs twice.
fn all_distinct(indices: &[u32]) -> bool {
    /// A table with four times as many places as there can be indices, so that few collide.
    const PLACES: usize = 4 << 10;
    /// Larger than any index.
    const EMPTY: u32 = u32::MAX;
    let mut table = [EMPTY; PLACES];
    indices.iter().all(|&index| {
        // In a solution made for it, all indices may collide in one place; that costs 2^(2k - 1) steps and no more.
        let mut place = (index.wrapping_mul(0x9e37_79b1) >> 20) as usize;
        while table[place] != EMPTY && table[place] != index {
            place = (place + 1) % PLACES;
        }
        let new = table[place] == EMPTY;
        table[place] = index;
        new
    })
}

/// Checks the tree, each subtree as soon as its last leaf is available.
pub(super) fn check(parameters: &Parameters, indices: &[u32], leaf_hash: &LeafHash) -> Result<(), Rule> {
    let distinct = all_distinct(indices);
    let leaves_per_hash = parameters.leaves_per_hash() as u32;
    let leaf_length = parameters.n / 8;
    let whole = prefix(parameters.n);
    let mut agree = [[0; 4]; 11];
    for (height, agree) in agree.iter_mut().enumerate().take(parameters.k) {
        *agree = prefix((height + 1) * parameters.collision_bits());
    }
    // At each height, the left half of the subtree whose right half is not complete.
    let mut waiting = [[0; 4]; 11];
    let mut numbers = [0; AT_ONCE];
    // One hash more than is used, because rows are read at full length.
    let mut hashes = [[0; 64]; AT_ONCE + 1];
    for (batch, some) in indices.chunks(AT_ONCE).enumerate() {
        for (number, index) in numbers.iter_mut().zip(some) {
            // Zcash's number of leaves per hash, for which a shift suffices.
            *number = if leaves_per_hash == 2 { index / 2 } else { index / leaves_per_hash };
        }
        if let Some(hashes) = hashes.first_chunk_mut() {
            leaf_hash.hash(&numbers, some.len(), hashes);
        }
        for (offset, &index) in some.iter().enumerate() {
            let leaf = batch * AT_ONCE + offset;
            let start = 64 * offset + (index - numbers[offset] * leaves_per_hash) as usize * leaf_length;
            let mut bytes = [0; 32];
            bytes.copy_from_slice(&hashes.as_flattened()[start..start + 32]);
            let mut row = and(from_bytes(&bytes), whole);
            let mut height = 0;
            // A set bit of the leaf's number is a left half that waits for it.
            while leaf >> height & 1 == 1 {
                let right = leaf + 1 - (1 << height);
                let left = right - (1 << height);
                row = xor(row, waiting[height]);
                if !is_zero(and(row, agree[height])) {
                    return Err(Rule::Collision);
                }
                if indices[right] < indices[left] {
                    return Err(Rule::Order);
                }
                if !distinct && indices[left..right].iter().any(|index| indices[right..=leaf].contains(index)) {
                    return Err(Rule::Duplicate);
                }
                height += 1;
            }
            waiting[height] = row;
        }
    }
    if is_zero(waiting[parameters.k]) { Ok(()) } else { Err(Rule::Root) }
}
