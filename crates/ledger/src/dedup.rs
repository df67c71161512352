//! The dedup window: the last operations of the journal by source and transaction id, so that a retry gets the first
//! answer.
//!
//! A ring of fixed size, in the order of the journal, and an index into it: an open-addressed table of cache lines
//! that hold 15 slots each. A slot is 32 bits: the position in the ring and a tag of the hash; the record in the ring
//! decides. A line counts the entries that found it full and went on to the next, which is how a search knows where
//! to stop and how the oldest entry can be taken out without leaving a mark.
//!
//! Memory is reserved at start and becomes resident as it is used. A program in the kernel may read it at any time
//! (`bpf/window.h`): a header tells it which records are being written, and it compares what it found in full.

use std::sync::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{Relaxed, Release},
        fence,
    },
};

use table::{Array, Pages, PlainArray, Region, prefetch};
use wire::{AccountId, Operation, Status, TransactionId};

use crate::secret::Secret;

/// Smallest window: shorter ones would forget an operation before its client can have retried it.
pub const MIN_CAPACITY: usize = 1 << 10;
/// Largest window: beyond it the tags in the index get too short.
pub const MAX_CAPACITY: usize = 1 << 26;

/// Words of 64 bits in the header: the secret (6), the numbers of bits (1), `begun`, `written`, and as many reserved.
const HEADER: usize = 16;
const BITS: usize = 6;
const BEGUN: usize = 7;
const WRITTEN: usize = 8;

/// Words of 32 bits in a line of the index.
const LINE: usize = 16;
/// Slots in a line; the last word counts the entries that went past it.
const SLOTS: usize = LINE - 1;
const PASSED: usize = LINE - 1;
/// Lines are filled to this many slots on average. With 15 slots under one line in a hundred overflows.
const FILL: usize = 8;
/// Signed timestamps are kept as the newest of so many neighbours, which is what the horizon moves by.
const STRETCH: usize = 1 << 8;

/// What is remembered of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Its sequence.
    pub sequence: u64,
    /// Its status.
    pub status: Status,
    /// The value that was replied.
    pub value: u64,
    fingerprint: u32,
}

impl Remembered {
    /// Whether an operation of the given fingerprint is the same.
    pub fn is_same(&self, fingerprint: u32) -> bool {
        self.fingerprint == fingerprint
    }
}

/// Ring entry, as words so that the ring can be mapped as zeros: source (2), transaction id (2), value, status and
/// fingerprint.
type Record = [u64; 6];

/// The memory of a window, all of it zero, each part aligned to a cache line.
#[derive(Debug)]
pub struct Memory {
    /// The header, for readers.
    pub header: Region,
    /// The index.
    pub index: Region,
    /// The records.
    pub ring: Region,
}

impl Memory {
    /// Bytes that the parts take for a window of this capacity: header, index, ring.
    pub fn sizes(capacity: usize) -> [usize; 3] {
        let capacity = allowed(capacity);
        [HEADER * size_of::<u64>(), capacity / FILL * LINE * size_of::<u32>(), capacity * size_of::<Record>()]
    }

    /// Memory of the process alone. The index is used everywhere from the beginning on; the ring from its start, in small pages,
    /// so that a window that is never full never takes all of it.
    pub fn anonymous(capacity: usize) -> Result<Self, table::Error> {
        let [header, index, ring] = Self::sizes(capacity);
        let region = |bytes, pages| Region::anonymous(bytes, pages, false);
        let [small, huge] = [Pages::Small, Pages::Huge];
        Ok(Self { header: region(header, small)?, index: region(index, huge)?, ring: region(ring, small)? })
    }
}

/// The capacity nearest to one asked for.
fn allowed(capacity: usize) -> usize {
    capacity.clamp(MIN_CAPACITY, MAX_CAPACITY).next_power_of_two()
}

/// The dedup window.
#[derive(Debug)]
pub struct Window {
    key: [u64; 6],
    header: Array<AtomicU64>,
    ring: PlainArray<Record>,
    index: PlainArray<u32>,
    line_bits: u32,
    position_bits: u32,
    /// Sequence of the oldest operation held, and of the next one.
    first: u64,
    next: u64,
    /// Newest signed timestamp in each stretch of the ring, as it was written last.
    newest_signed: Vec<u64>,
    horizon: u64,
}

/// The words of an account or transaction id.
#[inline(always)]
fn words(id: &[u8; 16]) -> [u64; 2] {
    let value = u128::from_be_bytes(*id);
    [(value >> 64) as u64, value as u64]
}

/// Both halves of a product, combined: with words of a secret, a hash whose collisions nobody outside can choose.
#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

impl Window {
    /// An empty window for `capacity` operations, a power of two from [`MIN_CAPACITY`] to [`MAX_CAPACITY`] (rounded
    /// and clamped otherwise), whose first operation will have the sequence `next`.
    pub fn new(capacity: usize, next: u64, secret: &Secret) -> Result<Self, table::Error> {
        Self::within(Memory::anonymous(capacity)?, capacity, next, secret)
    }

    /// An empty window in memory given.
    pub fn within(memory: Memory, capacity: usize, next: u64, secret: &Secret) -> Result<Self, table::Error> {
        let capacity = allowed(capacity);
        let lines = capacity / FILL;
        let needed = Memory::sizes(capacity);
        let given = [&memory.header, &memory.index, &memory.ring].map(Region::len);
        let too_small = |part: usize| table::Error::RegionTooSmall { given: given[part], needed: needed[part] };
        let header = Arc::new(memory.header).words(0, HEADER).ok_or(too_small(0))?;
        let index = memory.index.into_plain().filter(|index| index.len() >= lines * LINE).ok_or(too_small(1))?;
        let ring = memory.ring.into_plain().filter(|ring| ring.len() >= capacity).ok_or(too_small(2))?;
        let window = Self {
            key: secret.words(),
            header,
            ring,
            index,
            line_bits: lines.trailing_zeros(),
            position_bits: capacity.trailing_zeros(),
            first: next,
            next,
            newest_signed: vec![0; capacity / STRETCH],
            horizon: 0,
        };
        for (cell, word) in window.header.iter().zip(window.key) {
            cell.store(word, Relaxed);
        }
        window.header[BITS].store(u64::from(window.position_bits) << 32 | u64::from(window.line_bits), Relaxed);
        window.header[BEGUN].store(next, Relaxed);
        window.header[WRITTEN].store(next, Release);
        Ok(window)
    }

    /// How many operations the window holds at most.
    pub fn capacity(&self) -> usize {
        1 << self.position_bits
    }

    /// How many it holds now.
    pub fn len(&self) -> usize {
        (self.next - self.first) as usize
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.next == self.first
    }

    /// The sequence that the next operation gets.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// The newest signed timestamp that the window has forgotten: a signed operation that is not newer may be a retry
    /// that is not recognised any more, so it must not be executed.
    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    /// Moves the horizon up to a timestamp, when operations are known to be missing from before it.
    pub fn raise_horizon(&mut self, timestamp: u64) {
        self.horizon = self.horizon.max(timestamp);
    }

    /// Hash of an operation's identity.
    #[inline(always)]
    pub fn hash(&self, source: &AccountId, transaction: &TransactionId) -> u64 {
        self.hash_words(words(&source.0), words(&transaction.0))
    }

    #[inline(always)]
    fn hash_words(&self, source: [u64; 2], transaction: [u64; 2]) -> u64 {
        let key = &self.key;
        let source = fold(source[0] ^ key[0], source[1] ^ key[1]);
        let transaction = fold(transaction[0] ^ key[2], transaction[1] ^ key[3]);
        fold(source ^ key[4], transaction ^ key[5])
    }

    /// Fingerprint of an operation's content, that is of all but its identity.
    #[inline(always)]
    pub fn fingerprint(&self, operation: &Operation) -> u32 {
        let key = &self.key;
        let [high, low] = words(&operation.destination.0);
        let head = u64::from(operation.command.get()) << 32 | u64::from(operation.contract.get());
        let content = fold(high ^ key[5], low ^ key[4]);
        let mixed = fold(content ^ operation.amount.get() ^ key[3], head ^ key[2]);
        (mixed ^ (mixed >> 32)) as u32
    }

    /// Loads the index line of a hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.index[self.line(hash)]);
    }

    /// Loads the index line of the operation that goes when the `ahead`-th from now comes.
    #[inline(always)]
    pub fn prefetch_evicted(&self, ahead: usize) {
        if self.len() + ahead >= self.capacity() {
            let record = &self.ring[self.position(self.next + ahead as u64)];
            self.prefetch(self.hash_words([record[0], record[1]], [record[2], record[3]]));
        }
    }

    /// Finds an operation by identity; `hash` is [`Window::hash`] of it.
    #[inline]
    pub fn find(&self, hash: u64, source: &AccountId, transaction: &TransactionId) -> Option<Remembered> {
        let [source, transaction] = [words(&source.0), words(&transaction.0)];
        let tag = self.tag(hash);
        let mut line = self.line(hash);
        loop {
            let slots = &self.index[line..line + LINE];
            let mut candidates = self.candidates(slots, tag);
            while candidates != 0 {
                let position = self.slot_position(slots[candidates.trailing_zeros() as usize]);
                let record = &self.ring[position];
                if record[..4] == [source[0], source[1], transaction[0], transaction[1]] {
                    return Some(self.remembered(position));
                }
                candidates &= candidates - 1;
            }
            if slots[PASSED] == 0 {
                return None;
            }
            line = self.line_after(line);
        }
    }

    /// Adds the next operation, which must not be in the window, and forgets the oldest if the window is full.
    /// `signed_at` is its signed timestamp, 0 if it is not signed. Returns its sequence.
    #[inline]
    pub fn push(&mut self, hash: u64, operation: &Operation, outcome: (Status, u64), signed_at: u64) -> u64 {
        if self.len() == self.capacity() {
            self.forget_first();
        }
        let (status, value) = outcome;
        let sequence = self.next;
        let position = self.position(sequence);
        let [source, transaction] = [words(&operation.source.0), words(&operation.transaction.0)];
        let last = u64::from(status.code()) << 32 | u64::from(self.fingerprint(operation));
        self.header[BEGUN].store(sequence + 1, Relaxed);
        // Whoever sees any of the record also sees that it is being written.
        fence(Release);
        self.ring[position] = [source[0], source[1], transaction[0], transaction[1], value, last];
        self.header[WRITTEN].store(sequence + 1, Release);
        self.next += 1;

        let stretch = position / STRETCH;
        if position.is_multiple_of(STRETCH) {
            // What the stretch held goes with its first record, also where the window began in the middle of one: the
            // horizon may be early by a few operations, never late.
            self.raise_horizon(self.newest_signed[stretch]);
            self.newest_signed[stretch] = signed_at;
        } else if signed_at != 0 {
            self.newest_signed[stretch] = self.newest_signed[stretch].max(signed_at);
        }

        let slot = self.slot(hash, position);
        let mut line = self.line(hash);
        loop {
            let slots = &mut self.index[line..line + LINE];
            if let Some(free) = slots[..SLOTS].iter().position(|slot| *slot == 0) {
                slots[free] = slot;
                return sequence;
            }
            slots[PASSED] += 1;
            line = self.line_after(line);
        }
    }

    fn forget_first(&mut self) {
        let position = self.position(self.first);
        let record = self.ring[position];
        let hash = self.hash_words([record[0], record[1]], [record[2], record[3]]);
        let slot = self.slot(hash, position);
        let mut line = self.line(hash);
        loop {
            let slots = &mut self.index[line..line + LINE];
            if let Some(found) = slots[..SLOTS].iter().position(|candidate| *candidate == slot) {
                slots[found] = 0;
                break;
            }
            // Every record has its slot at or after its line, behind lines that counted it.
            debug_assert!(slots[PASSED] > 0);
            slots[PASSED] -= 1;
            line = self.line_after(line);
        }
        self.first += 1;
    }

    fn remembered(&self, position: usize) -> Remembered {
        let record = &self.ring[position];
        // The only sequence from `first` to `next` that has this position.
        let age = (position as u64).wrapping_sub(self.first) & (self.capacity() as u64 - 1);
        Remembered {
            sequence: self.first + age,
            status: Status::try_from((record[5] >> 32) as u16).unwrap_or(Status::Ok),
            value: record[4],
            fingerprint: record[5] as u32,
        }
    }

    #[inline(always)]
    fn position(&self, sequence: u64) -> usize {
        (sequence & ((1 << self.position_bits) - 1)) as usize
    }

    /// First word of the line that a hash belongs to.
    #[inline(always)]
    fn line(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.line_bits)) as usize * LINE
    }

    #[inline(always)]
    fn line_after(&self, line: usize) -> usize {
        (line + LINE) & ((LINE << self.line_bits) - 1)
    }

    /// Tag of a hash in the upper bits of a slot. Never 0, which is what an empty slot has there.
    #[inline(always)]
    fn tag(&self, hash: u64) -> u32 {
        ((hash as u32) << self.position_bits).max(1 << self.position_bits)
    }

    #[inline(always)]
    fn slot(&self, hash: u64, position: usize) -> u32 {
        self.tag(hash) | position as u32
    }

    #[inline(always)]
    fn slot_position(&self, slot: u32) -> usize {
        (slot & ((1 << self.position_bits) - 1)) as usize
    }

    /// Bit for each slot of a line that has the tag.
    #[inline(always)]
    fn candidates(&self, slots: &[u32], tag: u32) -> u32 {
        let mut found = 0;
        for (at, slot) in slots[..SLOTS].iter().enumerate() {
            found |= u32::from((slot ^ tag) >> self.position_bits == 0) << at;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use proptest::prelude::*;

    use super::*;
    use crate::testing::transfer;

    fn key(operation: &Operation) -> (AccountId, TransactionId) {
        (operation.source, operation.transaction)
    }

    fn find(window: &Window, operation: &Operation) -> Option<Remembered> {
        let hash = window.hash(&operation.source, &operation.transaction);
        window.find(hash, &operation.source, &operation.transaction)
    }

    fn push(window: &mut Window, operation: &Operation, value: u64, signed_at: u64) -> u64 {
        let hash = window.hash(&operation.source, &operation.transaction);
        window.push(hash, operation, (Status::Ok, value), signed_at)
    }

    #[test]
    fn lines_overflow_and_empty_again() {
        // A key of zeros folds these operations to the same line: the worst an attacker could do.
        let mut window = Window::new(MIN_CAPACITY, 1, &Secret::default()).unwrap();
        window.key = [0; 6];
        for id in 0..3 * MIN_CAPACITY as u64 {
            assert_eq!(push(&mut window, &transfer(id, 1, 2, 3), id, 0), id + 1);
        }
        for id in 0..3 * MIN_CAPACITY as u64 {
            let found = find(&window, &transfer(id, 1, 2, 3));
            assert_eq!(found.is_some(), id >= 2 * MIN_CAPACITY as u64, "{id}");
        }
        while !window.is_empty() {
            window.forget_first();
        }
        assert!(window.index.iter().all(|word| *word == 0));
    }

    #[test]
    fn the_horizon_covers_every_forgotten_timestamp() {
        let mut window = Window::new(MIN_CAPACITY, 1, &Secret::default()).unwrap();
        let mut timestamps = VecDeque::new();
        let mut forgotten = 0;
        for id in 0..5 * MIN_CAPACITY as u64 {
            let signed_at = if id % 7 == 0 { 1000 + (id * 31) % 500 + id } else { 0 };
            push(&mut window, &transfer(id, 1, 2, 3), 0, signed_at);
            timestamps.push_back(signed_at);
            if timestamps.len() > MIN_CAPACITY {
                forgotten = forgotten.max(timestamps.pop_front().unwrap());
            }
            assert!(window.horizon() >= forgotten);
        }
        assert!(window.horizon() <= *timestamps.iter().max().unwrap());
    }

    #[test]
    fn the_fingerprint_covers_the_content() {
        let window = Window::new(MIN_CAPACITY, 1, &Secret::default()).unwrap();
        let base = transfer(1, 2, 3, 4);
        let mut others = vec![transfer(1, 2, 4, 4), transfer(1, 2, 3, 5)];
        let mut command = base;
        command.command.set(2);
        others.push(command);
        let mut contract = base;
        contract.contract.set(9);
        others.push(contract);
        assert!(others.iter().all(|other| window.fingerprint(other) != window.fingerprint(&base)));
        assert_eq!(window.fingerprint(&transfer(9, 8, 3, 4)), window.fingerprint(&base));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn behaves_like_a_queue_with_a_map(ids in prop::collection::vec((0u64..3000, 0u64..4), 1..6000), seed: [u8; 16]) {
            let mut window = Window::new(MIN_CAPACITY, 77, &Secret::from_seed(seed)).unwrap();
            let mut order = VecDeque::new();
            let mut known = HashMap::new();
            for (at, (id, source)) in ids.into_iter().enumerate() {
                let operation = transfer(id, source, 9, 1);
                let found = find(&window, &operation);
                let expected = known.get(&key(&operation)).copied();
                prop_assert_eq!(found.map(|found| (found.sequence, found.value)), expected);
                if found.is_none() {
                    let sequence = push(&mut window, &operation, at as u64, 0);
                    known.insert(key(&operation), (sequence, at as u64));
                    order.push_back(key(&operation));
                    if order.len() > MIN_CAPACITY {
                        known.remove(&order.pop_front().unwrap());
                    }
                }
                prop_assert_eq!(window.len(), order.len());
            }
        }
    }
}
