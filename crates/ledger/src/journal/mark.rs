//! The high-water mark: how far the journal is durable, in a file beside the segments.
//!
//! The writer overwrites the mark after each sync, before anyone learns that the batch is durable, and never syncs it:
//! that costs a write to the page cache. After the process is killed, the mark is therefore exact. After a power
//! failure, it is as old as the kernel's last write-back of it, 30 s by default. It is always a lower bound: everything
//! up to it was synced before, and must exist.
//!
//! A missing or damaged mark, and that of a journal with another key, is ignored. If a write fails, the mark is not
//! written again until the journal is opened: a mark that lags is safe.

use std::sync::Arc;

use storage::{Directory, File, Mode};
use wire::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Error;

/// The file's name.
const NAME: &str = "durable";

const MAGIC: U32 = U32::from_bytes(*b"TPJM");

/// The version of the file. Any other is ignored like a missing file.
const VERSION: u32 = 1;

/// The content of the file, less than a sector: a disk writes it whole or not at all.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct MarkRecord {
    magic: U32,
    version: U32,
    /// Number of the last batch that was synced.
    number: U64,
    /// Sequence of the last operation that was synced.
    sequence: U64,
    /// The segment that has the batch.
    segment: U64,
    /// Where the batch begins in the segment.
    offset: U64,
    /// Identifies the journal without revealing the key of its digests.
    journal: [u8; 16],
    /// The first bytes of the BLAKE3 hash of all fields before.
    checksum: [u8; 8],
}

/// A batch that was synced, with all before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Synced {
    /// Number of the batch; 0 before the first.
    pub(super) number: u64,
    /// Sequence of the last operation up to it.
    pub(super) sequence: u64,
    /// The segment that contains it.
    pub(super) segment: u64,
    /// Where it begins there.
    pub(super) offset: u64,
}

impl MarkRecord {
    fn new(journal: [u8; 16], synced: &Synced) -> Self {
        let mut record = Self {
            magic: MAGIC,
            version: U32::new(VERSION),
            number: U64::new(synced.number),
            sequence: U64::new(synced.sequence),
            segment: U64::new(synced.segment),
            offset: U64::new(synced.offset),
            journal,
            checksum: [0; 8],
        };
        record.checksum = record.compute();
        record
    }

    fn compute(&self) -> [u8; 8] {
        let covered = &self.as_bytes()[..size_of::<Self>() - size_of_val(&self.checksum)];
        let mut checksum = [0; 8];
        checksum.copy_from_slice(&blake3::hash(covered).as_bytes()[..8]);
        checksum
    }

    /// The mark in a journal's directory; `None` if it is missing or damaged.
    pub(super) fn read(directory: &dyn Directory) -> Result<Option<Self>, Error> {
        let file = match directory.open(NAME, Mode::Read) {
            Ok(file) => file,
            Err(storage::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = [0; size_of::<Self>()];
        if file.read_at(&mut bytes, 0)? < bytes.len() {
            return Ok(None);
        }
        let record = Self::read_from_bytes(&bytes).ok();
        Ok(record.filter(|record| {
            record.magic == MAGIC && record.version.get() == VERSION && record.checksum == record.compute()
        }))
    }

    /// Whether this is the mark of the journal with this key.
    pub(super) fn is_of(&self, key: &[u8; 32]) -> bool {
        self.journal == identify(key)
    }

    pub(super) fn synced(&self) -> Synced {
        Synced {
            number: self.number.get(),
            sequence: self.sequence.get(),
            segment: self.segment.get(),
            offset: self.offset.get(),
        }
    }
}

fn identify(key: &[u8; 32]) -> [u8; 16] {
    let mut id = [0; 16];
    id.copy_from_slice(&blake3::keyed_hash(key, &MAGIC.to_bytes()).as_bytes()[..16]);
    id
}

/// The mark of a journal that is open for writing.
#[derive(Debug)]
pub(super) struct Mark {
    file: Arc<dyn File>,
    journal: [u8; 16],
    /// Whether a write failed. The mark then lags, which is safe, and the failure is logged once.
    is_stuck: bool,
}

impl Mark {
    /// Opens the mark of the journal with this key, whose last batch was synced, and syncs the mark.
    pub(super) fn open(directory: &dyn Directory, key: &[u8; 32], synced: &Synced) -> Result<Self, Error> {
        let file = directory.open(NAME, Mode::Create)?;
        let journal = identify(key);
        file.write_at(MarkRecord::new(journal, synced).as_bytes(), 0)?;
        file.sync()?;
        directory.sync()?;
        Ok(Self { file, journal, is_stuck: false })
    }

    /// Records that a batch was synced.
    pub(super) fn advance(&mut self, synced: &Synced) {
        if self.is_stuck {
            return;
        }
        if let Err(error) = self.file.write_at(MarkRecord::new(self.journal, synced).as_bytes(), 0) {
            self.is_stuck = true;
            tracing::warn!(%error, "the journal's high-water mark lags until the next start");
        }
    }
}
