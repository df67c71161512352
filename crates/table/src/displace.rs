//! Makes room: keys move to their other bucket, along the shortest path to a free slot.

use crate::{hash::alternate, memory::Memory, simd::SLOTS};

/// Buckets searched before the table counts as full.
///
/// With 99 per cent of the slots in use, about one bucket in fifteen has a free slot, so a search of this length fails
/// once in e^60 times. It takes a few microseconds at most.
const LIMIT: usize = 1024;

/// No parent: one of the new key's own buckets.
const ROOT: u16 = u16::MAX;

/// A bucket on a path to a free slot: the key in `slot` of the parent's bucket could move here.
#[derive(Clone, Copy, Debug)]
struct Step {
    bucket: u32,
    parent: u16,
    slot: u8,
}

/// The search for a free slot, with its memory.
#[derive(Debug)]
pub(crate) struct Displacer {
    steps: Vec<Step>,
}

impl Displacer {
    pub(crate) fn new() -> Self {
        Self { steps: Vec::with_capacity(LIMIT) }
    }

    /// Frees a slot in one of two full buckets and returns the bucket and the slot.
    ///
    /// Returns `None`, and moves nothing, if no path was found. The search is breadth first, so no bucket is on a path
    /// twice. The keys move from the far end: each is in both of its buckets for a moment, and never in none.
    pub(crate) fn make_room<const K: usize, const V: usize>(
        &mut self,
        memory: &Memory<K, V>,
        roots: [u32; 2],
    ) -> Option<(u32, usize)> {
        self.steps.clear();
        self.steps.extend(roots.map(|bucket| Step { bucket, parent: ROOT, slot: 0 }));
        let mut next = 0;
        while let Some(&step) = self.steps.get(next) {
            let bucket = memory.bucket(step.bucket);
            if let Some(free) = bucket.free_slot() {
                return Some(self.shift(memory, step, free));
            }
            for slot in 0..SLOTS.min(LIMIT - self.steps.len()) {
                let other = alternate(step.bucket, bucket.tag(slot), memory.bucket_count());
                crate::simd::prefetch(memory.bucket(other));
                self.steps.push(Step { bucket: other, parent: next as u16, slot: slot as u8 });
            }
            next += 1;
        }
        None
    }

    /// Moves a key into `free`, another key into its place, and so on up to a root.
    fn shift<const K: usize, const V: usize>(
        &self,
        memory: &Memory<K, V>,
        mut step: Step,
        mut free: usize,
    ) -> (u32, usize) {
        while let Some(parent) = self.steps.get(usize::from(step.parent)) {
            let slot = usize::from(step.slot);
            relocate(memory, (parent.bucket, slot), (step.bucket, free));
            (step, free) = (*parent, slot);
        }
        (step.bucket, free)
    }
}

/// Moves a key to a free slot of its other bucket.
///
/// The key is there before it is gone from here, and a reader that looked there too early sees that this bucket has
/// changed.
fn relocate<const K: usize, const V: usize>(
    memory: &Memory<K, V>,
    (from, slot): (u32, usize),
    (to, free): (u32, usize),
) {
    let (from, to) = (memory.bucket(from), memory.bucket(to));
    let (tag, displaced) = (from.tag(slot), from.is_displaced(slot));
    to.sequence.write(|| {
        to.set(free, tag, from.entry(slot), !displaced);
        if displaced {
            to.remove_overflow(tag);
        }
    });
    from.sequence.write(|| {
        from.clear(slot);
        if !displaced {
            from.add_overflow(tag);
        }
    });
}
