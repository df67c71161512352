//! The layout of a block in the flat files.
use super::error::Damage;
use crate::ids;
use crate::links::Links;
use crate::merkle::{TAIL_SIZE, stored_nodes};
use spv::{BlockHeader, MAX_BLOCK_TRANSACTIONS, Seal, SealedHeader};
use std::ops::Range;
use wire::Operation;
use zerocopy::byteorder::little_endian::{U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a record.
pub(crate) const RECORD_SIZE: u64 = size_of::<Record>() as u64;

/// Limit of block offsets: more bytes than disks have, and far from the end of 64 bits.
const OFFSET_LIMIT: u64 = 1 << 60;

/// The first eight bytes of a BLAKE3 hash.
pub(crate) type Checksum = [u8; 8];

/// The checksum of some bytes.
pub(crate) fn checksum(bytes: &[u8]) -> Checksum {
    if cfg!(fuzzing) {
        // Fuzzers cannot compute checksums, and the code after this check must survive any bytes, too.
        return [0; 8];
    }
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
    checksum
}

/// The sections of a block in the blocks file, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The operations.
    Operations,
    /// The stored nodes of the transaction tree.
    Nodes,
    /// The table of transaction ids.
    Ids,
    /// Position and tail of each signed operation.
    Tails,
    /// The back-links.
    Links,
}

impl Section {
    pub(crate) const ALL: [Self; 5] = [Self::Operations, Self::Nodes, Self::Ids, Self::Tails, Self::Links];

    /// The damage that a bad section means.
    pub(crate) fn damage(self) -> Damage {
        match self {
            Self::Operations => Damage::Operations,
            Self::Nodes => Damage::Nodes,
            Self::Ids => Damage::Ids,
            Self::Tails => Damage::Tails,
            Self::Links => Damage::Links,
        }
    }

    /// Bytes of the section in a block.
    fn size(self, transactions: u32, tails: u32) -> u64 {
        let count = u64::from(transactions);
        match self {
            Self::Operations => count * Operation::LENGTH as u64,
            Self::Nodes => u64::from(stored_nodes(transactions)) * 32,
            Self::Ids => ids::size(transactions),
            Self::Tails => u64::from(tails) * size_of::<Tail>() as u64,
            Self::Links => count * size_of::<Links>() as u64,
        }
    }
}

/// Bytes that a block takes on disk for good, its record included. `signed` of its `transactions` are signed.
pub fn block_bytes(transactions: u32, signed: u32) -> u64 {
    RECORD_SIZE + Section::ALL.iter().map(|section| section.size(transactions, signed)).sum::<u64>()
}

/// The tail of a signed operation, with its position in the block.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Tail {
    pub(crate) position: U32,
    pub(crate) tail: [u8; TAIL_SIZE],
}

/// A block's record, at index `height` of the records file.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) header: BlockHeader,
    seal: Seal,
    /// The last operation of the journal that the blocks up to this one cover.
    pub(crate) end_sequence: U64,
    /// Offset of the block in the blocks file.
    pub(crate) offset: U64,
    /// Transactions in all blocks before.
    pub(crate) transactions_before: U64,
    /// Total amount issued up to this block.
    pub(crate) issued: U128,
    /// Number of signed transactions.
    pub(crate) tails: U32,
    reserved: [u8; 4],
    pub(crate) checksums: [Checksum; Section::ALL.len()],
    checksum: Checksum,
}

const _: () = assert!(RECORD_SIZE == 288);

/// The parts of a record besides its checksums.
pub(crate) struct RecordParts {
    pub(crate) sealed: SealedHeader,
    pub(crate) end_sequence: u64,
    pub(crate) offset: u64,
    pub(crate) transactions_before: u64,
    pub(crate) issued: u128,
    pub(crate) tails: u32,
}

impl Record {
    pub(crate) fn new(parts: RecordParts, checksums: [Checksum; Section::ALL.len()]) -> Self {
        let mut record = Self {
            header: parts.sealed.header,
            seal: parts.sealed.seal,
            end_sequence: parts.end_sequence.into(),
            offset: parts.offset.into(),
            transactions_before: parts.transactions_before.into(),
            issued: parts.issued.into(),
            tails: parts.tails.into(),
            reserved: [0; 4],
            checksums,
            checksum: [0; 8],
        };
        record.checksum = record.own_checksum();
        record
    }

    fn own_checksum(&self) -> Checksum {
        let bytes = self.as_bytes();
        checksum(&bytes[..bytes.len() - size_of::<Checksum>()])
    }

    /// Returns the record if it is intact and of this height.
    pub(crate) fn check(self, height: u64) -> Option<Self> {
        let fits = self.transactions() <= MAX_BLOCK_TRANSACTIONS
            && self.tails.get() <= self.transactions()
            && self.offset.get() <= OFFSET_LIMIT
            && self.header.height.get() == height;
        (fits && self.checksum == self.own_checksum()).then_some(self)
    }

    /// Whether a section with this hash matches the checksum in the record.
    pub(crate) fn has_checksum(&self, section: Section, hash: &blake3::Hash) -> bool {
        cfg!(fuzzing) || self.checksums[section as usize] == hash.as_bytes()[..size_of::<Checksum>()]
    }

    /// The header with its seal.
    pub(crate) fn sealed(&self) -> SealedHeader {
        SealedHeader { header: self.header, seal: self.seal }
    }

    pub(crate) fn transactions(&self) -> u32 {
        self.header.transactions.get()
    }

    /// The number of transactions in all blocks up to this one.
    pub(crate) fn transactions_after(&self) -> u64 {
        self.transactions_before.get().saturating_add(self.transactions().into())
    }

    /// The byte range of a section in the blocks file.
    pub(crate) fn section(&self, section: Section) -> Range<u64> {
        let (transactions, tails) = (self.transactions(), self.tails.get());
        let before = Section::ALL.iter().take_while(|other| **other != section);
        let start = self.offset.get() + before.map(|other| other.size(transactions, tails)).sum::<u64>();
        start..start + section.size(transactions, tails)
    }

    /// End of the block in the blocks file.
    pub(crate) fn end(&self) -> u64 {
        self.section(Section::Links).end
    }
}
