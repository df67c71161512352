//! The ring through which the in-NIC ledger streams executed operations: a BPF ring buffer with many writers and one
//! reader.
//!
//! Writers reserve room before they execute an operation, so records may be in another order than their execution: each
//! has a sequence, by which the reader sorts them. No sequence is ever missing.

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use rustix::param::page_size;
use table::Array;

use crate::{Error, error::refused, mapping::Mapping, shared_layout::committed, sys};

/// Flags in the first word of a record (Documentation/bpf/ringbuf.rst): still being written; discarded.
const BUSY: u64 = 1 << 31;
const DISCARDED: u64 = 1 << 30;

/// Words of a record's header, and of a record.
const HEADER: u64 = 1;
const RECORD: usize = committed::BYTES / 8;

/// An operation that the in-NIC ledger executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Its position in the order of execution, from 1.
    pub sequence: u64,
    /// The source's balance after it.
    pub value: u64,
    /// A command of the protocol: CREATE, ISSUE or TRANSFER.
    pub command: u32,
    /// The transaction id.
    pub transaction: u32,
    /// The account that it acts on.
    pub source: u32,
    /// The receiver of a transfer.
    pub destination: u32,
    /// The amount as requested.
    pub amount: u32,
    /// A status of the protocol.
    pub status: u16,
}

impl From<[u64; RECORD]> for Committed {
    fn from(words: [u64; RECORD]) -> Self {
        let half = |at: usize| (words[at / 8] >> (8 * (at % 8))) as u32;
        Self {
            sequence: words[committed::SEQUENCE / 8],
            value: words[committed::VALUE / 8],
            command: half(committed::COMMAND),
            transaction: half(committed::TRANSACTION),
            source: half(committed::SOURCE),
            destination: half(committed::DESTINATION),
            amount: half(committed::AMOUNT),
            status: half(committed::STATUS) as u16,
        }
    }
}

/// The reader's end.
#[derive(Debug)]
pub struct CommittedRing {
    map: OwnedFd,
    consumed: Array<AtomicU64>,
    produced: Array<AtomicU64>,
    words: Array<AtomicU64>,
    /// The next sequence to return, and records that arrived early; at most as many as the ring holds.
    next: u64,
    early: BTreeMap<u64, Committed>,
}

impl CommittedRing {
    /// Creates a ring of `bytes` bytes, a power of two and a multiple of a page.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        let map = sys::create_map(sys::MAP_RINGBUF, "ring", [0, 0], bytes as u32, 0).map_err(refused("a ring"))?;
        let mapped = |offset: usize, len: usize, write: bool| {
            let mapping = Mapping::new(map.as_fd(), offset as u64, len, write).map_err(refused("to map a ring"))?;
            let words = Arc::new(Arc::new(mapping).region(0, len)).words(0, len / size_of::<u64>());
            Ok(words.unwrap_or_else(|| unreachable!("mappings are aligned to pages")))
        };
        let page = page_size();
        // The reader's position, the writers' position, and the data.
        let (consumed, produced, words) =
            (mapped(0, page, true)?, mapped(page, page, false)?, mapped(2 * page, bytes, false)?);
        Ok(Self { consumed, produced, words, map, next: 1, early: BTreeMap::new() })
    }

    /// Sets the first sequence.
    pub fn begin(&mut self, next: u64) {
        self.next = next;
    }

    /// The map, for the program.
    pub fn map(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    /// Takes up to `limit` records from the ring, and passes those that are next in order to `give`. Returns how many
    /// it took.
    pub fn drain(&mut self, limit: usize, mut give: impl FnMut(&Committed)) -> usize {
        let (mut at, mut taken) = (self.consumed[0].load(Relaxed), 0);
        while taken < limit && at < self.produced[0].load(Acquire) {
            let header = self.word(at / 8).load(Acquire);
            if header & BUSY != 0 {
                break;
            }
            let length = header & (DISCARDED - 1);
            if header & DISCARDED == 0 {
                let record: [u64; RECORD] =
                    std::array::from_fn(|word| self.word(at / 8 + HEADER + word as u64).load(Relaxed));
                let record = Committed::from(record);
                assert!(record.sequence >= self.next, "no sequence comes twice");
                self.early.insert(record.sequence, record);
                while let Some(record) = self.early.remove(&self.next) {
                    give(&record);
                    self.next += 1;
                }
            }
            at += 8 * HEADER + length.next_multiple_of(8);
            // What was read may be overwritten from here on.
            self.consumed[0].store(at, Release);
            taken += 1;
        }
        taken
    }

    /// Unread bytes, and the size of the ring.
    pub fn bytes(&self) -> (u64, u64) {
        // Load the reader's position first: it never passes the writers'.
        let consumed = self.consumed[0].load(Acquire);
        (self.produced[0].load(Acquire) - consumed, 8 * self.words.len() as u64)
    }

    /// Number of records held back until earlier ones arrive.
    pub fn early(&self) -> usize {
        self.early.len()
    }

    fn word(&self, at: u64) -> &AtomicU64 {
        &self.words[at as usize % self.words.len()]
    }
}
