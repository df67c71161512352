//! Copies a chain that another process may be appending to.
//!
//! The flat files only grow, and a block's record is written after all of its sections. A complete record therefore has
//! a complete block, and the commit of the copy is made from the last record copied.
use super::catalog::Commit;
use super::error::Error;
use super::record::{RECORD_SIZE, Record};
use super::retained::Retained;
use super::snapshot;
use super::store::Options;
use crate::flat::FlatFile;
use std::sync::Arc;
use storage::Directory;
use zerocopy::{FromZeros, IntoBytes};

/// Copies the blocks in `from` that cover no operation after `last_sequence` of the journal, and the newest snapshot
/// of them, into the directory `to`. Returns the commit that makes them a chain, for a catalog.
///
/// Pruned blocks that `to` has stay there: a copy that is brought up to date often enough has all blocks.
///
/// `to` has the blocks of the commit `present`; if that is `None`, it is empty. Until the new commit is in a catalog,
/// the chain in `to` is the one of `present`.
///
/// # Errors
/// [`Error::NoChain`] if there is no block; [`Error::Diverged`] if `present` is of another chain, or has more blocks;
/// [`Error::Gap`] if blocks after `present` are pruned. [`Error::Pruned`] and [`Error::NoSnapshot`] if
/// blocks that the copy needs are pruned meanwhile: copy again.
pub fn copy(
    from: &Arc<dyn Directory>,
    to: &Arc<dyn Directory>,
    present: Option<&Commit>,
    last_sequence: u64,
) -> Result<Commit, Error> {
    let segment_size = Options::default().segment_size;
    let open = |name, retained| FlatFile::open_existing(Arc::clone(from), name, segment_size, retained);
    // In this order: the blocks of all records seen are complete.
    let records = open("records", 0)?;
    let (retained, blocks) = loop {
        let retained = Retained::read(from)?;
        let blocks = open("blocks", retained.offset)?;
        // Otherwise they may have been removed before they were opened.
        if Retained::read(from)? == retained {
            break (retained, blocks);
        }
    };
    let record = last_record(&records, last_sequence)?;
    let commit = Commit {
        height: record.header.height,
        hash: record.header.hash(),
        end_sequence: record.end_sequence.get().into(),
        records: ((record.header.height.get() + 1) * RECORD_SIZE).into(),
        blocks: record.end().into(),
    };
    if let Some(present) = present {
        let height = present.height.get();
        let is_same = height <= commit.height.get()
            && read(&records, height)?.is_some_and(|record| record.header.hash() == present.hash);
        if !is_same {
            return Err(Error::Diverged { path: to.path().into(), height });
        }
        if height + 1 < retained.height {
            return Err(Error::Gap { path: to.path().into(), height, first: retained.height });
        }
    } else if commit.height.get() < retained.height {
        return Err(Error::Pruned { height: commit.height.get(), first: retained.height });
    } else if Retained::read(to)? != retained {
        retained.write(to)?;
    }
    let kept = Retained::read(to)?;
    let present = present.map_or((0, 0), |commit| (commit.blocks.get(), commit.records.get()));
    for (name, file, kept, has, length) in [
        ("blocks", &blocks, kept.offset, present.0, commit.blocks),
        ("records", &records, 0, present.1, commit.records),
    ] {
        FlatFile::open(Arc::clone(to), name, segment_size, kept, has)?.copy_from(file, kept, length.get())?;
    }
    snapshot::copy_newest(from, to, commit.height.get())?;
    if kept.height > 1 && snapshot::candidates(to, commit.height.get())?.is_empty() {
        return Err(Error::NoSnapshot { first: kept.height });
    }
    to.sync()?;
    Ok(commit)
}

/// The last record that is complete and covers no operation after `last_sequence`.
fn last_record(records: &FlatFile, last_sequence: u64) -> Result<Record, Error> {
    for height in (0..records.committed() / RECORD_SIZE).rev() {
        if let Some(record) = read(records, height)?
            && record.end_sequence.get() <= last_sequence
        {
            return Ok(record);
        }
    }
    Err(Error::NoChain)
}

/// The record of a height, if it is complete.
fn read(records: &FlatFile, height: u64) -> Result<Option<Record>, Error> {
    let mut record = Record::new_zeroed();
    records.read(height * RECORD_SIZE, record.as_mut_bytes())?;
    Ok(record.check(height))
}
