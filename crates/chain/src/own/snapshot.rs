//! Snapshots: the index after a block, in a file. The block's header authenticates it; a checksum distinguishes damage
//! from fraud.
//!
//! A snapshot is written a slice at a time, while blocks are added: all at once, a gigabyte would keep the journal's
//! syncs and the block builder waiting. Each entry is as of the time at which its slice was written. It has the
//! position of its latest transaction, so a start knows which transactions of later blocks it includes. The start
//! applies all others from the first block after the snapshot began. The result is exact as of the block in which it
//! ended, and an index root authenticates it, see [`super::chain`].
//!
//! An entry that is removed before its slice is written, as a hold ends or an account is closed, is in no slice. But
//! the transactions that led there may be among those to apply, and need it: the end of a hold pays back an amount that
//! only the entry has. So such entries follow the others.
//!
//! The file consists of a header, the entries in order, removed ones, and a footer, which ends with the BLAKE3 hash of
//! all before it. Version 1 has the block and the number of entries in its header, and no removed ones: nothing changed
//! while it was written.
use super::error::Error;
use super::record::Record;
use super::store::Store;
use super::tip::Tip;
use crate::index::Index;
use crate::progress::{Progress, Stage};
use spv::{Hash, IndexEntry};
use std::sync::Arc;
use storage::{Directory, File, Mode, Page};
use wire::AccountId;
use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: [u8; 8] = *b"TPindex3";

/// The first bytes of version 1.
const MAGIC_1: [u8; 8] = *b"TPindex1";

/// Prefix of the height in the name of a snapshot.
const PREFIX: &str = "index-";

/// Name of the snapshot being written.
const UNFINISHED: &str = "index.new";

/// Bytes per read: enough to make the cost of system calls negligible.
const BUFFER: usize = 1 << 20;

/// Bytes of a slice: some milliseconds of writing, for which the block builder waits, and enough to make the cost of a
/// write past the page cache small. Low in tests, whose indices are small.
pub const SLICE: usize = if cfg!(test) { Page::LENGTH } else { 1 << 20 };

/// The first bytes of a snapshot.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    /// The last block when the snapshot began.
    height: U64,
    block: Hash,
    /// Version 1: number of entries.
    accounts: U64,
    reserved: [u8; 8],
}

/// The last bytes of a snapshot.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Footer {
    /// The last block when the snapshot ended.
    height: U64,
    block: Hash,
    /// Number of entries.
    entries: U64,
    /// Number of entries that were removed meanwhile.
    removed: U64,
    checksum: Hash,
}

/// Bytes of the footer before the checksum.
const FOOTER: usize = size_of::<Footer>() - size_of::<Hash>();

/// Ten digits hold every 32-bit height, so names sort by height.
pub(super) fn name(height: u64) -> String {
    format!("{PREFIX}{height:010}")
}

/// The heights of all snapshots, ascending.
pub(super) fn heights(directory: &Arc<dyn Directory>) -> Result<Vec<u64>, Error> {
    let names = directory.list()?;
    let number = |name: &String| name.strip_prefix(PREFIX).filter(|digits| digits.len() == 10)?.parse().ok();
    Ok(names.iter().filter_map(number).collect())
}

/// A snapshot being written.
#[derive(Debug)]
pub(super) struct Writer {
    directory: Arc<dyn Directory>,
    file: Arc<dyn File>,
    /// The block being filled, of which `filled` bytes are; all before it is in the file.
    pages: Vec<Page>,
    filled: usize,
    offset: u64,
    hasher: blake3::Hasher,
    /// The last account written.
    last: Option<AccountId>,
    entries: u64,
    /// Whether all entries are written.
    is_whole: bool,
}

impl Writer {
    /// Begins a snapshot after the block `tip`.
    pub(super) fn begin(directory: &Arc<dyn Directory>, tip: &Tip) -> Result<Self, Error> {
        let file = directory.open(UNFINISHED, Mode::Create)?;
        file.set_len(0)?;
        let mut writer = Self {
            directory: directory.clone(),
            file,
            pages: vec![Page::new_zeroed(); SLICE / Page::LENGTH],
            filled: 0,
            offset: 0,
            hasher: blake3::Hasher::new(),
            last: None,
            entries: 0,
            is_whole: false,
        };
        let header =
            Header { magic: MAGIC, height: tip.header.height, block: tip.hash, accounts: 0.into(), reserved: [0; 8] };
        writer.add(header.as_bytes())?;
        Ok(writer)
    }

    /// Whether all entries are written.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Number of entries written.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Writes the next slice of the entries, as they are now.
    pub(super) fn advance(&mut self, index: &Index) -> Result<(), Error> {
        let end = self.offset + SLICE as u64;
        let last = self.last;
        for entries in index.chunks_after(last.as_ref()) {
            if self.offset >= end {
                return Ok(());
            }
            self.add(entries.as_bytes())?;
            self.entries += entries.len() as u64;
            self.last = entries.last().map(|entry| AccountId(entry.account)).or(self.last);
        }
        self.is_whole = true;
        Ok(())
    }

    /// Ends a snapshot that is whole, as of `tip`, and makes it durable. `removed` has the entries that were removed
    /// since it began.
    pub(super) fn finish(mut self, tip: &Tip, removed: &[IndexEntry]) -> Result<(), Error> {
        self.add(removed.as_bytes())?;
        let mut footer = Footer {
            height: tip.header.height,
            block: tip.hash,
            entries: self.entries.into(),
            removed: (removed.len() as u64).into(),
            checksum: Hash::default(),
        };
        self.add(&footer.as_bytes()[..FOOTER])?;
        footer.checksum = *self.hasher.finalize().as_bytes();
        self.add(&footer.checksum)?;
        self.file.write_at(&self.pages.as_bytes()[..self.filled], self.offset)?;
        self.file.sync()?;
        self.directory.rename(UNFINISHED, &name(tip.height()))?;
        Ok(self.directory.sync()?)
    }

    /// Adds bytes. Whole blocks of pages bypass the page cache: they do not displace what transfers need, and leave
    /// nothing for a later sync to wait for.
    fn add(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.hasher.update(bytes);
        while !bytes.is_empty() {
            let pages = self.pages.as_mut_bytes();
            let (now, later) = bytes.split_at(bytes.len().min(pages.len() - self.filled));
            pages[self.filled..][..now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = later;
            if self.filled == SLICE {
                self.file.write_pages_at(&self.pages, self.offset)?;
                self.offset += SLICE as u64;
                self.filled = 0;
            }
        }
        Ok(())
    }
}

/// Removes all snapshots except the newest `keep`, and unfinished ones left by a crash.
pub(super) fn remove_old(directory: &Arc<dyn Directory>, keep: usize) -> Result<(), Error> {
    let heights = heights(directory)?;
    for height in &heights[..heights.len().saturating_sub(keep)] {
        directory.remove(&name(*height))?;
    }
    for unfinished in directory.list()?.iter().filter(|name| name.starts_with("index") && name.ends_with(".new")) {
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

/// A snapshot that was read. Its checksum is correct; what it contains is not verified.
pub(super) struct Loaded {
    /// Its entries.
    pub(super) index: Index,
    /// Those that were removed while it was written.
    pub(super) removed: Vec<IndexEntry>,
    /// The last block when it began. Blocks after it may be included, wholly or in part.
    pub(super) begun: u64,
    /// The block as of which it is, once the blocks up to it are applied.
    pub(super) ended: u64,
}

/// The heights of the snapshots of the chain's blocks up to `most`, newest first.
pub(super) fn candidates(directory: &Arc<dyn Directory>, most: u64) -> Result<Vec<u64>, Error> {
    Ok(heights(directory)?.into_iter().rev().filter(|height| *height <= most).collect())
}

/// The last block when the snapshot of a height began: a start applies the blocks after it.
pub(super) fn begun(directory: &Arc<dyn Directory>, height: u64) -> Result<u64, Error> {
    let mut header = Header::new_zeroed();
    directory.open(&name(height), Mode::Read)?.read_exact_at(header.as_mut_bytes(), 0)?;
    // A damaged one must not keep blocks for ever, and a start does not use it.
    Ok(if [MAGIC, MAGIC_1].contains(&header.magic) { header.height.get().min(height) } else { height })
}

/// Reads a snapshot; `None` if it is damaged.
pub(super) fn load(
    directory: &Arc<dyn Directory>,
    store: &Store,
    height: u64,
    progress: &Progress,
) -> Result<Option<Loaded>, Error> {
    let file = directory.open(&name(height), Mode::Read)?;
    let mut reader = Reader { file: &*file, offset: 0, hasher: blake3::Hasher::new() };
    let mut header = Header::new_zeroed();
    let size = file.len()?;
    if size < size_of::<Header>() as u64 {
        return Ok(None);
    }
    reader.read(header.as_mut_bytes())?;
    let begun = header.height.get();
    // All that the footer states is checked, below or by the hash.
    let mut footer = Footer::new_zeroed();
    let (accounts, removed, block, length) = match header.magic {
        MAGIC_1 if begun == height => (header.accounts.get(), 0, header.block, size_of::<Hash>()),
        MAGIC if size >= (size_of::<Header>() + size_of::<Footer>()) as u64 => {
            file.read_exact_at(footer.as_mut_bytes(), size - size_of::<Footer>() as u64)?;
            (footer.entries.get(), footer.removed.get(), footer.block, size_of::<Footer>())
        }
        _ => return Ok(None),
    };
    let entries = accounts.checked_add(removed).and_then(|count| count.checked_mul(size_of::<IndexEntry>() as u64));
    let expected = entries.and_then(|bytes| bytes.checked_add((size_of::<Header>() + length) as u64));
    let is_of_height = header.magic == MAGIC_1 || footer.height.get() == height;
    let is_possible = expected == Some(size) && is_of_height && begun <= height;
    if !is_possible || store.record(begun)?.header.hash() != header.block {
        return Ok(None);
    }
    progress.expect(Stage::Snapshot, accounts);
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
    let index = Index::from_snapshot(height as u32, begun as u32, accounts, chunks.flatten());
    if let Some(error) = failed {
        return Err(error.into());
    }
    let Ok(index) = index else { return Ok(None) };
    // The file has room for them.
    let mut removed = vec![IndexEntry::new_zeroed(); removed as usize];
    reader.read(removed.as_mut_bytes())?;
    if header.magic == MAGIC {
        reader.read(&mut footer.as_mut_bytes()[..FOOTER])?;
    }
    let mut sum = [0; 32];
    file.read_exact_at(&mut sum, reader.offset)?;
    let Record { header: record, .. } = store.record(height)?;
    let is_intact = cfg!(fuzzing) || sum == *reader.hasher.finalize().as_bytes();
    let is_of_the_block = record.hash() == block && record.states_index();
    Ok((is_intact && is_of_the_block).then_some(Loaded { index, removed, begun, ended: height }))
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
