//! Rings of small entries in shared memory with one writer and one reader, and the flags that control wakeups.
//!
//! - An entry is valid by its own stamp: the reader looks at one word, and no counter is shared.
//! - The writer never checks for room, because at most as many entries are in flight as there are buffers.
//! - A side that sleeps first publishes what it wants to be woken for. The other side rings the bell after writing such
//!   an entry, once per sleep.
//!
//! The memory is behind a trait, so that the same code runs under the model checker of interleavings.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release, SeqCst},
    fence,
};

use crate::Error;

/// Shared words: one side writes them, the other reads them.
pub(super) trait Words {
    fn load(&self, at: usize) -> u64;
    fn store(&self, at: usize, value: u64);
    /// A full fence: stores before it are visible to a side that passes its own fence later, before that side's loads.
    fn fence(&self);
}

/// The contents of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) index: u16,
    /// Length of a message in bytes; zero for a returned buffer.
    pub(super) length: u32,
}

/// Encodes an entry: the stamp in the upper 16 bits, then index, then length. The stamp is the position, counted from
/// 1, so neither zeroed memory in the first round nor the entry of the previous round matches it.
fn word(position: u32, entry: Entry) -> u64 {
    u64::from(stamp(position)) << 48 | u64::from(entry.index) << 32 | u64::from(entry.length)
}

fn stamp(position: u32) -> u16 {
    position.wrapping_add(1) as u16
}

/// Ring capacity for a number of buffers. Positions wrap, so it is a power of two.
pub(super) const fn capacity(buffers: u16) -> u32 {
    (buffers as u32).next_power_of_two()
}

/// The writing side of a ring.
#[derive(Debug)]
pub(super) struct Writer {
    position: u32,
    capacity: u32,
}

impl Writer {
    pub(super) fn new(buffers: u16) -> Self {
        Self { position: 0, capacity: capacity(buffers) }
    }

    /// Appends an entry. A reader that sees it also sees everything written before.
    pub(super) fn push(&mut self, words: &impl Words, entry: Entry) {
        words.store((self.position & (self.capacity - 1)) as usize, word(self.position, entry));
        self.position = self.position.wrapping_add(1);
    }
}

/// The reading side of a ring.
#[derive(Debug)]
pub(super) struct Reader {
    position: u32,
    capacity: u32,
}

impl Reader {
    pub(super) fn new(buffers: u16) -> Self {
        Self { position: 0, capacity: capacity(buffers) }
    }

    /// Whether the next word has changed: to an entry, or to something invalid.
    pub(super) fn has_next(&self, words: &impl Words) -> bool {
        !self.is_of_before(self.load(words))
    }

    /// Takes the next entry, if it is there. Reads the word once.
    pub(super) fn pop(&mut self, words: &impl Words) -> Result<Option<Entry>, Error> {
        let word = self.load(words);
        if self.is_of_before(word) {
            return Ok(None);
        }
        let expected = stamp(self.position);
        let got = (word >> 48) as u16;
        if got != expected {
            return Err(Error::OutOfSequence { expected: expected.into(), got: got.into() });
        }
        self.position = self.position.wrapping_add(1);
        Ok(Some(Entry { index: (word >> 32) as u16, length: word as u32 }))
    }

    fn load(&self, words: &impl Words) -> u64 {
        words.load((self.position & (self.capacity - 1)) as usize)
    }

    /// Whether the word is still the one from before the next entry.
    fn is_of_before(&self, word: u64) -> bool {
        // In the first round the word is still zero; later on, zero could be an entry.
        let is_first_turn = self.position < self.capacity;
        (is_first_turn && word == 0) || (word >> 48) as u16 == stamp(self.position.wrapping_sub(self.capacity))
    }
}

/// What a side wants to be woken for, in the lower two bits of a word. The bits above count its sleeps, so that it is
/// rung once per sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wants(u64);

impl Wants {
    pub(super) const NOTHING: u64 = 0;
    pub(super) const MESSAGES: u64 = 1;
    pub(super) const BUFFERS: u64 = 2;
    const ALL: u64 = 3;

    pub(super) const fn new() -> Self {
        Self(Self::NOTHING)
    }

    /// Asks the peer to ring for `what` from now on, unless `is_here` shows that it is already there. Returns whether
    /// to sleep.
    pub(super) fn sleep(&mut self, words: &impl Words, at: usize, what: u64, is_here: impl FnOnce() -> bool) -> bool {
        if what == Self::NOTHING {
            self.wake(words, at);
            return true;
        }
        self.0 = (self.0 | Self::ALL).wrapping_add(1) | what;
        words.store(at, self.0);
        words.fence();
        if is_here() {
            self.wake(words, at);
            return false;
        }
        true
    }

    /// Asks the peer not to ring.
    pub(super) fn wake(&mut self, words: &impl Words, at: usize) {
        if self.0 & Self::ALL != Self::NOTHING {
            self.0 &= !Self::ALL;
            words.store(at, self.0);
        }
    }
}

/// Records for which sleep the peer was last rung.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: u64,
}

impl Bell {
    /// Whether the peer must be rung, after an entry was written for it.
    pub(super) fn is_due(&mut self, words: &impl Words, at: usize, what: u64) -> bool {
        words.fence();
        let wants = words.load(at);
        wants & what != 0 && std::mem::replace(&mut self.rung, wants) != wants
    }
}

/// Words in the memory mapping of either side.
pub(super) struct Mapped<'a> {
    pub(super) memory: &'a crate::memory::Memory,
    pub(super) offset: usize,
}

impl Mapped<'_> {
    fn word(&self, at: usize) -> &AtomicU64 {
        self.memory.word(self.offset + at * size_of::<u64>())
    }
}

impl Words for Mapped<'_> {
    fn load(&self, at: usize) -> u64 {
        self.word(at).load(Acquire)
    }

    fn store(&self, at: usize, value: u64) {
        self.word(at).store(value, Release);
    }

    fn fence(&self) {
        fence(SeqCst);
    }
}

#[cfg(test)]
#[path = "ring_model.rs"]
mod model;
