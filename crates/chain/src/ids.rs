//! The positions of transaction ids in a block: a small table that is written with the block.
//!
//! Each id is hashed together with the account that names it. The upper part of the hash selects a bucket; the next 12
//! bits are stored as a fingerprint with the 20 bits of the position. So an id costs four bytes, and a look-up reads
//! one bucket and compares in full the one or two transactions that it yields.
use siphasher::sip::SipHasher13;
use spv::MAX_BLOCK_TRANSACTIONS;
use wire::{AccountId, Operation, TransactionId};
use zerocopy::byteorder::little_endian::U32;

/// Bits of a position, the lower ones of an entry; the others are the fingerprint.
const POSITION_BITS: u32 = MAX_BLOCK_TRANSACTIONS.ilog2();
const POSITION_MASK: u32 = MAX_BLOCK_TRANSACTIONS - 1;

/// Average number of transactions per bucket: a bucket is one or two cache lines.
const BUCKET: u32 = 16;

/// Size in bytes of an entry, and of a bucket's start.
const WORD: u64 = 4;

/// The key of a block's hashes, from the previous block, so that nobody can choose ids that meet in one bucket.
pub(crate) type Key = [u8; 16];

fn buckets(transactions: u32) -> u32 {
    transactions.div_ceil(BUCKET)
}

/// Words in a block's table: the starts of all buckets, then the entries.
pub(crate) fn words(transactions: u32) -> u64 {
    u64::from(buckets(transactions)) + u64::from(transactions)
}

/// Bytes of a block's table.
pub(crate) fn size(transactions: u32) -> u64 {
    words(transactions) * WORD
}

/// The bucket and the fingerprint of an id; the fingerprint is already shifted to its place in an entry.
fn slot(key: &Key, transaction: &TransactionId, source: &AccountId, buckets: u32) -> (u32, u32) {
    let mut message = [0; 32];
    message[..16].copy_from_slice(&transaction.0);
    message[16..].copy_from_slice(&source.0);
    let hash = SipHasher13::new_with_key(key).hash(&message);
    let bucket = ((hash >> 32) * u64::from(buckets)) >> 32;
    (bucket as u32, (hash as u32) & !POSITION_MASK)
}

/// The table of a block.
pub(crate) fn build(key: &Key, operations: &[Operation]) -> Vec<U32> {
    let buckets = buckets(operations.len() as u32);
    let slots: Vec<_> =
        operations.iter().map(|operation| slot(key, &operation.transaction, &operation.namer(), buckets)).collect();
    let mut starts = vec![0_u32; buckets as usize + 1];
    for (bucket, _) in &slots {
        starts[*bucket as usize + 1] += 1;
    }
    for bucket in 1..starts.len() {
        starts[bucket] += starts[bucket - 1];
    }
    let mut table = vec![U32::ZERO; buckets as usize + operations.len()];
    let (table_starts, entries) = table.split_at_mut(buckets as usize);
    for (start, place) in table_starts.iter_mut().zip(&starts) {
        *start = U32::new(*place);
    }
    for (position, (bucket, fingerprint)) in slots.into_iter().enumerate() {
        let place = &mut starts[bucket as usize];
        entries[*place as usize] = U32::new(fingerprint | position as u32);
        *place += 1;
    }
    table
}

/// The positions that may have an id; `read` returns words of the table.
pub(crate) fn candidates<E>(
    key: &Key,
    transactions: u32,
    transaction: &TransactionId,
    source: &AccountId,
    mut read: impl FnMut(u64, &mut [U32]) -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let buckets = buckets(transactions);
    if buckets == 0 {
        return Ok(Vec::new());
    }
    let (bucket, fingerprint) = slot(key, transaction, source, buckets);
    let mut bounds = [U32::ZERO, U32::new(transactions)];
    let is_last = bucket + 1 == buckets;
    read(u64::from(bucket), &mut bounds[..if is_last { 1 } else { 2 }])?;
    let [start, end] = bounds.map(|bound| bound.get().min(transactions));
    let mut entries = vec![U32::ZERO; end.saturating_sub(start) as usize];
    read(u64::from(buckets) + u64::from(start), &mut entries)?;
    let alike = entries.iter().filter(|entry| entry.get() & !POSITION_MASK == fingerprint);
    Ok(alike.map(|entry| entry.get() & POSITION_MASK).filter(|position| *position < transactions).collect())
}

const _: () = assert!(POSITION_BITS < 32);

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn operation(n: u32) -> Operation {
        Operation::issue(TransactionId::from(n / 3), AccountId::from(n % 3), 1)
    }

    #[test]
    fn every_id_is_found_and_few_others() {
        for n in [0, 1, 2, 15, 16, 17, 1000, 20_000] {
            let operations: Vec<_> = (0..n).map(operation).collect();
            let table = build(&[7; 16], &operations);
            assert_eq!(table.len() as u64, words(n));
            let find = |operation: &Operation| {
                candidates(&[7; 16], n, &operation.transaction, &operation.source, |at, out: &mut [U32]| {
                    out.copy_from_slice(&table[at as usize..at as usize + out.len()]);
                    Ok::<_, Infallible>(())
                })
                .unwrap()
            };
            for (position, operation) in operations.iter().enumerate() {
                assert!(find(operation).contains(&(position as u32)));
            }
            let strangers: usize = (n..n + 1000).map(|n| find(&operation(n)).len()).sum();
            assert!(strangers < 40, "{strangers} of 1000 strangers at n = {n}");
        }
    }
}
