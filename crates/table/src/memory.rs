//! A table's memory, divided into its parts: shared by the writer and the readers.

use std::sync::{Arc, atomic::AtomicU64};

use crate::{
    Error, Region,
    bucket::Bucket,
    hash::{Hash, Hasher, alternate},
    layout::{Header, Layout},
    region::Array,
    seqlock::{Sequence, equal, words},
    shared_layout::VALUE_LOCKS,
    simd::prefetch,
};

/// The arrays described by a header.
#[derive(Clone, Debug)]
pub(crate) struct Memory<const K: usize, const V: usize> {
    pub(crate) hasher: Hasher,
    header: Array<Header>,
    locks: Array<Sequence>,
    buckets: Array<Bucket>,
    entries: Array<AtomicU64>,
}

impl<const K: usize, const V: usize> Memory<K, V> {
    pub(crate) const ENTRY_WORDS: usize = words(K) + words(V);

    /// Creates an empty table in a region.
    pub(crate) fn create(region: Region, layout: &Layout, hasher: Hasher) -> Result<Self, Error> {
        let too_small = Error::RegionTooSmall { given: region.len(), needed: layout.end };
        let memory = Self::take_apart(&Arc::new(region), layout, hasher).ok_or(too_small)?;
        memory.buckets.iter().for_each(Bucket::reset);
        memory.header().write::<K, V>(layout, &memory.hasher);
        Ok(memory)
    }

    /// Attaches to the table in a region.
    pub(crate) fn attach(region: &Arc<Region>) -> Result<Self, Error> {
        let header = region.array::<Header>(0, 1).ok_or(Error::NotATable("shorter than a header"))?;
        let (layout, hasher) = header.first().ok_or(Error::NotATable("no header"))?.read::<K, V>()?;
        Self::take_apart(region, &layout, hasher).ok_or(Error::NotATable("shorter than its header says"))
    }

    fn take_apart(region: &Arc<Region>, layout: &Layout, hasher: Hasher) -> Option<Self> {
        Some(Self {
            hasher,
            header: region.array(0, 1)?,
            locks: region.array(layout.locks_at, VALUE_LOCKS)?,
            buckets: region.array(layout.buckets_at, layout.buckets as usize)?,
            entries: region.array(layout.entries_at, layout.capacity as usize * Self::ENTRY_WORDS)?,
        })
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        &self.header[0]
    }

    #[inline(always)]
    pub(crate) fn bucket_count(&self) -> u32 {
        self.buckets.len() as u32
    }

    #[inline(always)]
    pub(crate) fn bucket(&self, index: u32) -> &Bucket {
        &self.buckets[index as usize]
    }

    pub(crate) fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// Bytes before the entries.
    pub(crate) fn fixed_bytes(&self) -> usize {
        size_of::<Header>() + size_of_val(&*self.locks) + size_of_val(&*self.buckets)
    }

    /// Total bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.fixed_bytes() + size_of_val(&*self.entries)
    }

    pub(crate) fn capacity(&self) -> usize {
        self.entries.len() / Self::ENTRY_WORDS
    }

    /// Cells of an entry's key. Empty if the entry does not exist: shared memory may contain anything.
    #[inline(always)]
    pub(crate) fn key(&self, entry: u32) -> &[AtomicU64] {
        let start = entry as usize * Self::ENTRY_WORDS;
        self.entries.get(start..start + words(K)).unwrap_or_default()
    }

    /// Cells of an entry's value.
    #[inline(always)]
    pub(crate) fn value(&self, entry: u32) -> &[AtomicU64] {
        let start = entry as usize * Self::ENTRY_WORDS + words(K);
        self.entries.get(start..start + words(V)).unwrap_or_default()
    }

    /// The lock that an entry's value shares with others.
    #[inline(always)]
    pub(crate) fn lock(&self, entry: u32) -> &Sequence {
        &self.locks[entry as usize % VALUE_LOCKS]
    }

    /// The slot and the entry of a key in a bucket.
    #[inline(always)]
    pub(crate) fn find_in(&self, bucket: &Bucket, tag: u16, key: &[u8; K]) -> Option<(usize, u32)> {
        bucket.slots_with(tag).find_map(|slot| {
            let entry = bucket.entry(slot);
            equal(self.key(entry), key).then_some((slot, entry))
        })
    }

    #[inline(always)]
    pub(crate) fn first(&self, hash: Hash) -> (u32, &Bucket) {
        let index = hash.pick(self.bucket_count());
        (index, self.bucket(index))
    }

    #[inline(always)]
    pub(crate) fn second(&self, hash: Hash, first: u32) -> (u32, &Bucket) {
        let index = alternate(first, hash.tag(), self.bucket_count());
        (index, self.bucket(index))
    }

    #[inline(always)]
    pub(crate) fn prefetch_bucket(&self, hash: Hash) {
        prefetch(self.first(hash).1);
    }

    /// Prefetches the entry that is likely the key's and returns it, or prefetches the key's second bucket.
    #[inline(always)]
    pub(crate) fn prefetch_entry(&self, hash: Hash) -> Candidate {
        let (index, first) = self.first(hash);
        if let Some(slot) = first.slots_with(hash.tag()).next() {
            let entry = first.entry(slot);
            self.prefetch_cells(entry);
            return Candidate::Entry(entry);
        }
        if !first.has_overflow(hash.tag()) {
            return Candidate::None;
        }
        prefetch(self.second(hash, index).1);
        Candidate::Unknown
    }

    /// Prefetches the entry of a key that is likely in its second bucket.
    #[inline(always)]
    pub(crate) fn prefetch_displaced(&self, hash: Hash) {
        let (index, _) = self.first(hash);
        let second = self.second(hash, index).1;
        if let Some(slot) = second.slots_with(hash.tag()).next() {
            self.prefetch_cells(second.entry(slot));
        }
    }

    #[inline(always)]
    fn prefetch_cells(&self, entry: u32) {
        let start = entry as usize * Self::ENTRY_WORDS;
        if let Some(cells) = self.entries.get(start..start + Self::ENTRY_WORDS) {
            prefetch(&cells[0]);
            // Entries of such sizes never cross cache lines.
            if !64_usize.is_multiple_of(Self::ENTRY_WORDS * 8) {
                prefetch(&cells[Self::ENTRY_WORDS - 1]);
            }
        }
    }
}

/// Location of a key according to its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// Most likely in this entry.
    Entry(u32),
    /// Perhaps in its second bucket.
    Unknown,
    /// Nowhere.
    None,
}
