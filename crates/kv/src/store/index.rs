//! From a key's hash to its item: buckets of eight, in segments that split as the store grows.
//!
//! A segment is what the paper's table is as a whole: a fixed number of buckets of eight, and a key may be in one of
//! two of them. Where both are full the segment is split, so that no insertion fails, and no insertion moves more than
//! one segment (extendible hashing, Fagin and others, 1979). The top bits of the hash choose the segment, the next ones
//! the bucket, the lowest are the tag.

use table::{Bucket, Hash, alternate, prefetch};

use super::item::Address;

/// Buckets of a segment: a page of memory, some 400 items, so that a split takes some ten microseconds.
const BUCKETS: u32 = 64;

/// Places of a bucket.
const PLACES: usize = 8;

/// A segment is split at about 450 items, so hardly any has fewer than this: the directory is sized for this number
/// each.
const FEWEST: usize = 128;

/// Bits of the directory at most, whatever the memory: 64 MiB of it.
const MOST_BITS: u32 = 24;

#[derive(Debug)]
struct Segment {
    buckets: Box<[Bucket; BUCKETS as usize]>,
    /// The number of top bits of the hash that all of its items share.
    depth: u32,
}

/// Position of an item in the index: good until the index changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    segment: u32,
    bucket: u32,
    slot: usize,
}

/// The index of a shard.
#[derive(Debug)]
pub(super) struct Index {
    /// The segment for each value of the hash's top bits.
    directory: Vec<u32>,
    bits: u32,
    segments: Vec<Segment>,
    len: usize,
}

impl Index {
    /// An index for at most `most` items.
    pub(super) fn new(most: usize) -> Self {
        let bits = (most / FEWEST).next_power_of_two().trailing_zeros().clamp(1, MOST_BITS);
        Self { directory: vec![0; 1 << bits], bits, segments: vec![Segment::new(0)], len: 0 }
    }

    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Places for items, in use or not.
    pub(super) fn places(&self) -> usize {
        self.segments.len() * BUCKETS as usize * PLACES
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.segments.len() * size_of::<[Bucket; BUCKETS as usize]>() + size_of_val(&*self.directory)
    }

    #[inline(always)]
    fn segment_of(&self, hash: Hash) -> u32 {
        self.directory[(hash.to_bits() >> (u64::BITS - self.bits)) as usize]
    }

    /// Prefetches the likely bucket of a key.
    #[inline]
    pub(super) fn prefetch_bucket(&self, hash: Hash) {
        let segment = &self.segments[self.segment_of(hash) as usize];
        prefetch(&segment.buckets[first(hash) as usize]);
    }

    /// The item that is likely a key's, going by the tag.
    #[inline]
    pub(super) fn candidate(&self, hash: Hash) -> Option<Address> {
        let bucket = &self.segments[self.segment_of(hash) as usize].buckets[first(hash) as usize];
        bucket.slots_with(hash.tag()).next().map(|slot| Address(bucket.entry(slot)))
    }

    /// Finds an item with this hash that `is_it`.
    #[inline(always)]
    pub(super) fn find(&self, hash: Hash, is_it: impl Fn(Address) -> bool) -> Option<(Position, Address)> {
        let number = self.segment_of(hash);
        let segment = &self.segments[number as usize];
        let first = first(hash);
        let bucket = &segment.buckets[first as usize];
        let tag = hash.tag();
        for slot in bucket.slots_with(tag) {
            let at = Address(bucket.entry(slot));
            if is_it(at) {
                return Some((Position { segment: number, bucket: first, slot }, at));
            }
        }
        if !bucket.has_overflow(tag) {
            return None;
        }
        let second = alternate(first, tag, BUCKETS);
        let bucket = &segment.buckets[second as usize];
        for slot in bucket.slots_with(tag) {
            let at = Address(bucket.entry(slot));
            if is_it(at) {
                return Some((Position { segment: number, bucket: second, slot }, at));
            }
        }
        None
    }

    /// Adds a missing item. `hash_of` returns the hash of an existing one. If no place is left, which only chosen keys
    /// can cause, returns an item to remove first.
    pub(super) fn insert(&mut self, hash: Hash, at: Address, hash_of: impl Fn(Address) -> Hash) -> Result<(), Address> {
        loop {
            let number = self.segment_of(hash);
            let segment = &self.segments[number as usize];
            if segment.insert(hash, at) {
                self.len += 1;
                return Ok(());
            }
            if segment.depth == self.bits {
                return Err(Address(segment.buckets[first(hash) as usize].entry(0)));
            }
            self.split(number, hash, &hash_of);
        }
    }

    /// Replaces the item at a position with another one of the same key.
    pub(super) fn replace(&mut self, position: Position, hash: Hash, at: Address) {
        let bucket = &self.segments[position.segment as usize].buckets[position.bucket as usize];
        let displaced = bucket.is_displaced(position.slot);
        bucket.change(|| bucket.set(position.slot, hash.tag(), at.0, displaced));
    }

    /// Removes an item.
    pub(super) fn remove(&mut self, position: Position, hash: Hash) {
        self.segments[position.segment as usize].remove(position.bucket, position.slot, first(hash), hash.tag());
        self.len -= 1;
    }

    /// Moves half of a segment's items, those whose next bit of the hash is set, to a new one.
    #[cold]
    fn split(&mut self, number: u32, hash: Hash, hash_of: impl Fn(Address) -> Hash) {
        let new = self.segments.len() as u32;
        let from = &mut self.segments[number as usize];
        from.depth += 1;
        let depth = from.depth;
        let to = Segment::new(depth);
        for number in 0..BUCKETS {
            let (old, new) = (&from.buckets[number as usize], &to.buckets[number as usize]);
            for slot in old.used_slots() {
                let (at, tag, displaced) = (Address(old.entry(slot)), old.tag(slot), old.is_displaced(slot));
                let hash = hash_of(at);
                if hash.to_bits() >> (u64::BITS - depth) & 1 == 1 {
                    // At the same place, where there is always room.
                    new.change(|| new.set(slot, tag, at.0, displaced));
                    if displaced {
                        let first = &to.buckets[first(hash) as usize];
                        first.change(|| first.add_overflow(tag));
                    }
                    from.remove(number, slot, first(hash), tag);
                }
            }
        }
        self.segments.push(to);
        // The part of the directory for the new segment: those top bits, with the last of them set.
        let prefix = hash.to_bits() >> (u64::BITS - depth) | 1;
        let count = 1_usize << (self.bits - depth);
        let start = prefix as usize * count;
        self.directory[start..start + count].fill(new);
    }

    /// All items.
    pub(super) fn iter(&self) -> impl Iterator<Item = Address> + '_ {
        let buckets = self.segments.iter().flat_map(|segment| segment.buckets.iter());
        buckets.flat_map(|bucket| bucket.used_slots().map(|slot| Address(bucket.entry(slot))))
    }
}

impl Segment {
    fn new(depth: u32) -> Self {
        Self { buckets: Box::new(std::array::from_fn(|_| Bucket::default())), depth }
    }

    /// Adds an item, to its first bucket if there is room.
    fn insert(&self, hash: Hash, at: Address) -> bool {
        let (first, tag) = (first(hash), hash.tag());
        let bucket = &self.buckets[first as usize];
        if let Some(slot) = bucket.free_slot() {
            bucket.change(|| bucket.set(slot, tag, at.0, false));
            return true;
        }
        let second = alternate(first, tag, BUCKETS);
        let slot = self.buckets[second as usize].free_slot().map(|slot| (second, slot));
        let Some((chosen, slot)) = slot.or_else(|| self.make_room([first, second])) else { return false };
        let displaced = chosen != first;
        if displaced {
            bucket.change(|| bucket.add_overflow(tag));
        }
        let chosen = &self.buckets[chosen as usize];
        chosen.change(|| chosen.set(slot, tag, at.0, displaced));
        true
    }

    /// A slot in one of two full buckets, whose item moves to the other bucket that it may be in.
    #[cold]
    fn make_room(&self, full: [u32; 2]) -> Option<(u32, usize)> {
        for number in full {
            let bucket = &self.buckets[number as usize];
            for slot in bucket.used_slots() {
                let tag = bucket.tag(slot);
                let other = &self.buckets[alternate(number, tag, BUCKETS) as usize];
                let Some(free) = other.free_slot() else { continue };
                let (entry, displaced) = (bucket.entry(slot), bucket.is_displaced(slot));
                other.change(|| {
                    other.set(free, tag, entry, !displaced);
                    if displaced {
                        other.remove_overflow(tag);
                    }
                });
                bucket.change(|| {
                    bucket.clear(slot);
                    if !displaced {
                        bucket.add_overflow(tag);
                    }
                });
                return Some((number, slot));
            }
        }
        None
    }

    fn remove(&self, bucket: u32, slot: usize, first: u32, tag: u16) {
        let bucket = &self.buckets[bucket as usize];
        let displaced = bucket.is_displaced(slot);
        bucket.change(|| bucket.clear(slot));
        if displaced {
            let first = &self.buckets[first as usize];
            first.change(|| first.remove_overflow(tag));
        }
    }
}

/// The bucket that a key is in if there is room, from the bits above the tag.
#[inline(always)]
fn first(hash: Hash) -> u32 {
    (hash.to_bits() >> 16) as u32 % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn hash(at: Address) -> Hash {
        table::Hasher::new(&[7; 16]).hash_bytes(&at.0.to_le_bytes())
    }

    #[test]
    fn the_index_grows_with_its_items_and_loses_none() {
        let mut index = Index::new(200_000);
        for number in 1..=200_000 {
            assert_eq!(index.insert(hash(Address(number)), Address(number), hash), Ok(()));
        }
        assert_eq!(index.len(), 200_000);
        let per_item = index.bytes() as f64 / 200_000.0;
        assert!(per_item < 16.0, "{per_item} bytes an item");
        for number in 1..=200_000 {
            let at = Address(number);
            assert!(index.find(hash(at), |found| found == at).is_some());
        }
        assert_eq!(index.iter().count(), 200_000);
    }

    #[test]
    fn keys_that_collide_push_each_other_out() {
        let mut index = Index::new(1000);
        let same = |_| Hash::from_bits(0x1234_5678_9abc_def0);
        let hash = same(Address::NONE);
        for number in 1..=16 {
            assert_eq!(index.insert(hash, Address(number), same), Ok(()));
        }
        let Err(goes) = index.insert(hash, Address(17), same) else { panic!("there is room for the seventeenth") };
        let (position, _) = index.find(hash, |at| at == goes).unwrap();
        index.remove(position, hash);
        assert_eq!(index.insert(hash, Address(17), same), Ok(()));
        assert_eq!(index.len(), 16);
    }

    proptest! {
        #[test]
        fn like_a_map(steps in prop::collection::vec((0..3_u8, 1..3000_u32), 0..6000)) {
            let mut index = Index::new(10_000);
            let mut model = BTreeMap::new();
            // Keys are numbers up to 3000; each has one of two items.
            let hash_of = |at: Address| hash(Address(at.0 % 10_000));
            for (what, key) in steps {
                let hash = hash(Address(key));
                let found = index.find(hash, |at| at.0 % 10_000 == key);
                prop_assert_eq!(found.map(|(_, at)| at.0), model.get(&key).copied());
                match (what, found) {
                    (0, None) => {
                        index.insert(hash, Address(key), hash_of).unwrap();
                        model.insert(key, key);
                    }
                    (0, Some((position, at))) => {
                        let other = (at.0 + 10_000) % 20_000;
                        index.replace(position, hash, Address(other));
                        model.insert(key, other);
                    }
                    (1, Some((position, _))) => {
                        index.remove(position, hash);
                        model.remove(&key);
                    }
                    _ => {}
                }
                prop_assert_eq!(index.len(), model.len());
            }
        }
    }
}
