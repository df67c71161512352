//! Sequence locks: one writer, and readers that never make it wait.
//!
//! The protected data is in atomics and read with relaxed loads, so a reader that races with the writer sees a mix of
//! old and new, never undefined behaviour; the sequence then makes it retry.

use std::{
    hint::spin_loop,
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
};

use crate::{hash::word, region::Cells};

/// Retries of a reader before it yields to another thread: the writer may be waiting for this core.
const SPINS: u32 = 64;

/// A sequence number: odd during a write.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Sequence(AtomicU32);

// SAFETY: an atomic integer.
unsafe impl Cells for Sequence {}

impl Sequence {
    /// Changes the protected data. Only the single writer may call this, and not recursively.
    #[inline(always)]
    pub(crate) fn write<R>(&self, change: impl FnOnce() -> R) -> R {
        let before = self.0.load(Relaxed);
        self.0.store(before.wrapping_add(1), Relaxed);
        // A reader that sees part of the change also sees that the sequence is odd, or newer.
        fence(Release);
        let result = change();
        self.0.store(before.wrapping_add(2), Release);
        result
    }

    /// Waits until no write is in progress, and returns the sequence for a later comparison.
    #[inline(always)]
    pub(crate) fn begin(&self) -> u32 {
        let mut spins = 0;
        loop {
            let sequence = self.0.load(Acquire);
            if sequence & 1 == 0 {
                return sequence;
            }
            spins += 1;
            if spins % SPINS == 0 { std::thread::yield_now() } else { spin_loop() }
        }
    }

    /// Whether everything read since `begin` returned this sequence is consistent.
    #[inline(always)]
    pub(crate) fn unchanged(&self, since: u32) -> bool {
        fence(Acquire);
        self.0.load(Relaxed) == since
    }
}

/// Number of words for `bytes` bytes.
pub(crate) const fn words(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// Reads `N` bytes from cells. A missing cell reads as zero.
#[inline(always)]
pub(crate) fn load<const N: usize>(cells: &[AtomicU64]) -> [u8; N] {
    let mut bytes = [0; N];
    for (chunk, cell) in bytes.chunks_mut(8).zip(cells) {
        let len = chunk.len();
        chunk.copy_from_slice(&cell.load(Relaxed).to_le_bytes()[..len]);
    }
    bytes
}

/// Writes bytes to cells.
#[inline(always)]
pub(crate) fn store<const N: usize>(cells: &[AtomicU64], bytes: &[u8; N]) {
    for (i, cell) in cells.iter().enumerate().take(words(N)) {
        cell.store(word(bytes, i), Relaxed);
    }
}

/// Whether cells hold these bytes.
#[inline(always)]
pub(crate) fn equal<const N: usize>(cells: &[AtomicU64], bytes: &[u8; N]) -> bool {
    let mut difference = 0;
    for (i, cell) in cells.iter().enumerate().take(words(N)) {
        difference |= cell.load(Relaxed) ^ word(bytes, i);
    }
    difference == 0 && cells.len() >= words(N)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_change_is_noticed() {
        let sequence = Sequence(AtomicU32::new(u32::MAX - 1));
        let since = sequence.begin();
        assert!(sequence.unchanged(since));
        assert_eq!(sequence.write(|| 5), 5);
        assert!(!sequence.unchanged(since));
        assert_eq!(sequence.begin(), 0);
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in any::<[u8; 13]>(), other in any::<[u8; 13]>()) {
            let cells: [AtomicU64; 3] = Default::default();
            store(&cells, &bytes);
            prop_assert_eq!(load::<13>(&cells), bytes);
            prop_assert_eq!(cells[2].load(Relaxed), 0);
            prop_assert!(equal(&cells, &bytes));
            prop_assert_eq!(equal(&cells, &other), bytes == other);
        }
    }
}
