//! The format of the pages. Integers are big-endian; a length counts the bytes that follow it.

use chain::{
    merkle::{SignedTail, TAIL_SIZE},
    own::WholeBlock,
};
use ledger::journal::{Newest, Record, Tail};
use spv::{BlockHeader, finality::Certificate};
use wire::Operation;
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::big_endian::{U32, U64},
};

/// A page takes whole blocks until it has this number of bytes.
pub const PAGE: usize = 4 << 20;

/// The point from which a replica continues: certificates, a body, and the sets of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The certificate of the block that the engine begins on.
    pub floor: Certificate,
    /// That of a later block,
    pub stating: Certificate,
    /// whose body states the ledger after the floor.
    pub body: Vec<u8>,
    /// The encoded sets of replicas as of the floor.
    pub members: Vec<u8>,
}

impl Checkpoint {
    /// Encodes it: each of the first three parts after its length in four bytes, then the last.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in [&self.floor.encode(), &self.stating.encode(), &self.body] {
            bytes.extend((part.len() as u32).to_be_bytes());
            bytes.extend(part);
        }
        bytes.extend(&self.members);
        bytes
    }

    /// Decodes the bytes of [`Self::encode`].
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let [floor, stating] = [take_certificate(&mut bytes)?, take_certificate(&mut bytes)?];
        let body = take_part(&mut bytes)?.to_vec();
        Some(Self { floor, stating, body, members: bytes.to_vec() })
    }
}

fn take_part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (part, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *bytes = rest;
    Some(part)
}

fn take_certificate(bytes: &mut &[u8]) -> Option<Certificate> {
    Certificate::decode(take_part(bytes)?).ok()
}

/// The signed part of a transaction of a block.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct SentTail {
    position: U32,
    tail: [u8; TAIL_SIZE],
}

/// Appends a block to a page: the header, the number of signed transactions in four bytes, the operations, and for each
/// signed one its position in four bytes and the part after the operation.
pub fn put_block(page: &mut Vec<u8>, block: &WholeBlock) {
    page.extend(block.header.as_bytes());
    page.extend((block.tails.len() as u32).to_be_bytes());
    page.extend(block.operations.as_bytes());
    for tail in &block.tails {
        page.extend(SentTail { position: tail.position.into(), tail: tail.tail }.as_bytes());
    }
}

/// Reads the next block of a page.
pub fn take_block(page: &mut &[u8]) -> Option<WholeBlock> {
    let (header, rest) = BlockHeader::read_from_prefix(page).ok()?;
    let (count, rest) = U32::read_from_prefix(rest).ok()?;
    let operations = header.transactions.get() as usize;
    let (operations, rest) = <[Operation]>::ref_from_prefix_with_elems(rest, operations).ok()?;
    let (tails, rest) = <[SentTail]>::ref_from_prefix_with_elems(rest, count.get() as usize).ok()?;
    let tails = tails.iter().map(|sent| SignedTail { position: sent.position.get(), tail: sent.tail }).collect();
    *page = rest;
    Some(WholeBlock { header, operations: operations.to_vec(), tails })
}

/// The head of a page of batches.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct BatchesStart {
    /// The height of the first block of all pages.
    pub first: U64,
    /// The newest times of all operations before the page.
    pub before: Newest,
}

/// The head of a block's batch, before its records and tails.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct SentBatch {
    header: BlockHeader,
    records: U32,
    tails: U32,
}

/// Appends a block's batch to a page: the header, the numbers of records and of tails in four bytes each, records,
/// tails.
pub fn put_batch(page: &mut Vec<u8>, header: &BlockHeader, (records, tails): (&[Record], &[Tail])) {
    let counts = [records.len(), tails.len()].map(|count| U32::new(count as u32));
    page.extend(SentBatch { header: *header, records: counts[0], tails: counts[1] }.as_bytes());
    page.extend(records.as_bytes());
    page.extend(tails.as_bytes());
}

/// Reads the next block's batch of a page.
pub fn take_batch<'a>(page: &mut &'a [u8]) -> Option<(BlockHeader, &'a [Record], &'a [Tail])> {
    let (start, rest) = SentBatch::read_from_prefix(page).ok()?;
    let (records, rest) = <[Record]>::ref_from_prefix_with_elems(rest, start.records.get() as usize).ok()?;
    let (tails, rest) = <[Tail]>::ref_from_prefix_with_elems(rest, start.tails.get() as usize).ok()?;
    *page = rest;
    Some((start.header, records, tails))
}
