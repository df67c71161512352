//! Backups: copies of a data directory that a node may be running on.
//!
//! The journal is copied first, up to its high-water mark, and then the chain, as far as that journal covers it. So the
//! copy is the ledger as of one durable operation: everything that was answered at `durable` before the backup began,
//! and nothing in part. The catalog, a key-value store that cannot be copied while it is written, is made from the
//! chain.

use std::{path::Path, sync::Arc};

use chain::own;
use ledger::journal;
use storage::{Directory, RealDirectory, copy_file};

use crate::{
    Error,
    layout::{self, CHAIN_KEY},
};

/// What a backup has.
#[derive(Clone, Copy, Debug)]
pub struct Backup {
    /// The height of the chain.
    pub height: u64,
    /// The last operation of the journal.
    pub last_sequence: u64,
    /// Whether the chain's key is in it.
    pub has_key: bool,
}

/// Copies the data directory `from` into the new or empty directory `to`. A replica's votes and imported Bitcoin blocks
/// are left out.
///
/// # Errors
/// [`storage::Error::NotFound`] if `from` is not a data directory, [`storage::Error::Exists`] if there is one in `to`.
pub fn back_up(from: &Path, to: &Path) -> Result<Backup, Error> {
    let source = RealDirectory::open(from)?;
    for part in ["FORMAT", "journal", "chain"] {
        if !from.join(part).exists() {
            return Err(storage::Error::NotFound { path: from.join(part) }.into());
        }
    }
    storage::check_format(&source, layout::FORMAT)?;
    let data = layout::open(to)?;
    let copy = data.directory();
    for part in ["journal", "chain", "catalog"] {
        if to.join(part).exists() {
            return Err(storage::Error::Exists { path: to.join(part) }.into());
        }
    }
    let journal = journal::copy(&*source.directory("journal")?, &*copy.directory("journal")?)?;
    let catalog = layout::open_catalog(copy)?;
    let [from_chain, to_chain]: [Arc<dyn Directory>; 2] = [source.directory("chain")?, copy.directory("chain")?];
    let commit = own::copy(&from_chain, &to_chain, &catalog, journal.last_sequence)?;
    if journal.first_sequence > commit.end_sequence.get() + 1 {
        return Err(journal::Error::Pruned { path: from.join("journal") }.into());
    }
    if from.join("cluster").exists() {
        let (from, to) = (source.directory("cluster")?, copy.directory("cluster")?);
        for name in from.list()?.iter().filter(|name| !name.ends_with(".new")) {
            to.replace(name, &from.read(name)?)?;
        }
    }
    let has_key = source.exists(CHAIN_KEY)?;
    if has_key {
        let length = source.open(CHAIN_KEY, storage::Mode::Read)?.len()?;
        copy_file(&source, CHAIN_KEY, copy, length)?;
    }
    copy.sync()?;
    Ok(Backup { height: commit.height.get(), last_sequence: journal.last_sequence, has_key })
}
