//! Errors of a journal.

use std::path::PathBuf;
use std::sync::Arc;

/// Why a journal cannot be opened, written or read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The disk failed, is full, or denies access.
    #[error(transparent)]
    Storage(Arc<storage::Error>),
    /// Durable data is damaged.
    #[error(
        "{}: damaged at byte {offset}: {reason}; nothing was changed. Restore the whole data directory from a backup, \
         or replace that of a replica with `turnpike cluster sync --replace`",
        path.display()
    )]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Offset of the damaged batch.
        offset: u64,
        /// The kind of damage.
        reason: String,
    },
    /// A journal exists where one was to be created.
    #[error("{}: contains a journal already; name an empty directory", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// A segment is missing: others, or the high-water mark, show that it existed.
    #[error(
        "{}: the segment is missing; restore the whole data directory from a backup, or replace that of a replica \
         with `turnpike cluster sync --replace`",
        path.display()
    )]
    Missing {
        /// The segment.
        path: PathBuf,
    },
    /// The high-water mark is missing, which a copy of a journal ends with.
    #[error("{}: no high-water mark: start and stop a node of this version on it, then copy it", path.display())]
    NoMark {
        /// The directory.
        path: PathBuf,
    },
    /// The node pruned segments faster than they were copied.
    #[error("{}: the node pruned segments before they were copied: remove the copy and start again", path.display())]
    Pruned {
        /// The directory.
        path: PathBuf,
    },
    /// A segment has the format of another version.
    #[error(
        "{}: written in format {found}, but this program reads format {expected}; use the program that wrote it, or \
         name another data directory",
        path.display()
    )]
    OtherVersion {
        /// The segment.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The format of this program.
        expected: u32,
    },
    /// The options contradict each other.
    #[error("a batch of {batch_bytes} bytes does not fit in a segment of {segment_bytes}: raise the segment size")]
    Options {
        /// Configured size of a batch.
        batch_bytes: usize,
        /// Configured size of a segment.
        segment_bytes: u64,
    },
    /// The requested operations were pruned, or are not written yet.
    #[error("operation {sequence} is not in the journal, which has operations from {first} to before {next}")]
    NotThere {
        /// The requested sequence.
        sequence: u64,
        /// The first sequence in the journal.
        first: u64,
        /// The next sequence to be written.
        next: u64,
    },
    /// An earlier write or sync failed, so nothing more can be written.
    #[error("the journal failed: {0}; remove the cause, then restart the node")]
    Failed(Arc<Self>),
}

impl From<storage::Error> for Error {
    fn from(error: storage::Error) -> Self {
        Self::Storage(Arc::new(error))
    }
}

impl Error {
    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Storage(error) => matches!(**error, storage::Error::Full { .. }),
            Self::Failed(error) => error.is_full(),
            _ => false,
        }
    }
}
