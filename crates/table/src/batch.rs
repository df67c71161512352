//! Many lookups at once, so that their cache misses overlap.

use crate::{
    EntryIndex, Hash, Reader, Table,
    memory::{Memory, Prefetched},
};

/// Lookups under way at once. A core has room for some tens of outstanding misses; more would only push each other out of the first-level cache.
pub const BATCH: usize = 32;

impl<const K: usize, const V: usize> Memory<K, V> {
    /// Asks for all that finding these keys needs: buckets, then entries, then what is in second buckets.
    #[inline(always)]
    fn prefetch_batch(&self, hashes: &[Hash]) {
        for hash in hashes {
            self.prefetch_bucket(*hash);
        }
        let mut displaced = [Hash::default(); BATCH];
        let mut count = 0;
        for hash in hashes {
            if self.prefetch_entry(*hash) == Prefetched::SecondBucket && count < BATCH {
                displaced[count] = *hash;
                count += 1;
            }
        }
        for hash in &displaced[..count] {
            self.prefetch_displaced(*hash);
        }
    }

    /// Hashes and prefetches up to `BATCH` keys at a time, then finds them.
    #[inline(always)]
    fn in_batches<R>(&self, keys: &[[u8; K]], found: &mut [R], mut find: impl FnMut(Hash, &[u8; K]) -> R) {
        assert_eq!(keys.len(), found.len(), "there must be room for one result a key");
        for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            let mut hashes = [Hash::default(); BATCH];
            let hashes = &mut hashes[..keys.len()];
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.hasher.hash(key);
            }
            self.prefetch_batch(hashes);
            for ((hash, key), found) in hashes.iter().zip(keys).zip(found) {
                *found = find(*hash, key);
            }
        }
    }
}

impl<const K: usize, const V: usize> Table<K, V> {
    /// Finds many keys.
    ///
    /// # Panics
    ///
    /// Where `found` is not as long as `keys`.
    pub fn lookup_batch(&self, keys: &[[u8; K]], found: &mut [Option<EntryIndex>]) {
        self.memory().in_batches(keys, found, |hash, key| self.find(hash, key));
    }

    /// Does the steps of prefetching for some keys, which can then be found without waiting. Meant for up to [`BATCH`].
    pub fn prefetch_batch(&self, hashes: &[Hash]) {
        self.memory().prefetch_batch(hashes);
    }
}

impl<const K: usize, const V: usize> Reader<K, V> {
    /// Finds the values of many keys.
    ///
    /// # Panics
    ///
    /// Where `found` is not as long as `keys`.
    pub fn lookup_batch(&self, keys: &[[u8; K]], found: &mut [Option<[u8; V]>]) {
        self.memory().in_batches(keys, found, |hash, key| self.find(hash, key).map(|(_, value)| value));
    }
}
