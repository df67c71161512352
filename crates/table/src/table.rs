//! The table, for its single writer. The crate's documentation has the rules.

use std::sync::atomic::{
    Ordering::{Relaxed, Release},
    fence,
};

use crate::{
    Config, Error, Hash, Reader, Region,
    displace::Displacer,
    free::Free,
    memory::{Candidate, Memory},
    seqlock::{load, store},
};

/// Index of an entry: constant while it is in the table, and below the table's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, std::hash::Hash)]
pub struct EntryIndex(pub(crate) u32);

impl EntryIndex {
    /// Converts it to a number, for arrays parallel to the table.
    #[inline]
    pub fn get(self) -> u32 {
        self.0
    }
}

/// The error for a key that there is no room for; the table is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the table is full: configure more entries")]
pub struct Full;

/// A hash table from keys of `K` bytes to values of `V` bytes, in memory of fixed size.
///
/// Entries never move; only the 4-byte indices in the buckets do.
///
/// Values of up to 8 bytes change in one store. Longer ones are protected by one of a few locks that the entries share,
/// instead of their bucket's, so that [`Table::set_value`] needs only the index.
#[derive(Debug)]
pub struct Table<const K: usize, const V: usize> {
    memory: Memory<K, V>,
    displacer: Displacer,
    free: Free,
}

impl<const K: usize, const V: usize> Table<K, V> {
    /// Creates a table in memory that it maps itself.
    pub fn with_capacity(config: &Config) -> Result<Self, Error> {
        let region = config.map(config.memory::<K, V>()?)?;
        Self::with_region(config, region)
    }

    /// Creates a table in given memory of [`Config::memory`] bytes, aligned to 64, whose contents are lost.
    pub fn with_region(config: &Config, region: Region) -> Result<Self, Error> {
        let layout = config.layout(Memory::<K, V>::ENTRY_WORDS)?;
        let memory = Memory::create(region, &layout, config.hasher()?)?;
        Ok(Self { memory, displacer: Displacer::new(), free: Free::new(layout.capacity, config.is_near()) })
    }

    /// Returns a handle to read the table from another thread.
    pub fn reader(&self) -> Reader<K, V> {
        Reader::new(self.memory.clone())
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.memory.header().len.load(Relaxed) as usize
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Maximum number of entries.
    pub fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// Approximate number of resident bytes: untouched pages of an anonymous region take no memory.
    pub fn resident_estimate(&self) -> usize {
        let entries = self.free.untouched() as usize * Memory::<K, V>::ENTRY_WORDS * 8;
        self.memory.fixed_bytes() + entries
    }

    /// Hashes a key, for the functions that take a hash.
    #[inline]
    pub fn hash(&self, key: &[u8; K]) -> Hash {
        self.memory.hasher.hash(key)
    }

    /// First step of a batch: prefetches the bucket.
    #[inline]
    pub fn prefetch_bucket(&self, hash: Hash) {
        self.memory.prefetch_bucket(hash);
    }

    /// Second step of a batch, once the bucket is loaded: prefetches the entry that is likely the key's. If the key
    /// seems not to be in its first bucket, prefetches the second and returns false: then [`Table::prefetch_displaced`]
    /// prefetches the entry, in a third step.
    #[inline]
    pub fn prefetch_entry(&self, hash: Hash) -> bool {
        self.memory.prefetch_entry(hash) != Candidate::Unknown
    }

    /// Third step of a batch, for the few keys for which the second returned false.
    #[inline]
    pub fn prefetch_displaced(&self, hash: Hash) {
        self.memory.prefetch_displaced(hash);
    }

    /// Finds a key.
    #[inline]
    pub fn find(&self, hash: Hash, key: &[u8; K]) -> Option<EntryIndex> {
        self.locate(hash, key).map(|location| location.entry)
    }

    #[inline(always)]
    fn locate(&self, hash: Hash, key: &[u8; K]) -> Option<KeyLocation> {
        let (first, bucket) = self.memory.first(hash);
        if let Some((slot, entry)) = self.memory.find_in(bucket, hash.tag(), key) {
            return Some(KeyLocation { bucket: first, slot, entry: EntryIndex(entry) });
        }
        if !bucket.has_overflow(hash.tag()) {
            return None;
        }
        let (second, bucket) = self.memory.second(hash, first);
        let (slot, entry) = self.memory.find_in(bucket, hash.tag(), key)?;
        Some(KeyLocation { bucket: second, slot, entry: EntryIndex(entry) })
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &[u8; K]) -> Option<[u8; V]> {
        self.find(self.hash(key), key).map(|index| self.value(index))
    }

    /// The entry of a number from [`EntryIndex::get`].
    #[inline]
    pub fn entry(&self, number: u32) -> Option<EntryIndex> {
        ((number as usize) < self.capacity()).then_some(EntryIndex(number))
    }

    /// The key of an entry; zeros if it does not exist.
    #[inline]
    pub fn key(&self, index: EntryIndex) -> [u8; K] {
        load(self.memory.key(index.0))
    }

    /// The value of an entry; zeros if it does not exist.
    #[inline]
    pub fn value(&self, index: EntryIndex) -> [u8; V] {
        load(self.memory.value(index.0))
    }

    /// Changes the value of an entry.
    #[inline]
    pub fn set_value(&mut self, index: EntryIndex, value: [u8; V]) {
        let cells = self.memory.value(index.0);
        if V <= 8 {
            store(cells, &value);
        } else {
            self.memory.lock(index.0).write(|| store(cells, &value));
        }
    }

    /// Adds a key, or changes its value if it exists.
    pub fn insert(&mut self, key: &[u8; K], value: [u8; V]) -> Result<EntryIndex, Full> {
        let hash = self.hash(key);
        if let Some(index) = self.find(hash, key) {
            self.set_value(index, value);
            return Ok(index);
        }
        self.insert_new(hash, key, value)
    }

    /// Adds a key that does not exist, according to [`Table::find`].
    pub fn insert_new(&mut self, hash: Hash, key: &[u8; K], value: [u8; V]) -> Result<EntryIndex, Full> {
        debug_assert!(self.find(hash, key).is_none(), "the key is in the table");
        let entry = self.free.find(hash).ok_or(Full)?;
        let (first, bucket) = self.memory.first(hash);
        let (at, slot) = match bucket.free_slot() {
            Some(slot) => (first, slot),
            None => self.make_room(hash, first).ok_or(Full)?,
        };
        self.free.take(entry);
        self.memory.header().add_len(1);
        // A reader that sees any of this also sees that the entry's previous key is gone.
        fence(Release);
        store(self.memory.key(entry), key);
        store(self.memory.value(entry), &value);
        let displaced = at != first;
        if displaced {
            let bucket = self.memory.bucket(first);
            bucket.sequence.write(|| bucket.add_overflow(hash.tag()));
        }
        let bucket = self.memory.bucket(at);
        bucket.sequence.write(|| bucket.set(slot, hash.tag(), entry, displaced));
        Ok(EntryIndex(entry))
    }

    /// Makes a free slot for a key whose first bucket has none.
    #[cold]
    fn make_room(&mut self, hash: Hash, first: u32) -> Option<(u32, usize)> {
        let (second, bucket) = self.memory.second(hash, first);
        match bucket.free_slot() {
            Some(slot) => Some((second, slot)),
            None => self.displacer.make_room(&self.memory, [first, second]),
        }
    }

    /// Removes a key, and returns its value.
    pub fn remove(&mut self, key: &[u8; K]) -> Option<[u8; V]> {
        self.remove_hashed(self.hash(key), key).map(|(_, value)| value)
    }

    /// Removes a key, and returns the index of its entry and its value.
    pub fn remove_hashed(&mut self, hash: Hash, key: &[u8; K]) -> Option<(EntryIndex, [u8; V])> {
        let location = self.locate(hash, key)?;
        let value = self.value(location.entry);
        let bucket = self.memory.bucket(location.bucket);
        let displaced = bucket.is_displaced(location.slot);
        bucket.sequence.write(|| bucket.clear(location.slot));
        if displaced {
            let (_, first) = self.memory.first(hash);
            first.sequence.write(|| first.remove_overflow(hash.tag()));
        }
        self.free.give(location.entry.0);
        self.memory.header().add_len(-1);
        Some((location.entry, value))
    }

    /// All entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (EntryIndex, [u8; K], [u8; V])> + '_ {
        let slots = self.memory.buckets().iter().flat_map(|bucket| bucket.used_slots().map(|slot| bucket.entry(slot)));
        slots.map(|entry| (EntryIndex(entry), self.key(EntryIndex(entry)), self.value(EntryIndex(entry))))
    }

    pub(crate) fn memory(&self) -> &Memory<K, V> {
        &self.memory
    }
}

/// Location of a key in the table.
struct KeyLocation {
    bucket: u32,
    slot: usize,
    entry: EntryIndex,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::alternate;

    /// Keys that somebody who knows the seed could choose: all with the same hash.
    #[test]
    fn the_seventeenth_of_colliding_keys_is_refused_and_nothing_is_lost() {
        let mut table = Table::<16, 8>::with_capacity(&Config::new(1000).seed([1; 16])).unwrap();
        for number in 0..800_u64 {
            table.insert(&u128::from(number).to_be_bytes(), number.to_le_bytes()).unwrap();
        }
        let hash = Hash(0x1234_5678_9abc_def0);
        let buckets = table.memory.bucket_count();
        let first = hash.pick(buckets);
        assert_ne!(alternate(first, hash.tag(), buckets), first);
        let key = |number: u64| (1 << 100 | u128::from(number)).to_be_bytes();
        for number in 0..16 {
            table.insert_new(hash, &key(number), number.to_le_bytes()).unwrap();
        }
        for number in 16..40 {
            assert_eq!(table.insert_new(hash, &key(number), [0; 8]), Err(Full));
            assert_eq!(table.find(hash, &key(number)), None);
        }
        for number in 0..16 {
            let index = table.find(hash, &key(number)).unwrap();
            assert_eq!(table.value(index), number.to_le_bytes());
            assert_eq!(table.reader().find(hash, &key(number)), Some((index, number.to_le_bytes())));
        }
        for number in 0..800_u64 {
            assert_eq!(table.get(&u128::from(number).to_be_bytes()), Some(number.to_le_bytes()));
        }
        assert!(table.remove_hashed(hash, &key(3)).is_some());
        assert_eq!(table.insert_new(hash, &key(16), [0; 8]).map(|index| table.key(index)), Ok(key(16)));
        assert_eq!(table.len(), 816);
    }

    #[test]
    fn entries_of_other_tables_are_harmless() {
        let mut table = Table::<16, 12>::with_capacity(&Config::new(4).seed([1; 16])).unwrap();
        let beyond = EntryIndex(u32::MAX);
        table.set_value(beyond, [1; 12]);
        assert_eq!((table.key(beyond), table.value(beyond)), ([0; 16], [0; 12]));
        assert_eq!((table.entry(3), table.entry(4)), (Some(EntryIndex(3)), None));
    }
}
