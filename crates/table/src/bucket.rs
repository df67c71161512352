//! Buckets: a cache line with eight slots.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::{
    region::Cells,
    seqlock::Sequence,
    shared_layout::is_bucket,
    simd::{self, SLOTS},
};

/// Eight slots, each a 16-bit tag (0 if the slot is free) and the index of an entry.
///
/// Only the writer may call setters, and only from within [`Bucket::change`].
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Bucket {
    tags: [AtomicU64; 2],
    entries: [AtomicU32; SLOTS],
    /// Protects everything in the bucket, and which key each entry in it belongs to.
    pub(crate) sequence: Sequence,
    displaced: AtomicU32,
    /// Sixteen counters of four bits, selected by the low bits of a tag: how many keys with this first bucket are in
    /// their second. A full counter stays full.
    overflow: AtomicU64,
}

/// A full counter.
const COUNTER: u64 = 15;

/// The position of a tag's counter.
#[inline(always)]
fn counter(tag: u16) -> u32 {
    u32::from(tag % 16 * 4)
}

is_bucket!(Bucket);

// SAFETY: all fields are atomic integers, and there is no padding.
unsafe impl Cells for Bucket {}

impl Bucket {
    /// Runs setters in such a way that readers on other threads notice.
    #[inline(always)]
    pub fn change<R>(&self, setters: impl FnOnce() -> R) -> R {
        self.sequence.write(setters)
    }

    #[inline(always)]
    fn words(&self) -> [u64; 2] {
        [self.tags[0].load(Relaxed), self.tags[1].load(Relaxed)]
    }

    /// Slots that hold `tag`.
    #[inline(always)]
    pub fn slots_with(&self, tag: u16) -> Slots {
        Slots(simd::matches(self.words(), tag))
    }

    /// A free slot.
    #[inline]
    pub fn free_slot(&self) -> Option<usize> {
        self.slots_with(0).next()
    }

    /// Slots in use.
    pub fn used_slots(&self) -> Slots {
        Slots(!self.slots_with(0).0)
    }

    /// The tag in a slot.
    #[inline(always)]
    pub fn tag(&self, slot: usize) -> u16 {
        (self.tags[slot / 4].load(Relaxed) >> (slot % 4 * 16)) as u16
    }

    /// The entry that a slot names.
    #[inline(always)]
    pub fn entry(&self, slot: usize) -> u32 {
        self.entries[slot].load(Relaxed)
    }

    /// Whether the key in a slot is in its second bucket here.
    #[inline]
    pub fn is_displaced(&self, slot: usize) -> bool {
        self.displaced.load(Relaxed) >> slot & 1 == 1
    }

    /// Whether a key with this tag whose first bucket is this one may be in its second. With eight of ten slots in use,
    /// it is not in forty-nine of fifty cases.
    #[inline(always)]
    pub fn has_overflow(&self, tag: u16) -> bool {
        self.overflow.load(Relaxed) >> counter(tag) & COUNTER != 0
    }

    /// Counts a key that moved from here to its second bucket.
    pub fn add_overflow(&self, tag: u16) {
        let counters = self.overflow.load(Relaxed);
        if counters >> counter(tag) & COUNTER < COUNTER {
            self.overflow.store(counters + (1 << counter(tag)), Relaxed);
        }
    }

    /// Counts a key that came back from its second bucket, or was removed.
    pub fn remove_overflow(&self, tag: u16) {
        let counters = self.overflow.load(Relaxed);
        if (1..COUNTER).contains(&(counters >> counter(tag) & COUNTER)) {
            self.overflow.store(counters - (1 << counter(tag)), Relaxed);
        }
    }

    /// Fills a slot.
    pub fn set(&self, slot: usize, tag: u16, entry: u32, displaced: bool) {
        let shift = slot % 4 * 16;
        let word = &self.tags[slot / 4];
        word.store(word.load(Relaxed) & !(0xffff << shift) | u64::from(tag) << shift, Relaxed);
        self.entries[slot].store(entry, Relaxed);
        let flags = self.displaced.load(Relaxed) & !(1 << slot);
        self.displaced.store(flags | u32::from(displaced) << slot, Relaxed);
    }

    /// Frees a slot.
    pub fn clear(&self, slot: usize) {
        self.set(slot, 0, 0, false);
    }

    /// Empties the bucket, whatever it holds.
    pub fn reset(&self) {
        self.sequence.write(|| {
            (0..SLOTS).for_each(|slot| self.clear(slot));
            self.overflow.store(0, Relaxed);
        });
    }
}

/// A set of slots of a bucket, which yields the lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Slots(u8);

impl Iterator for Slots {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_what_was_put_there() {
        let bucket = Bucket::default();
        for slot in 0..SLOTS {
            assert_eq!(bucket.free_slot(), Some(slot));
            bucket.set(slot, 0xfff0 + slot as u16 / 2, u32::MAX - slot as u32, slot % 3 == 0);
        }
        assert_eq!(bucket.free_slot(), None);
        for slot in 0..SLOTS {
            let tag = 0xfff0 + slot as u16 / 2;
            assert_eq!(bucket.tag(slot), tag);
            assert_eq!(bucket.entry(slot), u32::MAX - slot as u32);
            assert_eq!(bucket.is_displaced(slot), slot % 3 == 0);
            assert_eq!(bucket.slots_with(tag).collect::<Vec<_>>(), [slot & !1, slot | 1]);
        }
        bucket.clear(6);
        assert_eq!(bucket.free_slot(), Some(6));
        assert_eq!(bucket.used_slots().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 7]);
        bucket.reset();
        assert_eq!(bucket.used_slots().count(), 0);
    }
    #[test]
    fn counters_of_overflow_stay_full() {
        let bucket = Bucket::default();
        assert!(!bucket.has_overflow(0x123));
        bucket.add_overflow(0x123);
        bucket.add_overflow(0x453);
        assert!(bucket.has_overflow(0x123) && !bucket.has_overflow(0x124) && !bucket.has_overflow(0x122));
        bucket.remove_overflow(0x123);
        assert!(bucket.has_overflow(0x123));
        bucket.remove_overflow(0x123);
        assert!(!bucket.has_overflow(0x123));
        for _ in 0..20 {
            bucket.add_overflow(0x12f);
        }
        for _ in 0..20 {
            bucket.remove_overflow(0x12f);
        }
        assert!(bucket.has_overflow(0x12f) && !bucket.has_overflow(0x120));
    }
}
