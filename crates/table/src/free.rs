//! Allocation of entries: which are free, and which one a new key gets.

use crate::{hash::Hash, shared_layout::GROUP};

/// Bits of a word.
const WORD: u32 = u64::BITS;

/// A bit for each free entry; above them, level by level, a bit for each nonzero word, up to a single word.
#[derive(Clone, Debug)]
pub(crate) struct Free {
    levels: Vec<Vec<u64>>,
    /// Entries from this one on were never used.
    untouched: u32,
    /// Entries in whole groups, if each key has a preferred group.
    near: Option<u32>,
}

impl Free {
    /// All of `entries` are free; with `near`, each key gets the entry selected by its hash, or one of its group, if
    /// possible.
    pub(crate) fn new(entries: u32, near: bool) -> Self {
        let mut levels = Vec::new();
        let mut bits = entries;
        loop {
            let mut level = vec![u64::MAX; bits.div_ceil(WORD) as usize];
            if let Some(last) = level.last_mut().filter(|_| !bits.is_multiple_of(WORD)) {
                *last = (1 << (bits % WORD)) - 1;
            }
            bits = level.len() as u32;
            levels.push(level);
            if bits <= 1 {
                break;
            }
        }
        let near = (near && entries >= GROUP).then_some(entries / GROUP * GROUP);
        Self { levels, untouched: 0, near }
    }

    /// Upper bound of the entries ever used.
    pub(crate) fn untouched(&self) -> u32 {
        self.untouched
    }

    /// Finds an entry for a key.
    #[inline]
    pub(crate) fn find(&self, hash: Hash) -> Option<u32> {
        if let Some(entries) = self.near {
            let own = hash.pick(entries);
            let home = own / GROUP * GROUP;
            // Otherwise in the adjacent lines: they are in the same page.
            for first in [home, home ^ GROUP] {
                let free = (self.levels[0][(first / WORD) as usize] >> (first % WORD)) as u8;
                if free != 0 {
                    let rank = own % GROUP;
                    return Some(first + (rank + free.rotate_right(rank).trailing_zeros()) % GROUP);
                }
            }
        }
        self.lowest()
    }

    /// The lowest one, so that a growing table touches one page after the other.
    fn lowest(&self) -> Option<u32> {
        self.levels.iter().rev().try_fold(0, |at, level| match level.get(at as usize) {
            Some(0) | None => None,
            Some(word) => Some(at * WORD + word.trailing_zeros()),
        })
    }

    /// Marks a free entry as used.
    #[inline]
    pub(crate) fn take(&mut self, entry: u32) {
        self.untouched = self.untouched.max(entry + 1);
        let mut at = entry;
        for level in &mut self.levels {
            let word = &mut level[(at / WORD) as usize];
            debug_assert!(*word >> (at % WORD) & 1 == 1, "the entry is free");
            *word &= !(1 << (at % WORD));
            if *word != 0 {
                break;
            }
            at /= WORD;
        }
    }

    /// Marks an entry as free.
    #[inline]
    pub(crate) fn give(&mut self, entry: u32) {
        let mut at = entry;
        for level in &mut self.levels {
            let word = &mut level[(at / WORD) as usize];
            let before = *word;
            debug_assert!(before >> (at % WORD) & 1 == 0, "the entry is in use");
            *word |= 1 << (at % WORD);
            if before != 0 {
                break;
            }
            at /= WORD;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_lowest_of_a_set(entries in 1..9000_u32, steps in prop::collection::vec(any::<u32>(), 0..400)) {
            let (mut free, mut model) = (Free::new(entries, false), (0..entries).collect::<BTreeSet<_>>());
            for step in steps {
                let entry = step % entries;
                if model.insert(entry) {
                    free.give(entry);
                } else {
                    model.remove(&entry);
                    free.take(entry);
                }
                prop_assert_eq!(free.find(Hash(0)), model.first().copied());
            }
        }

        #[test]
        fn near_ones_first(entries in 1..2000_u32, hashes in prop::collection::vec(any::<u64>(), 2000)) {
            let (mut free, mut taken) = (Free::new(entries, true), BTreeSet::new());
            for hash in &hashes[..entries as usize] {
                let entry = free.find(Hash(*hash)).unwrap();
                prop_assert!(entry < entries && taken.insert(entry));
                free.take(entry);
                if entries >= GROUP {
                    let own = Hash(*hash).pick(entries / GROUP * GROUP);
                    let home = own / GROUP;
                    prop_assert!(entry == own || taken.contains(&own));
                    let full = (home * GROUP..(home + 1) * GROUP).all(|entry| taken.contains(&entry));
                    prop_assert!(entry / GROUP == home || full);
                    let full = (home ^ 1) * GROUP..((home ^ 1) + 1) * GROUP;
                    let full = full.filter(|entry| *entry < entries).all(|entry| taken.contains(&entry));
                    prop_assert!((entry / GROUP) ^ home <= 1 || full);
                }
            }
            prop_assert_eq!(free.find(Hash(hashes[0])), None);
        }
    }
}
