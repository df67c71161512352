//! What the in-NIC ledger remembers of the operations that it executed, as `bpf/retries.h` does.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use table::Array;

use crate::{
    Committed,
    program::possible_processors,
    shared_layout::{
        SET_ENTRIES, TICK_BITS, TICKS_LATE, WHEN_COMMAND, WHEN_COMMAND_SHIFT, WHEN_STATUS, WHEN_TICKS,
        remembered_operation, retry_set,
    },
};

/// Words of a set, and where its tags and its sequences begin in it.
const SET: usize = retry_set::BYTES / 8;
const TAGS: usize = retry_set::TAGS / 8;
const SEQUENCES: usize = retry_set::SEQUENCES / 8;
const _: () = assert!(retry_set::OVERFLOWED == 0 && retry_set::NEXT == 4, "the halves of a set's first word");

/// Words of an operation in the log: each two halves, the lower one first.
const OPERATION: usize = remembered_operation::BYTES / 8;
const _: () = {
    assert!(remembered_operation::TRANSACTION == 0 && remembered_operation::SOURCE == 4);
    assert!(remembered_operation::DESTINATION == 8 && remembered_operation::AMOUNT == 12);
    assert!(remembered_operation::VALUE == 16 && remembered_operation::WHEN == 20);
};

/// Operations that a set leads to on average, when the log is full. One in 50,000 finds no entry that may be forgotten then, if all are young: 20 in
/// its own set, and 20 in its second.
const MEAN_ENTRIES: usize = 11;

/// The fewest processors that the log has places to spare for, and how many times as many places it has at least.
const FEWEST_PROCESSORS: usize = 64;
const SPARE: usize = 8;

/// The longest retention: ticks come again after three days.
pub const MOST_RETENTION: Duration = Duration::from_secs(24 * 3600);

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A moment of the program's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick(u64);

impl Tick {
    /// This moment.
    pub fn now() -> Self {
        // What `bpf_ktime_get_coarse_ns` reads.
        let time = clock_gettime(ClockId::MonotonicCoarse);
        Self::after(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    /// So long after the clock began.
    pub const fn after(time: Duration) -> Self {
        Self((time.as_nanos() >> TICK_BITS) as u64)
    }

    /// So long before; from before the machine was started, too.
    pub const fn before(self, age: Duration) -> Self {
        Self(self.0.wrapping_sub(Self::after(age).0))
    }

    /// As a number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// What the store's header tells of the retention: `TICKS_LATE` for an operation that is executed after its tick, as many for one whose
/// tick is ahead of another processor's, and a tick, as an operation may be executed at the end of it.
pub fn retention_ticks(retention: Duration) -> u64 {
    (retention.as_nanos() as u64).div_ceil(1 << TICK_BITS) + 1 + 2 * TICKS_LATE
}

/// How large the memory for so many operations is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Places of the log, a power of two.
    pub places: usize,
    /// Sets of the index.
    pub sets: usize,
    /// Processors: so many places of the log may not be read, and the next as many are not written while they are young.
    pub processors: usize,
}

impl Size {
    /// For so many operations at least.
    pub fn of(operations: usize) -> Self {
        let processors = possible_processors().max(FEWEST_PROCESSORS);
        let places = operations.max(SPARE * processors).next_power_of_two();
        Self { places, sets: places.div_ceil(MEAN_ENTRIES), processors }
    }

    /// Bytes of the log.
    pub fn log_bytes(&self) -> usize {
        self.places * OPERATION * size_of::<u64>()
    }

    /// Bytes of the index.
    pub fn sets_bytes(&self) -> usize {
        self.sets * SET * size_of::<u64>()
    }
}

/// How full the memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryFill {
    /// Operations that may not be forgotten yet.
    pub operations: usize,
    /// How many there can be.
    pub capacity: usize,
    /// Since the oldest of them was executed, in ticks.
    pub age: Duration,
}

/// The memory: to be changed while no program is at it.
#[derive(Debug)]
pub struct Retries {
    /// Secret words, as accounts have them.
    pub secret: [u64; 2],
    /// The operations, by the lower bits of their sequences.
    pub log: Array<AtomicU64>,
    /// The sets that lead to them.
    pub sets: Array<AtomicU64>,
    /// As in [`Size`].
    pub processors: u64,
    /// As [`retention_ticks`] gives it.
    pub retention: u64,
}

impl Retries {
    /// Goes on behind the operation of a sequence, remembering nothing: all entries are older than what the log has.
    pub fn begin_after(&mut self, sequence: u64) {
        let places = (self.log.len() / OPERATION) as u64;
        let old = u64::from(sequence.wrapping_sub(places) as u32);
        for set in self.sets.chunks_exact(SET) {
            set.iter().skip(SEQUENCES).for_each(|pair| pair.store(old << 32 | old, Relaxed));
        }
    }

    /// Has an operation of a moment recognised; they come in order. Whether there was a place.
    pub fn remember(&mut self, committed: &Committed, then: Tick, now: Tick) -> bool {
        let places = (self.log.len() / OPERATION) as u64;
        let oldest = committed.sequence.wrapping_sub(1).wrapping_add(2 * self.processors);
        if self.is_young(oldest, now) {
            return false;
        }
        let ([own, second], tag) = self.find(committed);
        let entry = self.take(own, committed.sequence, now).or_else(|| {
            half(&self.sets[own * SET], 0, (now.0 as u32 & WHEN_TICKS) + 1);
            self.take(second, committed.sequence, now)
        });
        let Some((set, at)) = entry else { return false };
        let (word, shift) = (&self.sets[set * SET + TAGS + at / 4], 16 * (at % 4));
        word.store(word.load(Relaxed) & !(0xffff << shift) | u64::from(tag) << shift, Relaxed);
        half(&self.sets[set * SET + SEQUENCES + at / 2], at % 2, committed.sequence as u32);
        let Committed { value, command, transaction, source, destination, amount, status, .. } = *committed;
        let when =
            (then.0 as u32) << 8 | (command << WHEN_COMMAND_SHIFT) & WHEN_COMMAND | u32::from(status) & WHEN_STATUS;
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        let place = (committed.sequence & (places - 1)) as usize * OPERATION;
        let words = [pair(transaction, source), pair(destination, amount), pair(value, when)];
        for (word, value) in words.into_iter().enumerate() {
            self.log[place + word].store(value, Relaxed);
        }
        true
    }

    /// How full it is behind the operation of a sequence: with those that may not be forgotten. By and large, as others are executed meanwhile.
    pub fn fill(&self, last: u64, now: Tick) -> RetryFill {
        let places = (self.log.len() / OPERATION) as u64;
        // One more, and the place ahead of it is of one that may not be forgotten.
        let capacity = places - 2 * self.processors + 1;
        let nth_last = |count: u64| last.wrapping_sub(count - 1);
        // They are in the order of their ticks.
        let (mut young, mut most) = (0, capacity);
        while young < most {
            let count = (young + most).div_ceil(2);
            if self.is_young(nth_last(count), now) { young = count } else { most = count - 1 }
        }
        let ticks = if young == 0 { 0 } else { self.age(nth_last(young), now).saturating_sub(TICKS_LATE) };
        let age = Duration::from_nanos(ticks << TICK_BITS);
        RetryFill { operations: young as usize, capacity: capacity as usize, age }
    }

    /// The two sets of an operation, and its tag.
    fn find(&self, committed: &Committed) -> ([usize; 2], u16) {
        let sets = (self.sets.len() / SET) as u64;
        let name = u64::from(committed.source) << 32 | u64::from(committed.transaction);
        let hash = fold(name ^ self.secret[0], self.secret[1] | 1).wrapping_mul(GOLDEN);
        let first = ((hash >> 32) * sets) >> 32;
        let second = (first + 1 + (((hash & 0xffff_ffff) * (sets - 1)) >> 32)) % sets;
        ([first as usize, second as usize], hash as u16)
    }

    /// Takes the entry whose turn it is in a set, unless it may not be forgotten.
    fn take(&self, set: usize, next: u64, now: Tick) -> Option<(usize, usize)> {
        let word = &self.sets[set * SET];
        let at = (word.load(Relaxed) >> 32) as usize % SET_ENTRIES;
        let sequence = (self.sets[set * SET + SEQUENCES + at / 2].load(Relaxed) >> (32 * (at % 2))) as u32;
        let age = (next as u32).wrapping_sub(1).wrapping_sub(sequence);
        let is_in_log = u64::from(age) < (self.log.len() / OPERATION) as u64 - self.processors;
        if is_in_log && self.is_young(sequence.into(), now) {
            return None;
        }
        half(word, 1, at as u32 + 1);
        Some((set, at))
    }

    /// Whether the operation in a place may not be forgotten.
    fn is_young(&self, sequence: u64, now: Tick) -> bool {
        self.when(sequence) & WHEN_COMMAND != 0 && self.age(sequence, now) <= self.retention
    }

    /// Ticks since an operation, and `TICKS_LATE`.
    fn age(&self, sequence: u64, now: Tick) -> u64 {
        let ahead = (now.0 as u32).wrapping_add(TICKS_LATE as u32);
        u64::from(ahead.wrapping_sub(self.when(sequence) >> 8) & WHEN_TICKS)
    }

    /// When the operation in a place was executed, with its command and status.
    fn when(&self, sequence: u64) -> u32 {
        let place = sequence as usize & (self.log.len() / OPERATION - 1);
        (self.log[place * OPERATION + 2].load(Relaxed) >> 32) as u32
    }
}

/// Stores half of a word, the lower or the upper one.
fn half(word: &AtomicU64, upper: usize, value: u32) {
    let shift = 32 * upper;
    word.store(word.load(Relaxed) & !(0xffff_ffff << shift) | u64::from(value) << shift, Relaxed);
}

/// Both halves of the product, one over the other: the twin of `fold` in `bpf/hash.h`.
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}
