//! The mirror: items requested by UDP, stored as ready replies for a program in the kernel to answer with.
//!
//! It is in memory that the program has mapped (`bpf/mirror.h` reads it). A key may be in one of two slots of its
//! shard. Under the shard's lock, so with one writer, a read by the host fills a slot, and any change of the item
//! empties it before the change is acknowledged. So the mirror never has an item that the store does not have. Sequence
//! locks let the program read concurrently with the writer; a flush begins a new epoch, in which all slots of the shard
//! are empty.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, Release},
            fence,
        },
    },
};

use table::{Array, Hash, Hasher, Region};

use super::{
    item::Header,
    shared_layout::{MIRROR_SHARDS, MIRROR_SLOTS_AT, MIRROR_TEXT_WORDS, MIRROR_WAYS, mirror_header, mirror_slot},
};
use crate::{
    clock::{Clock, NEVER},
    number,
};

const _: () = assert!(mirror_header::BYTES <= MIRROR_SLOTS_AT);

/// Bytes of a mirror with `slots` bytes of slots: at least one set for each possible shard.
pub fn bytes(slots: usize) -> usize {
    MIRROR_SLOTS_AT + slots.max(MIRROR_SHARDS * SET * WORD).next_multiple_of(MIRROR_SLOTS_AT)
}

const WORD: usize = size_of::<u64>();

/// Words of a slot, and of a set of them.
const SLOT: usize = mirror_slot::BYTES / WORD;
const SET: usize = SLOT * MIRROR_WAYS;

/// Bytes of the longest text that a slot has room for.
pub(super) const LONGEST_TEXT: usize = MIRROR_TEXT_WORDS * WORD;

/// Offsets of a slot's fields, in words.
const SEQUENCE: usize = mirror_slot::SEQUENCE / WORD;
const HASH: usize = mirror_slot::HASH / WORD;
const EXPIRES: usize = mirror_slot::EXPIRES / WORD;
const LENGTHS: usize = mirror_slot::KEY_BYTES / WORD;
const TEXT: usize = mirror_slot::TEXT / WORD;
const _: () =
    assert!(mirror_slot::EPOCH == mirror_slot::SEQUENCE + 4 && mirror_slot::TEXT_BYTES == mirror_slot::KEY_BYTES + 2);
const _: () = assert!(mirror_slot::USED == mirror_slot::KEY_BYTES + 4);

/// In the word of the lengths: the slot was read since somebody last looked.
const USED: u64 = !0 << 32;

/// The expiry of an item that never expires.
const NEVER_OVER: u64 = u64::MAX;

/// The program that answers from the mirror.
pub trait Ahead: fmt::Debug + Send + Sync {
    /// Its counters, by name; the first counts the gets that it answered.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// A description of where it answers, for the operator.
    fn place(&self) -> String;

    /// Stops it: from now on nothing is answered from the mirror.
    fn stop(&self);
}

/// A shard's part of the mirror.
#[derive(Debug)]
pub(super) struct Mirror {
    slots: Array<AtomicU64>,
    sets: u64,
    /// The word of the shard's epoch.
    epoch: Array<AtomicU64>,
    clock: Clock,
}

/// Creates the mirror of a store with `shards` shards, a power of two: a part for each. `None` if the region is too
/// small.
pub(super) fn create(region: Region, shards: usize, hasher: &Hasher, clock: &Clock) -> Option<Vec<Mirror>> {
    debug_assert!(shards.is_power_of_two() && shards <= MIRROR_SHARDS);
    let sets = region.len().checked_sub(MIRROR_SLOTS_AT)? / (SET * WORD * shards);
    let region = Arc::new(region);
    let header = region.words(0, MIRROR_SLOTS_AT / WORD)?;
    for (at, secret) in hasher.secrets().iter().enumerate() {
        header[mirror_header::SECRETS / WORD + at].store(*secret, Relaxed);
    }
    header[mirror_header::SHARDS / WORD].store(shards as u64 - 1, Relaxed);
    header[mirror_header::SETS / WORD].store(sets as u64, Relaxed);
    // All of it is made resident: a program in the kernel that reads a missing page takes a fault of microseconds.
    let pages = region.words(0, region.len() / WORD)?;
    pages.iter().step_by(MIRROR_SLOTS_AT / WORD).for_each(|word| word.store(word.load(Relaxed), Relaxed));
    let bytes = sets * SET * WORD;
    let part = |shard| {
        Some(Mirror {
            slots: region.words(MIRROR_SLOTS_AT + shard * bytes, sets * SET)?,
            sets: sets as u64,
            epoch: region.words(mirror_header::EPOCHS + shard * WORD, 1)?,
            clock: clock.clone(),
        })
    };
    (0..shards).map(part).collect::<Option<Vec<_>>>().filter(|_| sets > 0)
}

impl Mirror {
    /// The slots that a key may be in.
    fn set(&self, hash: Hash) -> impl Iterator<Item = &[AtomicU64]> {
        let set = ((hash.to_bits() >> 32) * self.sets) >> 32;
        self.slots[set as usize * SET..][..SET].chunks_exact(SLOT)
    }

    fn slot_of(&self, hash: Hash) -> Option<&[AtomicU64]> {
        self.set(hash).find(|slot| slot[HASH].load(Relaxed) == hash.to_bits())
    }

    fn epoch(&self) -> u64 {
        self.epoch[0].load(Relaxed)
    }

    /// Changes a slot, which is of the present epoch then.
    fn write(&self, slot: &[AtomicU64], change: impl FnOnce()) {
        let sequence = slot[SEQUENCE].load(Relaxed) as u32;
        let word = |sequence: u32| self.epoch() << 32 | u64::from(sequence);
        slot[SEQUENCE].store(word(sequence.wrapping_add(1)), Relaxed);
        // Whoever sees a part of the change also sees that the sequence is odd, or newer.
        fence(Release);
        change();
        slot[SEQUENCE].store(word(sequence.wrapping_add(2)), Release);
    }

    /// Empties a key's slot.
    pub(super) fn forget(&self, hash: Hash) {
        if let Some(slot) = self.slot_of(hash) {
            self.write(slot, || slot[HASH].store(0, Relaxed));
        }
    }

    /// Empties all slots.
    pub(super) fn forget_all(&self) {
        let next = self.epoch().wrapping_add(1) & u64::from(u32::MAX);
        self.epoch[0].store(next, Release);
    }

    /// Whether a key's slot was read since the last call.
    pub(super) fn take_used(&self, hash: Hash) -> bool {
        self.slot_of(hash).is_some_and(|slot| slot[LENGTHS].fetch_and(!USED, Relaxed) & USED != 0)
    }

    /// A slot for a key: its own, an empty one, or one that was not read recently. If both were read, each must be read
    /// again to stay.
    fn place(&self, hash: Hash) -> Option<&[AtomicU64]> {
        let is_empty =
            |slot: &[AtomicU64]| slot[HASH].load(Relaxed) == 0 || slot[SEQUENCE].load(Relaxed) >> 32 != self.epoch();
        self.slot_of(hash)
            .or_else(|| self.set(hash).find(|slot| is_empty(slot)))
            .or_else(|| self.set(hash).find(|slot| slot[LENGTHS].fetch_and(!USED, Relaxed) & USED == 0))
    }

    /// Fills a slot with an item's reply. Gives false where it does not fit.
    pub(super) fn fill<'a>(
        &self,
        key: &[u8],
        hash: Hash,
        header: &Header,
        value: impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        let Some(slot) = self.place(hash) else { return false };
        let mut text = Text::default();
        text.push(b"\0\0VALUE ");
        text.push(key);
        for number in [header.flags.into(), header.value_len.into()] {
            text.push(b" ");
            text.push(number::format(number, &mut [0; number::DIGITS]));
        }
        text.push(b"\r\n");
        value.for_each(|part| text.push(part));
        text.push(b"\r\nEND\r\n");
        if text.len > text.bytes.len() {
            return false;
        }
        let expires = if header.expires == NEVER { NEVER_OVER } else { self.clock.monotonic(header.expires) };
        self.write(slot, || {
            slot[HASH].store(hash.to_bits(), Relaxed);
            slot[EXPIRES].store(expires, Relaxed);
            slot[LENGTHS].store(key.len() as u64 | (text.len as u64) << 16, Relaxed);
            let words = text.bytes.as_chunks::<WORD>().0.iter().take(text.len.div_ceil(WORD));
            for (cell, word) in slot[TEXT..].iter().zip(words) {
                cell.store(u64::from_le_bytes(*word), Relaxed);
            }
        });
        true
    }
}

/// A text that is put together; longer than there is room for, it is of no use.
struct Text {
    bytes: [u8; LONGEST_TEXT],
    len: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; LONGEST_TEXT], len: 0 }
    }
}

impl Text {
    fn push(&mut self, bytes: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
        }
        self.len += bytes.len();
    }
}
