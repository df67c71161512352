//! A small value that one thread publishes and others read, lock-free and untorn.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{Error, Pages, Region, region::Array, seqlock::Sequence, shared_layout};

/// Offset of the words, after the sequence.
const WORDS_AT: usize = shared_layout::published::BYTES;

/// The words of a value, in memory of both sides.
#[derive(Debug)]
struct SequencedWords<const WORDS: usize> {
    sequence: Array<Sequence>,
    words: Array<AtomicU64>,
}

impl<const WORDS: usize> SequencedWords<WORDS> {
    fn new(region: &Arc<Region>, offset: usize) -> Option<Self> {
        Some(Self { sequence: region.array(offset, 1)?, words: region.array(offset + WORDS_AT, WORDS)? })
    }
}

/// The writing side of a published value.
#[derive(Debug)]
pub struct Publisher<const WORDS: usize>(Arc<SequencedWords<WORDS>>);

/// The reading side of a published value.
#[derive(Clone, Debug)]
pub struct Published<const WORDS: usize>(Arc<SequencedWords<WORDS>>);

/// Identifies one of the successively published values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition(u32);

impl<const WORDS: usize> Publisher<WORDS> {
    /// Size in a region in bytes: the sequence and the words.
    pub const BYTES: usize = WORDS_AT + 8 * WORDS;

    /// Publishes a first value, in its own memory.
    pub fn new(words: [u64; WORDS]) -> Result<Self, Error> {
        Self::within(&Arc::new(Region::anonymous(Self::BYTES, Pages::Small, false)?), 0, words)
    }

    /// Publishes a first value at an offset of a region, a multiple of 8.
    pub fn within(region: &Arc<Region>, offset: usize, words: [u64; WORDS]) -> Result<Self, Error> {
        let too_small = Error::RegionTooSmall { given: region.len(), needed: offset.saturating_add(Self::BYTES) };
        let mut publisher = Self(Arc::new(SequencedWords::new(region, offset).ok_or(too_small)?));
        publisher.publish(words);
        Ok(publisher)
    }

    /// Publishes another value in place of the last.
    pub fn publish(&mut self, words: [u64; WORDS]) {
        self.0.sequence[0].write(|| self.0.words.iter().zip(words).for_each(|(cell, word)| cell.store(word, Relaxed)));
    }

    /// Returns a handle to read it from other threads.
    pub fn reader(&self) -> Published<WORDS> {
        Published(Arc::clone(&self.0))
    }
}

impl<const WORDS: usize> Published<WORDS> {
    /// The value and its edition.
    #[inline]
    pub fn read(&self) -> ([u64; WORDS], Edition) {
        loop {
            let since = self.0.sequence[0].begin();
            let words = std::array::from_fn(|i| self.0.words[i].load(Relaxed));
            if self.0.sequence[0].unchanged(since) {
                return (words, Edition(since));
            }
        }
    }

    /// Whether no other value was published since, up to everything read before this call.
    #[inline]
    pub fn is_current(&self, edition: Edition) -> bool {
        self.0.sequence[0].unchanged(edition.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_whole_values_in_order() {
        let mut publisher = Publisher::new([0; 6]).unwrap();
        let reader = publisher.reader();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut last = 0;
                while last < 50_000 {
                    let (words, edition) = reader.read();
                    assert!(words.iter().all(|word| *word == words[0]) && words[0] >= last);
                    let is_current = reader.is_current(edition);
                    assert!(is_current || reader.read().1 != edition);
                    last = words[0];
                }
            });
            (1..=50_000).for_each(|number| publisher.publish([number; 6]));
        });
    }
}
