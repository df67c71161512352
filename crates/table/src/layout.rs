//! The memory layout of a table.
//!
//! The memory starts with a header, which gives the offset of everything after it: the locks of the values, the
//! buckets, the entries. So the memory means the same wherever it is mapped. Integers are little-endian. An entry is
//! the key and the value, each padded with zeros to a multiple of 8 bytes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{
    Error,
    bucket::Bucket,
    hash::{Hasher, Seed},
    region::{Cells, Pages},
    seqlock::words,
    shared_layout::{SECRETS, VALUE_LOCKS, is_table_header},
    simd::SLOTS,
};

/// "TPTABLE" and the version of this layout.
const MAGIC: u64 = u64::from_be_bytes(*b"TPTABLE\x01");

/// Maximum number of entries: the slots' indices have 32 bits, and the last is reserved as a mark.
pub const MAX_ENTRIES: usize = u32::MAX as usize - 1;

/// Per cent of slots in use when the table has its configured number of entries. Displacement finds a place up to 99,
/// but at 80 only one key in twenty-five is outside of its first bucket, against one in four at 95: this saves a cache
/// miss and a mispredicted branch, for 1.6 bytes per entry.
const LOAD: u32 = 80;

/// Minimum number of buckets. With few buckets, one may be both buckets of more keys than it has slots: ten keys in two
/// buckets find no place under one secret in 20,000, thirty in five under one in 100,000. With this minimum it is less
/// than one in 10^10, for 2 KiB.
const FEWEST_BUCKETS: u64 = 32;

/// Configuration of a table.
#[derive(Clone, Debug)]
pub struct Config {
    entries: usize,
    load: u32,
    seed: Option<Seed>,
    pages: Pages,
    prefault: bool,
    near: bool,
}

impl Config {
    /// A table for this many entries.
    pub fn new(entries: usize) -> Self {
        Self { entries, load: LOAD, seed: None, pages: Pages::default(), prefault: false, near: false }
    }

    /// Sets the per cent of slots in use when the table has all of its entries. Less is faster, more is smaller.
    pub fn load(self, per_cent: u32) -> Self {
        Self { load: per_cent, ..self }
    }

    /// Sets the seed of the hash function, which is random otherwise: for repeatable tests. Whoever knows the seed can
    /// choose keys that collide.
    pub fn seed(self, seed: Seed) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Sets the kind of pages, if the table maps its memory itself.
    pub fn pages(self, pages: Pages) -> Self {
        Self { pages, ..self }
    }

    /// Maps all pages at the start, if the table maps its memory itself, so that no insertion waits for one later.
    pub fn prefault(self, prefault: bool) -> Self {
        Self { prefault, ..self }
    }

    /// Puts the entry of a key, if there is room, into cache lines selected by the key's hash, instead of after the
    /// last entry: for readers that cannot prefetch, but can access two places at once. Such a table has pages for all
    /// of its entries as soon as it has a few of them.
    pub fn near(self) -> Self {
        Self { near: true, ..self }
    }

    pub(crate) fn is_near(&self) -> bool {
        self.near
    }

    /// Memory of a table with keys of `K` bytes and values of `V` bytes, in bytes.
    pub fn memory<const K: usize, const V: usize>(&self) -> Result<usize, Error> {
        Ok(self.layout(words(K) + words(V))?.end)
    }

    pub(crate) fn layout(&self, entry_words: usize) -> Result<Layout, Error> {
        if self.entries == 0 || self.entries > MAX_ENTRIES {
            return Err(Error::Config("entries"));
        }
        if !(10..=99).contains(&self.load) {
            return Err(Error::Config("load"));
        }
        let slots = (self.entries as u64 * 100).div_ceil(u64::from(self.load));
        Layout::new(slots.div_ceil(SLOTS as u64).max(FEWEST_BUCKETS), self.entries as u64, entry_words)
    }

    pub(crate) fn hasher(&self) -> Result<Hasher, Error> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => {
                let mut seed = Seed::default();
                getrandom::fill(&mut seed).map_err(Error::Random)?;
                seed
            }
        };
        Ok(Hasher::new(&seed))
    }

    pub(crate) fn map(&self, len: usize) -> Result<crate::Region, Error> {
        crate::Region::anonymous(len, self.pages, self.prefault)
    }
}

/// The layout: numbers and offsets, all within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Number of buckets.
    pub(crate) buckets: u32,
    /// Number of entries.
    pub(crate) capacity: u32,
    /// Offset of the locks.
    pub(crate) locks_at: usize,
    /// Offset of the buckets.
    pub(crate) buckets_at: usize,
    /// Offset of the entries.
    pub(crate) entries_at: usize,
    /// Total length.
    pub(crate) end: usize,
}

impl Layout {
    fn new(buckets: u64, capacity: u64, entry_words: usize) -> Result<Self, Error> {
        let buckets = u32::try_from(buckets).map_err(|_| Error::Config("load"))?;
        let capacity = u32::try_from(capacity).map_err(|_| Error::Config("entries"))?;
        let locks_at = size_of::<Header>();
        let buckets_at = locks_at + VALUE_LOCKS * size_of::<u32>();
        let entries_at = buckets_at + buckets as usize * size_of::<Bucket>();
        let end = (capacity as usize).checked_mul(entry_words * 8).and_then(|bytes| bytes.checked_add(entries_at));
        let end = end.ok_or(Error::Config("entries"))?;
        Ok(Self { buckets, capacity, locks_at, buckets_at, entries_at, end })
    }
}

/// The first 256 bytes of a table's memory.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Header {
    magic: AtomicU64,
    /// Bytes of a key and of a value.
    sizes: [AtomicU64; 2],
    buckets: AtomicU64,
    capacity: AtomicU64,
    locks_at: AtomicU64,
    buckets_at: AtomicU64,
    entries_at: AtomicU64,
    secrets: [AtomicU64; SECRETS],
    /// Entries in use.
    pub(crate) len: AtomicU64,
    reserved: [AtomicU64; 7],
}

// SAFETY: all fields are atomic integers, and there is no padding: 32 words.
unsafe impl Cells for Header {}
is_table_header!(Header);

impl Header {
    /// Describes an empty table. The magic number is written last: before that, attaching finds no table.
    pub(crate) fn write<const K: usize, const V: usize>(&self, layout: &Layout, hasher: &Hasher) {
        self.magic.store(0, Relaxed);
        self.sizes[0].store(K as u64, Relaxed);
        self.sizes[1].store(V as u64, Relaxed);
        self.buckets.store(layout.buckets.into(), Relaxed);
        self.capacity.store(layout.capacity.into(), Relaxed);
        self.locks_at.store(layout.locks_at as u64, Relaxed);
        self.buckets_at.store(layout.buckets_at as u64, Relaxed);
        self.entries_at.store(layout.entries_at as u64, Relaxed);
        for (cell, secret) in self.secrets.iter().zip(hasher.secrets()) {
            cell.store(*secret, Relaxed);
        }
        for cell in [&self.len].into_iter().chain(&self.reserved) {
            cell.store(0, Relaxed);
        }
        self.magic.store(MAGIC, std::sync::atomic::Ordering::Release);
    }

    /// Adds to the number of entries.
    pub(crate) fn add_len(&self, change: i64) {
        self.len.store(self.len.load(Relaxed).wrapping_add_signed(change), Relaxed);
    }

    /// Checks that this describes a table of these sizes, and returns its layout.
    pub(crate) fn read<const K: usize, const V: usize>(&self) -> Result<(Layout, Hasher), Error> {
        if self.magic.load(std::sync::atomic::Ordering::Acquire) != MAGIC {
            return Err(Error::NotATable("no table, or one of another version"));
        }
        if [self.sizes[0].load(Relaxed), self.sizes[1].load(Relaxed)] != [K as u64, V as u64] {
            return Err(Error::NotATable("other sizes of key and value"));
        }
        let layout = Layout::new(self.buckets.load(Relaxed), self.capacity.load(Relaxed), words(K) + words(V))?;
        let offsets = [&self.locks_at, &self.buckets_at, &self.entries_at].map(|cell| cell.load(Relaxed));
        if offsets != [layout.locks_at, layout.buckets_at, layout.entries_at].map(|at| at as u64) || layout.buckets == 0
        {
            return Err(Error::NotATable("offsets that do not belong together"));
        }
        let secrets = std::array::from_fn(|i| self.secrets[i].load(Relaxed));
        Ok((layout, Hasher::from_secrets(secrets)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_million_accounts_fit_ninety_megabytes() {
        let config = Config::new(2_000_000);
        assert!(config.memory::<16, 8>().unwrap() < 70_000_000);
        assert!(config.memory::<16, 16>().unwrap() < 86_000_000);
    }

    #[test]
    fn impossible_configurations_are_refused() {
        for config in [Config::new(0), Config::new(usize::MAX), Config::new(9).load(0), Config::new(9).load(100)] {
            assert!(matches!(config.memory::<16, 8>(), Err(Error::Config(_))));
        }
    }

    #[test]
    fn arrays_do_not_overlap() {
        let layout = Config::new(1000).layout(5).unwrap();
        assert_eq!(layout.buckets, 157);
        assert!(layout.locks_at >= size_of::<Header>());
        assert_eq!(layout.buckets_at, layout.locks_at + 4096);
        assert_eq!(layout.entries_at, layout.buckets_at + 157 * 64);
        assert_eq!(layout.end, layout.entries_at + 1000 * 40);
    }
}
