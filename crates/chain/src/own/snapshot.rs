//! Snapshots: the index after a block, in a file. The block's header authenticates it; a checksum distinguishes damage
//! from fraud.
//!
//! The file is a header, all entries in order, and the BLAKE3 hash of both.
use super::error::Error;
use super::store::Store;
use super::tip::Tip;
use crate::index::{Index, Pending};
use crate::progress::{Progress, Stage};
use spv::{Hash, IndexEntry};
use std::sync::Arc;
use storage::{Directory, File, Mode};
use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: [u8; 8] = *b"TPindex1";

/// Prefix of the height in the name of a snapshot.
const PREFIX: &str = "index-";

/// Bytes per read and write: enough to make the cost of system calls negligible.
const BUFFER: usize = 1 << 20;

/// The first bytes of a snapshot.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    height: U64,
    block: Hash,
    accounts: U64,
    reserved: [u8; 8],
}

/// Ten digits hold every 32-bit height, so names sort by height.
fn name(height: u64) -> String {
    format!("{PREFIX}{height:010}")
}

/// The heights of all snapshots, ascending.
fn heights(directory: &Arc<dyn Directory>) -> Result<Vec<u64>, Error> {
    let names = directory.list()?;
    let number = |name: &String| name.strip_prefix(PREFIX).filter(|digits| digits.len() == 10)?.parse().ok();
    Ok(names.iter().filter_map(number).collect())
}

/// Writes the snapshot of the index as of `tip`.
pub(super) fn write(directory: &Arc<dyn Directory>, index: &Index, tip: &Tip) -> Result<(), Error> {
    let temporary = format!("{}.new", name(tip.height()));
    let file = directory.open(&temporary, Mode::Create)?;
    file.set_len(0)?;
    let mut writer =
        Writer { file: &*file, offset: 0, buffer: Vec::with_capacity(BUFFER), hasher: blake3::Hasher::new() };
    let header = Header {
        magic: MAGIC,
        height: tip.header.height,
        block: tip.hash,
        accounts: index.accounts().into(),
        reserved: [0; 8],
    };
    writer.write(header.as_bytes())?;
    for entries in index.chunks() {
        writer.write(entries.as_bytes())?;
    }
    writer.finish()?;
    file.sync()?;
    directory.rename(&temporary, &name(tip.height()))?;
    Ok(directory.sync()?)
}

/// Removes all snapshots except the newest `keep`, and unfinished ones left by a crash.
pub(super) fn remove_old(directory: &Arc<dyn Directory>, keep: usize) -> Result<(), Error> {
    let heights = heights(directory)?;
    for height in &heights[..heights.len().saturating_sub(keep)] {
        directory.remove(&name(*height))?;
    }
    for unfinished in directory.list()?.iter().filter(|name| name.starts_with(PREFIX) && name.ends_with(".new")) {
        directory.remove(unfinished)?;
    }
    Ok(())
}

/// Number of snapshots in a copy: the newest, and the one of the chain before, until the newest is committed.
const KEPT: usize = 2;

/// Copies the newest snapshot at or below a height, if any, unless it is there. Skips snapshots that are removed
/// meanwhile. Keeps one older snapshot of those in `to`.
pub(super) fn copy_newest(from: &Arc<dyn Directory>, to: &Arc<dyn Directory>, most: u64) -> Result<(), Error> {
    for height in heights(from)?.into_iter().rev().filter(|height| *height <= most) {
        let name = name(height);
        let length = match from.open(&name, Mode::Read) {
            Ok(file) => file.len()?,
            Err(storage::Error::NotFound { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        if to.exists(&name)? {
            if to.open(&name, Mode::Read)?.len()? == length {
                return Ok(());
            }
            // A crash ended an earlier copy.
            to.remove(&name)?;
        }
        match storage::copy_file(&**from, &name, &**to, length) {
            Ok(()) => return remove_old(to, KEPT),
            Err(storage::Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Loads the newest valid snapshot, with the hashes of the index and its height. Skips damaged ones: everything is in
/// the blocks as well.
pub(super) fn load_newest(
    directory: &Arc<dyn Directory>,
    store: &Store,
    tip: &Tip,
    progress: &Progress,
) -> Result<Option<(Index, Pending, u64)>, Error> {
    for height in heights(directory)?.into_iter().rev().filter(|height| *height < store.len()) {
        progress.expect(Stage::Blocks, tip.transactions - store.record(height)?.transactions_after());
        match load(directory, store, height, progress)? {
            Some((index, pending)) => return Ok(Some((index, pending, height))),
            None => tracing::warn!(height, "the snapshot of the index is damaged: rebuilding it from the blocks"),
        }
    }
    progress.expect(Stage::Blocks, tip.transactions);
    Ok(None)
}

/// Loads the index and its hashes from a snapshot, if it is valid.
fn load(
    directory: &Arc<dyn Directory>,
    store: &Store,
    height: u64,
    progress: &Progress,
) -> Result<Option<(Index, Pending)>, Error> {
    let file = directory.open(&name(height), Mode::Read)?;
    let mut reader = Reader { file: &*file, offset: 0, hasher: blake3::Hasher::new() };
    let mut header = Header::new_zeroed();
    let size = file.len()?;
    if size < size_of::<Header>() as u64 {
        return Ok(None);
    }
    reader.read(header.as_mut_bytes())?;
    let accounts = header.accounts.get();
    let block = store.record(height)?.header;
    let expected = accounts.checked_mul(32).and_then(|entries| entries.checked_add(size_of::<Header>() as u64 + 32));
    if header.magic != MAGIC
        || header.height.get() != height
        || header.block != block.hash()
        || block.accounts.get() != accounts
        || !block.states_index()
        || expected != Some(size)
    {
        return Ok(None);
    }
    progress.expect(Stage::Snapshot, accounts);
    progress.expect(Stage::Root, accounts);
    progress.begin(Stage::Snapshot);
    let mut failed = None;
    let mut left = accounts;
    let chunks = std::iter::from_fn(|| {
        let count = left.min((BUFFER / size_of::<IndexEntry>()) as u64);
        if count == 0 {
            return None;
        }
        left -= count;
        let mut entries = vec![IndexEntry::new_zeroed(); count as usize];
        match reader.read(entries.as_mut_bytes()) {
            Ok(()) => {
                progress.advance(Stage::Snapshot, count);
                Some(entries)
            }
            Err(error) => {
                failed = Some(error);
                None
            }
        }
    });
    let index = Index::from_entries(height as u32, accounts, chunks.flatten());
    if let Some(error) = failed {
        return Err(error.into());
    }
    let Ok(index) = index else { return Ok(None) };
    let mut sum = [0; 32];
    file.read_exact_at(&mut sum, reader.offset)?;
    progress.begin(Stage::Root);
    let mut pending = Pending::new(&index);
    let holds =
        (cfg!(fuzzing) || sum == *reader.hasher.finalize().as_bytes()) && pending.root(&index) == block.index_root;
    progress.advance(Stage::Root, accounts);
    Ok(holds.then_some((index, pending)))
}

/// Buffers and hashes what is written.
struct Writer<'a> {
    file: &'a dyn File,
    offset: u64,
    buffer: Vec<u8>,
    hasher: blake3::Hasher,
}

impl Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.hasher.update(&self.buffer);
        self.file.write_at(&self.buffer, self.offset)?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        Ok(self.file.write_at(self.hasher.finalize().as_bytes(), self.offset)?)
    }
}

/// Hashes what is read.
struct Reader<'a> {
    file: &'a dyn File,
    offset: u64,
    hasher: blake3::Hasher,
}

impl Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<(), storage::Error> {
        self.file.read_exact_at(into, self.offset)?;
        self.hasher.update(into);
        self.offset += into.len() as u64;
        Ok(())
    }
}
