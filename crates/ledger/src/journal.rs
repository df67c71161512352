//! The journal: results of the ledger, in order, on disk.
//!
//! Operations gather in a [`Batch`] while the previous batch is written. [`Journal::commit`] appends a batch with one
//! write and one sync, after which its operations are durable. [`group_commit`] splits the two between two threads.
//!
//! # Files
//!
//! A journal is a directory of segment files of one fixed size, named `journal-` and a number.
//!
//! - The whole segment is written before it is used, not only reserved: syncing an overwrite changes no metadata, which
//!   on ext4 takes half the time of syncing an append. Released segments are reused.
//! - A segment begins with a page for its header, which holds the segment's length. A shorter file has lost data.
//! - Batches follow, each at the start of a page. So no write touches a page with durable data, and a torn write can
//!   only break the batch being written.
//! - Each batch carries a BLAKE3 digest of the previous batch's digest, its own header and its payload: one function is
//!   both checksum and hash chain. The digest is keyed with a secret of the journal, so that nobody can plant a batch
//!   inside the fields of an operation.
//! - Each batch also carries the newest times of the operations before it. If those are pruned, the memory of
//!   [retries](crate::retries) is bounded by these times.
//!
//! # Rules
//!
//! The writer's position is a batch number, a sequence, the previous digest and an offset in the last segment.
//!
//! - To commit a batch: if it does not fit the rest of the segment, turn to the prepared segment, or prepare one. Stamp
//!   it with the time, or that of the previous batch if the clock was set back. Write its pages, and sync them.
//!   Overwrite the high-water mark, without a sync. Then publish the batch: readers see it, and its operations are
//!   durable.
//! - To seal: commit an empty batch, unless the last batch is one or no page is left. Do so when idle, and before
//!   closing.
//! - To prepare a segment: take a spare file, or write a new one of zeros. Write and sync the header, rename the file,
//!   and sync the directory.
//! - To prune to a sequence: while all operations of the oldest segment are below it and the next segment has a durable
//!   batch, rename the oldest to a spare, or remove it if there are six, and sync the directory. The last segment
//!   always stays, since the chain of digests continues from there.
//! - On a failed write or sync: the contents of the disk are unknown. The journal stays failed until it is opened
//!   again.
//! - To read: up to the published end only. A batch whose digest does not match is [damaged](Error::Damaged).
//!
//! Invariants: batch numbers and sequences have no gaps; a mark never exceeds the synced batches; nothing before the
//! published end changes until its segment is pruned.
//!
//! # After a crash
//!
//! The scan at start-up follows the chain of digests to its end. There, either the node died while writing a batch that
//! it had not confirmed, or durable data was damaged.
//!
//! - The batch was durable if an intact batch with a higher number follows, or if the high-water mark covers its
//!   operations. Then opening fails with [`Error::Damaged`], which names the file and the offset.
//! - Otherwise the batch is truncated and overwritten.
//! - The last intact batch is written and synced again: if its sync had failed, it may be in the page cache only.
//! - Unused segments become the prepared segment and spares. The mark is written and synced.
//!
//! After a kill of the process the mark is exact. One ambiguous case remains, and it takes two faults at once: the
//! power fails within 20 ms of a commit, before the idle journal is [sealed](Journal::seal) with an empty batch, and
//! the disk damages that very batch after confirming it. The batch is then taken for a torn one.

mod batch;
mod batch_index;
mod copy;
mod error;
mod format;
mod group_commit;
mod log;
mod mark;
mod open;
mod reader;
mod recall;
mod segment;
mod writer;

pub use batch::Batch;
pub use copy::{Copied, copy};
pub use error::Error;
pub use format::{BATCH_HEADER_LENGTH, Newest, PAGE, Record, Tail, entries};
pub use group_commit::{Committer, Due, Preparer, Submission, Submitter, Work, group_commit};
pub use log::{Log, SPARES};
pub use open::{Behind, Opened, Torn};
pub use reader::{JournalBatch, JournalReader};
pub use recall::JournalRecall;
pub use writer::Journal;

/// Layout of a journal.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size of a segment in bytes.
    pub segment_bytes: u64,
    /// Maximum size of a batch in bytes; under full load twice this much memory is in use.
    pub batch_bytes: usize,
    /// Key of the digests of a newly created journal: random for a node, fixed in tests.
    pub key: [u8; 32],
}

impl Options {
    /// The usual layout: segments of 64 MiB, which 2 million operations per second fill in half a second, and batches
    /// of up to 16 MiB, which a disk of 1 GB/s syncs in 16 ms.
    pub fn new(key: [u8; 32]) -> Self {
        Self { segment_bytes: 64 << 20, batch_bytes: 16 << 20, key }
    }
}
