//! Copies a chain that another process may be appending to.
//!
//! The flat files only grow, and a block's record is written after all of its sections. A complete record therefore has
//! a complete block, and the copy's catalog is made from the last record copied.
use super::catalog::{Catalog, Commit};
use super::error::Error;
use super::record::{RECORD_SIZE, Record};
use super::snapshot;
use super::store::Options;
use crate::flat::FlatFile;
use std::sync::Arc;
use storage::Directory;
use zerocopy::{FromZeros, IntoBytes};

/// Copies the blocks in `from` that cover no operation after `last_sequence` of the journal, and the newest snapshot
/// of them, into the empty directory `to`, and commits them to its catalog. Returns the height.
///
/// # Errors
/// [`Error::NoChain`] if there is no block.
pub fn copy(
    from: &Arc<dyn Directory>,
    to: &Arc<dyn Directory>,
    catalog: &dyn Catalog,
    last_sequence: u64,
) -> Result<Commit, Error> {
    let segment_size = Options::default().segment_size;
    let open = |name| FlatFile::open_existing(Arc::clone(from), name, segment_size);
    // In this order: the blocks of all records seen are complete.
    let records = open("records")?;
    let blocks = open("blocks")?;
    let record = last_record(&records, last_sequence)?;
    let commit = Commit {
        height: record.header.height,
        hash: record.header.hash(),
        end_sequence: record.end_sequence.get().into(),
        records: ((record.header.height.get() + 1) * RECORD_SIZE).into(),
        blocks: record.end().into(),
    };
    for (name, file, length) in [("blocks", &blocks, commit.blocks), ("records", &records, commit.records)] {
        FlatFile::open(Arc::clone(to), name, segment_size, 0)?.copy_from(file, length.get())?;
    }
    snapshot::copy_newest(from, to, commit.height.get())?;
    to.sync()?;
    catalog.commit(&commit)?;
    Ok(commit)
}

/// The last record that is complete and covers no operation after `last_sequence`.
fn last_record(records: &FlatFile, last_sequence: u64) -> Result<Record, Error> {
    for height in (0..records.committed() / RECORD_SIZE).rev() {
        let mut record = Record::new_zeroed();
        records.read(height * RECORD_SIZE, record.as_mut_bytes())?;
        if let Some(record) = record.check(height)
            && record.end_sequence.get() <= last_sequence
        {
            return Ok(record);
        }
    }
    Err(Error::NoChain)
}
