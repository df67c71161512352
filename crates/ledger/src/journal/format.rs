//! The bytes of a journal.

use wire::{Operation, SignedOperation, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Batches begin at multiples of this, the size of a page of memory and of the sectors of today's disks.
pub const PAGE: u64 = 4096;

/// The version of the format.
pub(super) const VERSION: u32 = 2;

const SEGMENT_MAGIC: U32 = U32::from_bytes(*b"TPJS");
const BATCH_MAGIC: U32 = U32::from_bytes(*b"TPJB");

/// The header of a segment, in a page of its own.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct SegmentHeader {
    magic: U32,
    pub(super) version: U32,
    /// The segment's number, from 1.
    pub(super) number: U64,
    /// The key of all digests of the journal.
    pub(super) key: [u8; 32],
    /// Bytes of the segment, all of which are written before it has its name: a shorter file has lost some.
    pub(super) length: U64,
    reserved: [u8; 40],
    digest: [u8; 32],
}

impl SegmentHeader {
    pub(super) const LENGTH: usize = size_of::<Self>();

    pub(super) fn new(number: u64, key: [u8; 32], length: u64) -> Self {
        let mut header = Self {
            magic: SEGMENT_MAGIC,
            version: U32::new(VERSION),
            number: U64::new(number),
            key,
            length: U64::new(length),
            reserved: [0; 40],
            digest: [0; 32],
        };
        header.digest = header.compute();
        header
    }

    /// Is this what was written? The version may be another one.
    pub(super) fn is_intact(&self) -> bool {
        // Fuzzers cannot make digests, and what is behind them has to stand any bytes too.
        self.magic == SEGMENT_MAGIC && (cfg!(fuzzing) || self.digest == self.compute())
    }

    fn compute(&self) -> [u8; 32] {
        let covered = &self.as_bytes()[..Self::LENGTH - size_of_val(&self.digest)];
        *blake3::keyed_hash(&self.key, covered).as_bytes()
    }
}

/// Where the chain of batches stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Number of the next batch.
    pub(super) number: u64,
    /// Sequence of the next operation.
    pub(super) sequence: u64,
    /// Digest of the last batch.
    pub(super) digest: [u8; 32],
    /// Timestamp of the last batch.
    pub(super) timestamp: u64,
    /// Of all operations so far.
    pub(super) newest: Newest,
    /// Is the last batch an empty one, or are there none?
    pub(super) is_sealed: bool,
}

impl Position {
    /// Where a new journal begins.
    pub(super) const START: Self = Self {
        number: 1,
        sequence: 1,
        digest: [0; 32],
        timestamp: 0,
        newest: Newest { signed: U64::ZERO, ids: U64::ZERO },
        is_sealed: true,
    };

    /// Where the chain stands behind a batch that has these newest times in it.
    pub(super) fn after(header: &BatchHeader, newest: Newest) -> Self {
        Self {
            number: header.number.get() + 1,
            sequence: header.last_sequence() + 1,
            digest: header.digest,
            timestamp: header.timestamp.get(),
            newest: header.newest.max(newest),
            is_sealed: header.count.get() == 0,
        }
    }
}

/// The newest times that operations carry, in microseconds since the Unix epoch; 0 for none. A retry of what carries no
/// newer one cannot be recognised where these operations are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Newest {
    /// Timestamp of signed operations.
    pub signed: U64,
    /// Time of transaction ids, of operations without a signature.
    pub ids: U64,
}

impl Newest {
    /// Looks at an operation.
    #[inline]
    pub(super) fn operation(&mut self, operation: &Operation) {
        if let Some(time) = operation.time() {
            self.ids = U64::new(self.ids.get().max(time));
        }
    }

    /// Looks at a signed operation.
    pub(super) fn signed(&mut self, timestamp: u64) {
        self.signed = U64::new(self.signed.get().max(timestamp));
    }

    /// Those of the payload of a batch with so many records.
    pub(super) fn of(payload: &[u8], count: u32) -> Self {
        let mut newest = Self::default();
        let Ok((records, rest)) = <[Record]>::ref_from_prefix_with_elems(payload, count as usize) else {
            return newest;
        };
        for (record, signed) in entries(records, <[Tail]>::ref_from_bytes(rest).unwrap_or_default()) {
            match signed {
                Some(signed) => newest.signed(signed.timestamp.get()),
                None => newest.operation(&record.operation),
            }
        }
        newest
    }

    /// The newer ones of two.
    pub(super) fn max(self, other: Self) -> Self {
        let newer = |left: U64, right: U64| U64::new(left.get().max(right.get()));
        Self { signed: newer(self.signed, other.signed), ids: newer(self.ids, other.ids) }
    }
}

/// Bytes of the header of a batch.
pub const BATCH_HEADER_LENGTH: usize = size_of::<BatchHeader>();

/// The header of a batch. The records follow, then the tails of those that are signed.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct BatchHeader {
    magic: U32,
    /// Number of records.
    pub(super) count: U32,
    /// Number of tails.
    pub(super) signed: U32,
    reserved: U32,
    /// The batch's number, from 1. Unlike sequences, numbers grow with empty batches too.
    pub(super) number: U64,
    /// Sequence of the first record.
    pub(super) first_sequence: U64,
    /// When the batch was written, microseconds since the Unix epoch.
    pub(super) timestamp: U64,
    /// Of all operations before the batch.
    pub(super) newest: Newest,
    reserved_more: [u8; 8],
    /// Digest of the batch before; zeros in the first.
    pub(super) previous: [u8; 32],
    /// Keyed digest of all of the header before this field, and of the payload.
    pub(super) digest: [u8; 32],
}

impl BatchHeader {
    /// The header of the batch at a position, with so many records and tails.
    pub(super) fn new(position: &Position, counts: (u32, u32), timestamp: u64) -> Self {
        Self {
            magic: BATCH_MAGIC,
            count: U32::new(counts.0),
            signed: U32::new(counts.1),
            reserved: U32::ZERO,
            number: U64::new(position.number),
            first_sequence: U64::new(position.sequence),
            timestamp: U64::new(timestamp),
            newest: position.newest,
            reserved_more: [0; 8],
            previous: position.digest,
            digest: [0; 32],
        }
    }

    pub(super) fn is_batch(&self) -> bool {
        self.magic == BATCH_MAGIC
    }

    /// Bytes of header and payload.
    pub(super) fn length(&self) -> u64 {
        let (count, signed) = (u64::from(self.count.get()), u64::from(self.signed.get()));
        BATCH_HEADER_LENGTH as u64 + count * Record::LENGTH as u64 + signed * Tail::LENGTH as u64
    }

    /// Is this, with this payload, what was written?
    pub(super) fn is_intact(&self, key: &[u8; 32], payload: &[u8]) -> bool {
        // Sequences begin with 1 and end with 64 bits. As for segments, fuzzers cannot make digests.
        (1..=u64::MAX - u64::from(u32::MAX)).contains(&self.first_sequence.get())
            && self.number.get() < u64::MAX
            && (cfg!(fuzzing) || self.digest == self.compute(key, payload))
    }

    pub(super) fn compute(&self, key: &[u8; 32], payload: &[u8]) -> [u8; 32] {
        let covered = &self.as_bytes()[..BATCH_HEADER_LENGTH - size_of_val(&self.digest)];
        *blake3::Hasher::new_keyed(key).update(covered).update(payload).finalize().as_bytes()
    }

    /// Sequence of the last record; of the one before the batch if it is empty.
    pub(super) fn last_sequence(&self) -> u64 {
        // Wraps only in a header that is damaged, which the digest tells later.
        self.first_sequence.get().wrapping_add(u64::from(self.count.get())).wrapping_sub(1)
    }
}

/// What the ledger did for one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Record {
    /// The operation: its status is set, its amount is as requested.
    pub operation: Operation,
    /// The value of the reply.
    pub value: U64,
}

impl Record {
    /// Bytes of a record.
    pub const LENGTH: usize = size_of::<Self>();
}

/// What a signed operation has more than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Tail {
    /// Position in the batch of the record that it belongs to. Positions ascend.
    pub position: U32,
    bytes: [u8; SignedOperation::TAIL_LENGTH],
}

impl Tail {
    /// Bytes of a tail.
    pub const LENGTH: usize = size_of::<Self>();

    /// The tail of a signed operation.
    pub fn new(position: u32, signed: &SignedOperation) -> Self {
        Self { position: U32::new(position), bytes: *signed.tail() }
    }

    /// The signed operation, put together again.
    pub fn join(&self, operation: &Operation) -> SignedOperation {
        SignedOperation::join(operation, &self.bytes)
    }
}

/// The records of a batch, each with the signed operation that it is of, if it is one.
pub fn entries<'a>(
    records: &'a [Record],
    tails: &'a [Tail],
) -> impl Iterator<Item = (&'a Record, Option<SignedOperation>)> {
    entries_behind(0, records, tails)
}

/// The same of the records behind so many of their batch.
pub(super) fn entries_behind<'a>(
    skipped: u32,
    records: &'a [Record],
    tails: &'a [Tail],
) -> impl Iterator<Item = (&'a Record, Option<SignedOperation>)> {
    let mut tails = tails.iter().skip_while(move |tail| tail.position.get() < skipped).peekable();
    (skipped..).zip(records).map(move |(position, record)| {
        let tail = tails.next_if(|tail| tail.position.get() == position);
        (record, tail.map(|tail| tail.join(&record.operation)))
    })
}

/// Bytes on disk of so many bytes: whole pages.
pub(super) const fn padded(length: u64) -> u64 {
    length.next_multiple_of(PAGE)
}
