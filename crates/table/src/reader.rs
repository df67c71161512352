//! Lock-free reading, concurrent with the writer.

use std::sync::Arc;

use crate::{
    EntryIndex, Error, Hash, Region,
    memory::{Candidate, Memory},
    seqlock::load,
};

/// Reads a table while its writer continues, from any number of threads.
///
/// Results were in the table at one moment during the call: never half a value, never the value of another key, and
/// never a miss because a key was moving between its buckets.
#[derive(Clone, Debug)]
pub struct Reader<const K: usize, const V: usize> {
    memory: Memory<K, V>,
}

impl<const K: usize, const V: usize> Reader<K, V> {
    pub(crate) fn new(memory: Memory<K, V>) -> Self {
        Self { memory }
    }

    /// Attaches to the table in a region, for example memory that another process writes.
    pub fn attach(region: Region) -> Result<Self, Error> {
        Memory::attach(&Arc::new(region)).map(Self::new)
    }

    /// Hashes a key.
    #[inline]
    pub fn hash(&self, key: &[u8; K]) -> Hash {
        self.memory.hasher.hash(key)
    }

    /// First step of a batch, as [`crate::Table::prefetch_bucket`].
    #[inline]
    pub fn prefetch_bucket(&self, hash: Hash) {
        self.memory.prefetch_bucket(hash);
    }

    /// Second step of a batch, as [`crate::Table::prefetch_entry`].
    #[inline]
    pub fn prefetch_entry(&self, hash: Hash) -> bool {
        self.memory.prefetch_entry(hash) != Candidate::Unknown
    }

    /// Third step of a batch, as [`crate::Table::prefetch_displaced`].
    #[inline]
    pub fn prefetch_displaced(&self, hash: Hash) {
        self.memory.prefetch_displaced(hash);
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &[u8; K]) -> Option<[u8; V]> {
        self.find(self.hash(key), key).map(|(_, value)| value)
    }

    /// Finds a key: the index of its entry, and its value.
    #[inline]
    pub fn find(&self, hash: Hash, key: &[u8; K]) -> Option<(EntryIndex, [u8; V])> {
        let (index, first) = self.memory.first(hash);
        loop {
            let first_since = first.sequence.begin();
            if let Some((_, entry)) = self.memory.find_in(first, hash.tag(), key) {
                let value = self.value(entry);
                if first.sequence.unchanged(first_since) {
                    return Some((EntryIndex(entry), value));
                }
                continue;
            }
            if !first.has_overflow(hash.tag()) {
                if first.sequence.unchanged(first_since) {
                    return None;
                }
                continue;
            }
            let (_, second) = self.memory.second(hash, index);
            let second_since = second.sequence.begin();
            let found =
                self.memory.find_in(second, hash.tag(), key).map(|(_, entry)| (EntryIndex(entry), self.value(entry)));
            // A key that is not in the second bucket may just have returned to the first.
            if second.sequence.unchanged(second_since) && (found.is_some() || first.sequence.unchanged(first_since)) {
                return found;
            }
        }
    }

    /// The value of an entry, whole. The bucket's sequence shows whether the entry still belongs to the key.
    #[inline(always)]
    fn value(&self, entry: u32) -> [u8; V] {
        let cells = self.memory.value(entry);
        if V <= 8 {
            return load(cells);
        }
        let lock = self.memory.lock(entry);
        loop {
            let since = lock.begin();
            let value = load(cells);
            if lock.unchanged(since) {
                return value;
            }
        }
    }

    pub(crate) fn memory(&self) -> &Memory<K, V> {
        &self.memory
    }
}
