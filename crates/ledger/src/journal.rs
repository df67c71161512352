//! The journal: what the ledger did, in order, on disk.
//!
//! Operations gather in a [`Batch`] while the one before is written; [`Journal::commit`] appends a batch with one write
//! and one sync, after which its operations are durable. [`group_commit`] puts the two on two threads.
//!
//! # Files
//!
//! A journal is a directory of segments of one fixed size, `journal-` and their number. Space for a segment is not only
//! reserved but written before it is used, because syncing an overwrite changes no metadata: on ext4 it takes
//! half the time of syncing an append. Segments that are no longer needed are used again. A segment's header has its length: a
//! file that is shorter has lost what was written there.
//!
//! A segment begins with a page for its header; batches follow, each at the start of a page. So no write touches a
//! page that has durable data, and a torn write can only break the batch that was being written. Each batch carries a
//! BLAKE3 digest of the batch before, of its own header and its payload: one function is both checksum and hash chain.
//! The digest is keyed with a secret of the journal, so that nobody can place a batch inside an operation's fields.
//!
//! A batch also tells the newest times that operations before it carry, for the memory of [retries](crate::retries): what is
//! missing from a journal that was cut is known by them.
//!
//! # After a crash
//!
//! The scan at start-up follows the chain of digests. Where it breaks off, two things can have happened: the node died
//! while it wrote a batch, which it had not confirmed; or durable data was damaged. The batch was durable if an intact
//! batch with a higher number follows, or if the high-water mark covers its operations. Then opening fails with
//! [`Error::Damaged`], which names the file and the offset. Otherwise the batch is cut off and written over.
//!
//! The mark is exact after the process was killed. One case stays ambiguous and takes two faults at once: the power
//! fails within 20 ms of a commit, before an idle journal is [sealed](Journal::seal) with an empty batch, and the disk
//! damages that very batch, which it had confirmed. The batch is then taken for a torn one.
//!
//! Once a write or a sync has failed, nothing is known of what is on disk: the journal stays failed until it is opened again.

mod batch;
mod copy;
mod error;
mod format;
mod group_commit;
mod log;
mod mark;
mod open;
mod places;
mod reader;
mod recall;
mod segment;
mod writer;

pub use batch::Batch;
pub use copy::{Copied, copy};
pub use error::Error;
pub use format::{BATCH_HEADER_LENGTH, Newest, PAGE, Record, Tail, entries};
pub use group_commit::{Committer, Due, Preparer, Submission, Submitter, Work, group_commit};
pub use log::Log;
pub use open::{Behind, Opened, Torn};
pub use reader::{JournalBatch, JournalReader};
pub use recall::JournalRecall;
pub use writer::Journal;

/// How a journal is laid out.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// The most bytes in one batch; twice as much memory is used under full load.
    pub batch_bytes: usize,
    /// The key of the digests if the journal is made anew: random for a node, fixed in tests.
    pub key: [u8; 32],
}

impl Options {
    /// The usual layout: segments of 64 MiB, which 2 million operations a second fill in half a second, and batches of up to
    /// 16 MiB, which a disk of 1 GB/s syncs in 16 ms.
    pub fn new(key: [u8; 32]) -> Self {
        Self { segment_bytes: 64 << 20, batch_bytes: 16 << 20, key }
    }
}
