//! Values of varying size, in memory of fixed size.
//!
//! A value occupies a block of 64-byte lines. In a separate array, so that no value can be mistaken for one, every line
//! has a head: if a block starts there, the version of its contents and the value's length. A [`ValueHandle`] names
//! line and version. The version changes whenever the block gets another value or none, so a reader with an old handle
//! gets nothing instead of another value.
//!
//! - To store: take a free block of the value's size. Write owner and bytes, then the head with the next even version.
//! - To remove: make the version odd, if the handle's is the present one. Then free the block.
//! - To read: the head must have the handle's version. Copy the bytes, and read the head again: if it differs, the
//!   value is gone. Otherwise mark the head as used.
//! - To evict for a size: each 64th time, and if no chunk is cut to this size, free all values of the next chunk of
//!   another size. Otherwise pass the blocks of this size cyclically: clear the mark of a marked one, and evict the
//!   first without a mark, or the 65th in any case. The caller learns the owners of evicted values.
//!
//! One thread writes. Readers never wait, and never get a part of a value.

use std::sync::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
};

use crate::{
    Error, Pages, Region,
    region::Array,
    shared_layout::{VALUE_FETCHED, VALUE_HEADER_BYTES, VALUE_MARK},
    simd,
    slabs::{CHUNK_LINES, LINE, Slabs},
};

/// Words per line.
const LINE_WORDS: usize = LINE / 8;

/// Size of a chunk in bytes, with the heads of its lines.
const CHUNK_BYTES: usize = CHUNK_LINES * (LINE + size_of::<u64>());

/// Values evicted one by one before a chunk of another size is taken instead: often enough that memory follows the
/// requested sizes, rarely enough that values are not evicted by the dozen.
const REBALANCE: u32 = 64;

/// Marked values skipped before one is evicted nevertheless, so that an eviction takes bounded time.
const PASSED_OVER: usize = 64;

/// Identifies a value: a block, and a version of its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueHandle {
    line: u32,
    version: u32,
}

impl ValueHandle {
    /// Never refers to a value.
    pub const NONE: Self = Self { line: u32::MAX, version: 1 };

    /// Converts it to a number, for storage in a table.
    pub fn to_bits(self) -> u64 {
        u64::from(self.version) << 32 | u64::from(self.line)
    }

    /// Converts it from a number. One that [`ValueHandle::to_bits`] never returned refers to no value, or to an
    /// arbitrary one; reading it is harmless.
    pub fn from_bits(bits: u64) -> Self {
        Self { line: bits as u32, version: (bits >> 32) as u32 }
    }
}

/// Why a value was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStored {
    /// All blocks of this size are in use: [`ValueStore::evict`] makes room.
    #[error("the value store is full")]
    NoRoom,
    /// The value exceeds the store's maximum length.
    #[error("the value is longer than the store was made for")]
    TooLong,
}

/// Why a value was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    /// The value no longer exists.
    #[error("the value is no more")]
    Gone,
    /// The value does not fit; it has this many bytes.
    #[error("the value has {0} bytes, more than there is room for")]
    TooLong(usize),
}

/// Values of varying size. One thread writes; others read through a [`ValueReader`].
#[derive(Debug)]
pub struct ValueStore {
    blocks: Blocks,
    slabs: Slabs,
    longest: usize,
    evictions: u32,
}

impl ValueStore {
    /// Creates a store of `bytes` bytes, for values of up to `longest` bytes, in memory that it maps itself.
    pub fn with_capacity(bytes: usize, longest: usize, pages: Pages, prefault: bool) -> Result<Self, Error> {
        Self::with_region(Region::anonymous(bytes, pages, prefault)?, longest)
    }

    /// Creates a store in given memory, whose contents are lost.
    pub fn with_region(region: Region, longest: usize) -> Result<Self, Error> {
        let given = region.len();
        let chunks = Self::lines(given) / CHUNK_LINES;
        let largest = lines(longest);
        if largest > CHUNK_LINES {
            return Err(Error::Config("values longer than 16 KiB"));
        }
        let blocks = Blocks::new(&Arc::new(region), chunks).filter(|_| chunks > 0);
        let blocks = blocks.ok_or(Error::RegionTooSmall { given, needed: CHUNK_BYTES })?;
        Ok(Self { blocks, slabs: Slabs::new(chunks, largest), longest, evictions: 0 })
    }

    /// Number of lines of a store of this size: their heads come first in its memory, 8 bytes each, then the lines.
    pub fn lines(bytes: usize) -> usize {
        (bytes / CHUNK_BYTES).min(u32::MAX as usize / CHUNK_LINES) * CHUNK_LINES
    }

    /// Returns a handle to read values from another thread.
    pub fn reader(&self) -> ValueReader {
        ValueReader { blocks: self.blocks.clone() }
    }

    /// Stores a value. `owner` is the number by which [`ValueStore::evict`] reports it.
    pub fn insert(&mut self, value: &[u8], owner: u32) -> Result<ValueHandle, NotStored> {
        if value.len() > self.longest {
            return Err(NotStored::TooLong);
        }
        let line = self.slabs.take(lines(value.len())).ok_or(NotStored::NoRoom)?;
        let version = self.blocks.fill(line, value, owner).ok_or(NotStored::NoRoom)?;
        Ok(ValueHandle { line, version })
    }

    /// Removes a value. Returns whether it was there.
    pub fn remove(&mut self, handle: ValueHandle) -> bool {
        let present = self.blocks.head(handle.line).is_some_and(|head| Head::load(head).names(handle));
        if present {
            self.release(handle.line);
        }
        present
    }

    /// Evicts values to make room for one of `len` bytes, and calls `gone` with the owners of evicted values. Values
    /// read since the search last passed are skipped once.
    pub fn evict(&mut self, len: usize, mut gone: impl FnMut(u32)) {
        let size = lines(len);
        self.evictions = self.evictions.wrapping_add(1);
        if self.evictions.is_multiple_of(REBALANCE) || !self.slabs.has_class(size) {
            let chunk = self.slabs.next_chunk_but(size);
            for line in &chunk {
                gone(self.blocks.owner(*line));
                self.release(*line);
            }
            if !chunk.is_empty() {
                return;
            }
        }
        for passed_over in 0..=PASSED_OVER {
            let Some(line) = self.slabs.next_of_class(size) else { return };
            if !self.blocks.unmark(line) || passed_over == PASSED_OVER {
                gone(self.blocks.owner(line));
                self.release(line);
                return;
            }
        }
    }

    fn release(&mut self, line: u32) {
        self.blocks.empty(line);
        self.slabs.give(line);
    }
}

/// Reads values while the store's writer continues, from any number of threads.
#[derive(Clone, Debug)]
pub struct ValueReader {
    blocks: Blocks,
}

impl ValueReader {
    /// Prefetches the head and the first lines of a value, which then arrive concurrently.
    #[inline]
    pub fn prefetch(&self, handle: ValueHandle) {
        if let (Some(head), Some(block)) = (self.blocks.head(handle.line), self.blocks.block(handle.line)) {
            simd::prefetch(head);
            block.iter().step_by(LINE_WORDS).take(VALUE_FETCHED).for_each(simd::prefetch);
        }
    }

    /// Copies a value, whole, to the start of `room`, and returns its length. On failure the contents of `room` are
    /// unspecified.
    pub fn read(&self, handle: ValueHandle, room: &mut [u8]) -> Result<usize, NotRead> {
        let cell = self.blocks.head(handle.line).ok_or(NotRead::Gone)?;
        let head = Head::load(cell);
        if !head.names(handle) {
            return Err(NotRead::Gone);
        }
        let len = head.len as usize;
        let room = room.get_mut(..len).ok_or(NotRead::TooLong(len))?;
        let block = self.blocks.block(handle.line).ok_or(NotRead::Gone)?;
        let (whole, rest) = room.as_chunks_mut::<8>();
        let mut cells = block[VALUE_HEADER_BYTES / 8..].iter().map(|cell| cell.load(Relaxed).to_le_bytes());
        whole.iter_mut().zip(&mut cells).for_each(|(bytes, word)| *bytes = word);
        rest.iter_mut().zip(cells.next().unwrap_or_default()).for_each(|(byte, last)| *byte = last);
        fence(Acquire);
        let bits = cell.load(Relaxed);
        if Head::from_bits(bits) != head {
            return Err(NotRead::Gone);
        }
        if bits & VALUE_MARK == 0 {
            cell.fetch_or(VALUE_MARK, Relaxed);
        }
        Ok(len)
    }
}

/// Lines that a value of this length takes.
fn lines(len: usize) -> usize {
    (VALUE_HEADER_BYTES + len).div_ceil(LINE)
}

/// State of a line where a block may start: the version, odd if there is no value, and the value's length.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Head {
    version: u32,
    len: u32,
}

impl Head {
    fn load(cell: &AtomicU64) -> Self {
        Self::from_bits(cell.load(Acquire))
    }

    fn from_bits(bits: u64) -> Self {
        Self { version: (bits >> 32) as u32, len: (bits & (VALUE_MARK - 1)) as u32 }
    }

    fn store(self, cell: &AtomicU64) {
        cell.store(u64::from(self.version) << 32 | u64::from(self.len), Release);
    }

    fn names(self, handle: ValueHandle) -> bool {
        self.version == handle.version && self.version.is_multiple_of(2)
    }
}

/// The memory, as words: the heads of all lines, then the lines.
#[derive(Clone, Debug)]
struct Blocks {
    heads: Array<AtomicU64>,
    words: Array<AtomicU64>,
}

impl Blocks {
    fn new(region: &Arc<Region>, chunks: usize) -> Option<Self> {
        let lines = chunks * CHUNK_LINES;
        let heads: Array<AtomicU64> = region.array(0, lines)?;
        let words = region.array(size_of_val(&*heads), lines * LINE_WORDS)?;
        // No line has a value; versions are odd.
        heads.iter().for_each(|head| Head { version: 1, len: 0 }.store(head));
        Some(Self { heads, words })
    }

    #[inline(always)]
    fn head(&self, line: u32) -> Option<&AtomicU64> {
        self.heads.get(line as usize)
    }

    /// The words from a line on, at least those of one line.
    #[inline(always)]
    fn block(&self, line: u32) -> Option<&[AtomicU64]> {
        self.words.get(line as usize * LINE_WORDS..).filter(|words| words.len() >= LINE_WORDS)
    }

    fn owner(&self, line: u32) -> u32 {
        self.block(line).map_or(0, |block| block[0].load(Relaxed) as u32)
    }

    /// Clears a value's mark. Returns whether it was set.
    fn unmark(&self, line: u32) -> bool {
        self.head(line).is_some_and(|head| head.fetch_and(!VALUE_MARK, Relaxed) & VALUE_MARK != 0)
    }

    /// Stores a value in a free block, and returns its version.
    fn fill(&self, line: u32, value: &[u8], owner: u32) -> Option<u32> {
        let (head, block) = (self.head(line)?, self.block(line)?);
        // A reader that sees any of this also sees that the previous value is gone.
        fence(Release);
        block[0].store(owner.into(), Relaxed);
        let (whole, rest) = value.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // Write no further: the bytes after the value's last word may belong to another block.
        let words = whole.iter().chain((!rest.is_empty()).then_some(&last));
        for (cell, bytes) in block[VALUE_HEADER_BYTES / 8..].iter().zip(words) {
            cell.store(u64::from_le_bytes(*bytes), Relaxed);
        }
        let version = Head::load(head).version.wrapping_add(1);
        Head { version, len: value.len() as u32 }.store(head);
        Some(version)
    }

    /// Removes the value from a block.
    fn empty(&self, line: u32) {
        if let Some(head) = self.head(line) {
            let version = Head::load(head).version | 1;
            Head { version, len: 0 }.store(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn store(chunks: usize) -> ValueStore {
        ValueStore::with_capacity(chunks * CHUNK_BYTES, 1472, Pages::Small, false).unwrap()
    }

    fn value(seed: u32, len: usize) -> Vec<u8> {
        (0..len).map(|i| (seed as usize * 31 + i) as u8).collect()
    }

    #[test]
    fn values_come_back_until_they_are_removed() {
        let mut store = store(9);
        let reader = store.reader();
        let handles: Vec<_> = (0..9).map(|n| store.insert(&value(n, n as usize * 180), n).unwrap()).collect();
        let mut room = [0; 1472];
        for (n, handle) in (0..9).zip(&handles) {
            reader.prefetch(*handle);
            assert_eq!(ValueHandle::from_bits(handle.to_bits()), *handle);
            assert_eq!(reader.read(*handle, &mut room), Ok(n as usize * 180));
            assert_eq!(room[..n as usize * 180], value(n, n as usize * 180));
        }
        assert_eq!(reader.read(handles[2], &mut [0; 359]), Err(NotRead::TooLong(360)));
        assert!(store.remove(handles[2]));
        assert!(!store.remove(handles[2]));
        assert_eq!(reader.read(handles[2], &mut room), Err(NotRead::Gone));
        let again = store.insert(&value(7, 360), 7).unwrap();
        assert_eq!((again.line, again.version), (handles[2].line, handles[2].version + 2));
        assert_eq!(reader.read(handles[2], &mut room), Err(NotRead::Gone));
        assert_eq!(store.insert(&[0; 1473], 0), Err(NotStored::TooLong));
    }

    #[test]
    fn a_value_that_fills_its_block_leaves_the_next_one_alone() {
        let mut store = store(1);
        let len = 2 * LINE - VALUE_HEADER_BYTES;
        let first = store.insert(&value(1, len), 1).unwrap();
        let second = store.insert(&value(2, len), 2).unwrap();
        assert_eq!(second.line, first.line + 2);
        assert!(store.remove(first));
        assert_eq!(store.insert(&value(3, len), 3).unwrap().line, first.line);
        let mut gone = Vec::new();
        store.evict(len, |owner| gone.push(owner));
        store.evict(len, |owner| gone.push(owner));
        assert_eq!(gone, [3, 2]);
    }

    #[test]
    fn what_was_read_is_evicted_last() {
        let mut store = store(1);
        let reader = store.reader();
        let handles: Vec<_> = (0..).map_while(|n| store.insert(&value(n, 1400), n).ok()).collect();
        assert!(handles.len() >= 10);
        for handle in handles.iter().filter(|handle| handle.line < 100) {
            reader.read(*handle, &mut [0; 1472]).unwrap();
        }
        let mut gone = Vec::new();
        for _ in 0..handles.len() {
            store.evict(1400, |owner| gone.push(owner));
        }
        let unread = handles.iter().filter(|handle| handle.line >= 100).count();
        assert!(gone[..unread].iter().all(|owner| handles[*owner as usize].line >= 100));
        gone.sort_unstable();
        assert_eq!(gone, (0..handles.len() as u32).collect::<Vec<_>>());
        store.evict(1400, |_| panic!("there is nothing left"));
    }

    #[test]
    fn memory_follows_the_sizes_asked_for() {
        let mut store = store(4);
        while store.insert(&[1; 200], 1).is_ok() {}
        assert_eq!(store.insert(&[2; 1400], 2), Err(NotStored::NoRoom));
        let mut large = 0;
        for _ in 0..1000 {
            while let Err(NotStored::NoRoom) = store.insert(&[2; 1400], 2) {
                store.evict(1400, |owner| large -= i32::from(owner == 2));
            }
            large += 1;
        }
        assert!(large >= 36, "{large} large values in four chunks");
    }

    #[test]
    fn numbers_that_are_no_handles_are_harmless() {
        let mut store = store(1);
        store.insert(&[7; 1472], 0).unwrap();
        for line in (0..300).chain([u32::MAX]) {
            for version in [0, 1, 3, u32::MAX, 0x0707_0707] {
                let handle = ValueHandle { line, version };
                store.reader().prefetch(handle);
                assert_eq!(store.reader().read(handle, &mut [0; 2000]), Err(NotRead::Gone));
                assert!(!store.remove(handle));
            }
        }
    }

    proptest! {
        #[test]
        fn the_store_is_a_map(
            steps in prop::collection::vec((0..3_u8, 0..1473_usize, any::<prop::sample::Index>()), 0..300),
        ) {
            let mut store = store(2);
            let reader = store.reader();
            let mut model: HashMap<u32, (ValueHandle, Vec<u8>)> = HashMap::new();
            let mut old = Vec::new();
            for (owner, (kind, len, which)) in (0..).zip(steps) {
                match kind {
                    0 | 1 => {
                        let bytes = value(owner, len);
                        let handle = store.insert(&bytes, owner).or_else(|_| {
                            store.evict(len, |gone| old.push(model.remove(&gone).unwrap().0));
                            store.insert(&bytes, owner)
                        });
                        model.insert(owner, (handle.unwrap(), bytes));
                    }
                    _ if !model.is_empty() => {
                        let owner = *model.keys().nth(which.index(model.len())).unwrap();
                        let (handle, _) = model.remove(&owner).unwrap();
                        prop_assert!(store.remove(handle));
                        old.push(handle);
                    }
                    _ => {}
                }
            }
            let mut room = [0; 1472];
            for (handle, bytes) in model.values() {
                prop_assert_eq!(reader.read(*handle, &mut room), Ok(bytes.len()));
                prop_assert_eq!(&room[..bytes.len()], &bytes[..]);
            }
            for handle in old {
                prop_assert_eq!(reader.read(handle, &mut room), Err(NotRead::Gone));
            }
        }
    }
}
