//! The on-disk format of a journal.

use wire::{Operation, SignedOperation, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Alignment of batches: the size of a memory page and of today's disk sectors.
pub const PAGE: u64 = 4096;

/// Version of the format.
pub(super) const VERSION: u32 = 2;

const SEGMENT_MAGIC: U32 = U32::from_bytes(*b"TPJS");
const BATCH_MAGIC: U32 = U32::from_bytes(*b"TPJB");

/// Header of a segment, in its own page.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct SegmentHeader {
    magic: U32,
    pub(super) version: U32,
    /// Number of the segment, from 1.
    pub(super) number: U64,
    /// Key of all digests of the journal.
    pub(super) key: [u8; 32],
    /// Length of the segment in bytes. All of them are written before the file gets its name, so a shorter file has
    /// lost some.
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

    /// Whether the digest matches. The version may differ.
    pub(super) fn is_intact(&self) -> bool {
        // Fuzzers cannot compute digests, and the code after this check must survive any bytes, too.
        self.magic == SEGMENT_MAGIC && (cfg!(fuzzing) || self.digest == self.compute())
    }

    fn compute(&self) -> [u8; 32] {
        let covered = &self.as_bytes()[..Self::LENGTH - size_of_val(&self.digest)];
        *blake3::keyed_hash(&self.key, covered).as_bytes()
    }
}

/// Position in the chain of batches.
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
    /// Newest times of all operations so far.
    pub(super) newest: Newest,
    /// The last batch is empty, or there is none.
    pub(super) is_sealed: bool,
}

impl Position {
    /// Start of a new journal.
    pub(super) const START: Self = Self {
        number: 1,
        sequence: 1,
        digest: [0; 32],
        timestamp: 0,
        newest: Newest { signed: U64::ZERO, ids: U64::ZERO },
        is_sealed: true,
    };

    /// The position after a batch that contains these newest times.
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

/// The newest times that operations carry, in microseconds since the Unix epoch; 0 for none. If these operations are
/// missing, a retry can be recognised only if it carries a newer time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Newest {
    /// Newest timestamp of signed operations.
    pub signed: U64,
    /// Newest time of transaction ids, of unsigned operations.
    pub ids: U64,
}

impl Newest {
    /// Includes an operation.
    #[inline]
    pub(super) fn operation(&mut self, operation: &Operation) {
        if let Some(time) = operation.time() {
            self.ids = U64::new(self.ids.get().max(time));
        }
    }

    /// Includes a signed operation.
    pub(super) fn signed(&mut self, timestamp: u64) {
        self.signed = U64::new(self.signed.get().max(timestamp));
    }

    /// The newest times in the payload of a batch with `count` records.
    pub(super) fn new(payload: &[u8], count: u32) -> Self {
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

    /// The newer of two, field by field.
    pub(super) fn max(self, other: Self) -> Self {
        let newer = |left: U64, right: U64| U64::new(left.get().max(right.get()));
        Self { signed: newer(self.signed, other.signed), ids: newer(self.ids, other.ids) }
    }
}

/// Length of a batch header in bytes.
pub const BATCH_HEADER_LENGTH: usize = size_of::<BatchHeader>();

/// Header of a batch. The records follow, then the tails of the signed ones.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct BatchHeader {
    magic: U32,
    /// Number of records.
    pub(super) count: U32,
    /// Number of tails.
    pub(super) signed: U32,
    reserved: U32,
    /// Number of the batch, from 1. Unlike sequences, numbers also advance with empty batches.
    pub(super) number: U64,
    /// Sequence of the first record.
    pub(super) first_sequence: U64,
    /// When the batch was written, in microseconds since the Unix epoch.
    pub(super) timestamp: U64,
    /// Newest times of all operations before the batch.
    pub(super) newest: Newest,
    reserved_more: [u8; 8],
    /// Digest of the previous batch; zeros in the first.
    pub(super) previous: [u8; 32],
    /// Keyed digest of the header before this field, and of the payload.
    pub(super) digest: [u8; 32],
}

impl BatchHeader {
    /// The header of the batch at a position, with these numbers of records and tails.
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

    /// Length of header and payload in bytes.
    pub(super) fn length(&self) -> u64 {
        let (count, signed) = (u64::from(self.count.get()), u64::from(self.signed.get()));
        BATCH_HEADER_LENGTH as u64 + count * Record::LENGTH as u64 + signed * Tail::LENGTH as u64
    }

    /// Whether header and payload are intact.
    pub(super) fn is_intact(&self, key: &[u8; 32], payload: &[u8]) -> bool {
        // Sequences begin at 1 and have 64 bits. As for segments, fuzzers cannot compute digests.
        (1..=u64::MAX - u64::from(u32::MAX)).contains(&self.first_sequence.get())
            && self.number.get() < u64::MAX
            && (cfg!(fuzzing) || self.digest == self.compute(key, payload))
    }

    pub(super) fn compute(&self, key: &[u8; 32], payload: &[u8]) -> [u8; 32] {
        let covered = &self.as_bytes()[..BATCH_HEADER_LENGTH - size_of_val(&self.digest)];
        *blake3::Hasher::new_keyed(key).update(covered).update(payload).finalize().as_bytes()
    }

    /// Sequence of the last record, or of the one before the batch if it is empty.
    pub(super) fn last_sequence(&self) -> u64 {
        // Wraps only in a damaged header, which the digest reveals later.
        self.first_sequence.get().wrapping_add(u64::from(self.count.get())).wrapping_sub(1)
    }
}

/// The result of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Record {
    /// The operation with its status set and its amount as requested.
    pub operation: Operation,
    /// The value of the reply.
    pub value: U64,
}

impl Record {
    /// Length of a record in bytes.
    pub const LENGTH: usize = size_of::<Self>();
}

/// The additional fields of a signed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Tail {
    /// Position in the batch of the record that it belongs to. Positions ascend.
    pub position: U32,
    bytes: [u8; SignedOperation::TAIL_LENGTH],
}

impl Tail {
    /// Length of a tail in bytes.
    pub const LENGTH: usize = size_of::<Self>();

    /// The tail of a signed operation.
    pub fn new(position: u32, signed: &SignedOperation) -> Self {
        Self { position: U32::new(position), bytes: *signed.tail() }
    }

    /// Reassembles the signed operation.
    pub fn join(&self, operation: &Operation) -> SignedOperation {
        SignedOperation::join(operation, &self.bytes)
    }
}

/// Iterates over the records of a batch, each with its signed operation if it is signed.
pub fn entries<'a>(
    records: &'a [Record],
    tails: &'a [Tail],
) -> impl Iterator<Item = (&'a Record, Option<SignedOperation>)> {
    entries_behind(0, records, tails)
}

/// The same for records that follow `skipped` others of their batch.
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

/// Size on disk: `length` rounded up to whole pages.
pub(super) const fn padded(length: u64) -> u64 {
    length.next_multiple_of(PAGE)
}
