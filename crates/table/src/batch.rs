//! Many lookups at once, so that their cache misses overlap.

use crate::{
    EntryIndex, Hash, Reader, Table,
    memory::{Candidate, Memory},
    seqlock::equal,
};

/// Keys that proceed together from step to step.
const GROUP: usize = 16;

/// Groups between the first step of a key and its last: each of the three waits in between takes as long as two groups,
/// about the latency of memory.
const STEPS: usize = 6;

/// Keys in progress for a caller that does the steps itself: more would evict each other from the first-level cache.
pub const BATCH: usize = 64;

/// Groups in progress, and room for one more: a power of two, so that its place in the ring is cheap to compute.
const RING: usize = 8;
const _: () = assert!(RING > STEPS && RING.is_power_of_two());

/// Size in bytes up to which a table is likely in the second-level cache: a core overlaps such short waits by itself,
/// and the steps would only cost time.
const CACHED: usize = 1 << 20;

/// State of a key in progress.
#[derive(Clone, Copy)]
struct Lookup {
    hash: Hash,
    candidate: Candidate,
}

impl<const K: usize, const V: usize> Memory<K, V> {
    /// Takes keys through the steps, group by group: while the last group waits for its buckets, earlier ones wait for
    /// entries and second buckets, and the first is done.
    #[inline(always)]
    fn in_steps<'k>(
        &self,
        count: usize,
        key: impl Fn(usize) -> &'k [u8; K],
        mut finish: impl FnMut(usize, Hash, Candidate),
    ) {
        if self.bytes() <= CACHED {
            return (0..count).for_each(|i| finish(i, self.hasher.hash(key(i)), Candidate::Unknown));
        }
        let mut ring = [[Lookup { hash: Hash::default(), candidate: Candidate::None }; GROUP]; RING];
        let groups = count.div_ceil(GROUP);
        for now in 0..groups + STEPS {
            // The group that started `ago` steps before, and the number of its first key.
            let group = |ago: usize| now.checked_sub(ago).filter(|group| *group < groups);
            if let Some(group) = group(0) {
                let start = group * GROUP;
                let lookups = &mut ring[group % RING];
                for (i, lookup) in (start..count).zip(lookups) {
                    lookup.hash = self.hasher.hash(key(i));
                    self.prefetch_bucket(lookup.hash);
                }
            }
            if let Some(group) = group(2) {
                let lookups = &mut ring[group % RING];
                for (_, lookup) in (group * GROUP..count).zip(lookups) {
                    lookup.candidate = self.prefetch_entry(lookup.hash);
                }
            }
            if let Some(group) = group(4) {
                for (_, lookup) in (group * GROUP..count).zip(&ring[group % RING]) {
                    if lookup.candidate == Candidate::Unknown {
                        self.prefetch_displaced(lookup.hash);
                    }
                }
            }
            if let Some(group) = group(STEPS) {
                for (i, lookup) in (group * GROUP..count).zip(&ring[group % RING]) {
                    finish(i, lookup.hash, lookup.candidate);
                }
            }
        }
    }
}

impl<const K: usize, const V: usize> Table<K, V> {
    /// Finds many keys: `key` returns the key of a number, and `found` receives the results, in order.
    #[inline]
    pub fn find_each<'k>(
        &self,
        count: usize,
        key: impl Fn(usize) -> &'k [u8; K],
        mut found: impl FnMut(usize, Option<EntryIndex>),
    ) {
        let memory = self.memory();
        memory.in_steps(count, &key, |i, hash, candidate| {
            let entry = match candidate {
                Candidate::Entry(entry) if equal(memory.key(entry), key(i)) => Some(EntryIndex(entry)),
                Candidate::None => None,
                _ => self.find(hash, key(i)),
            };
            found(i, entry);
        });
    }

    /// Finds many keys.
    ///
    /// # Panics
    ///
    /// If `found` does not have the length of `keys`.
    pub fn lookup_batch(&self, keys: &[[u8; K]], found: &mut [Option<EntryIndex>]) {
        assert_eq!(keys.len(), found.len(), "there must be room for one result a key");
        self.find_each(keys.len(), |i| &keys[i], |i, entry| found[i] = entry);
    }

    /// Does the prefetching steps for some keys, preferably up to [`BATCH`], which can then be found without waiting.
    pub fn prefetch_batch(&self, hashes: &[Hash]) {
        for hashes in hashes.chunks(BATCH) {
            hashes.iter().for_each(|hash| self.prefetch_bucket(*hash));
            let mut displaced = 0_u64;
            for (i, hash) in hashes.iter().enumerate() {
                displaced |= u64::from(!self.prefetch_entry(*hash)) << i;
            }
            while displaced != 0 {
                self.prefetch_displaced(hashes[displaced.trailing_zeros() as usize]);
                displaced &= displaced - 1;
            }
        }
    }
}

impl<const K: usize, const V: usize> Reader<K, V> {
    /// Finds the values of many keys.
    ///
    /// # Panics
    ///
    /// If `found` does not have the length of `keys`.
    pub fn lookup_batch(&self, keys: &[[u8; K]], found: &mut [Option<[u8; V]>]) {
        assert_eq!(keys.len(), found.len(), "there must be room for one result a key");
        self.memory().in_steps(
            keys.len(),
            |i| &keys[i],
            |i, hash, _| found[i] = self.find(hash, &keys[i]).map(|(_, value)| value),
        );
    }
}
