//! Backups: copies of a data directory that a node may be running on.
//!
//! The journal is copied first, up to its high-water mark, and then the chain, as far as that journal covers it. So the
//! copy is the ledger as of one durable operation: everything that was answered at `durable` before the backup began,
//! and nothing in part. The catalog, a key-value store that cannot be copied while it is written, is made from the
//! chain.
//!
//! A copy is brought up to date in the same way. Blocks never change, so only new ones are copied. They are appended to
//! those of the copy, where they count for nothing until a catalog commits them. Journal and catalog are
//! [staged](crate::staging), so after a crash the copy is the old ledger or the new one.

use std::{path::Path, sync::Arc};

use chain::own::{self, Catalog};
use ledger::journal;
use storage::{Directory, RealDirectory, copy_file};

use crate::{
    Error,
    layout::{self, CHAIN_KEY},
    replica::DIRECTORY,
    staging::{self, STAGING},
};

/// What a backup has.
#[derive(Clone, Copy, Debug)]
pub struct Backup {
    /// The height of the chain.
    pub height: u64,
    /// Number of blocks that this run has added to those already there.
    pub copied: u64,
    /// The last operation of the journal.
    pub last_sequence: u64,
    /// Whether the chain's key is in it.
    pub has_key: bool,
}

/// Copies the data directory `from` into the directory `to`, which is new, empty, or an earlier copy of `from`. A
/// replica's votes and imported Bitcoin blocks are left out.
///
/// # Errors
/// [`storage::Error::NotFound`] if `from` is not a data directory, [`storage::Error::Exists`] if `to` is `from` or a
/// replica's, [`own::Error::Diverged`] if `to` is of another ledger.
pub fn back_up(from: &Path, to: &Path) -> Result<Backup, Error> {
    let source = RealDirectory::open(from)?;
    for part in ["FORMAT", "journal", "chain"] {
        if !from.join(part).exists() {
            return Err(storage::Error::NotFound { path: from.join(part) }.into());
        }
    }
    storage::check_format(&source, layout::FORMAT)?;
    // Before it is locked: a node may be running there.
    let is_same = to.canonicalize().is_ok_and(|to| from.canonicalize().is_ok_and(|from| from == to));
    if is_same || to.join(DIRECTORY).exists() {
        return Err(storage::Error::Exists { path: to.into() }.into());
    }
    let data = layout::open(to)?;
    let copy = data.directory();
    let present = if to.join("catalog").exists() { layout::open_catalog(copy)?.last()? } else { None };
    let staged = copy.directory(STAGING)?;

    let journal = journal::copy(&*source.directory("journal")?, &*staged.directory("journal")?)?;
    let [from_chain, to_chain]: [Arc<dyn Directory>; 2] = [source.directory("chain")?, copy.directory("chain")?];
    let commit = own::copy(&from_chain, &to_chain, present.as_ref(), journal.last_sequence)?;
    if journal.first_sequence > commit.end_sequence.get() + 1 {
        return Err(journal::Error::Pruned { path: from.join("journal") }.into());
    }
    // Dropped at once: it must be closed before it is moved.
    layout::open_catalog(&*staged)?.commit(&commit)?;
    if from.join("cluster").exists() {
        let (from, to) = (source.directory("cluster")?, staged.directory("cluster")?);
        for name in from.list()?.iter().filter(|name| !name.ends_with(".new")) {
            to.replace(name, &from.read(name)?)?;
        }
    }
    let has_key = source.exists(CHAIN_KEY)?;
    if has_key && !copy.exists(CHAIN_KEY)? {
        let length = source.open(CHAIN_KEY, storage::Mode::Read)?.len()?;
        copy_file(&source, CHAIN_KEY, copy, length)?;
    }
    copy.sync()?;
    staging::complete(&data)?;
    staging::install(&data)?;
    let copied = commit.height.get() - present.map_or(0, |present| present.height.get());
    Ok(Backup { height: commit.height.get(), copied, last_sequence: journal.last_sequence, has_key })
}
