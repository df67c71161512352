//! The retry memory of the in-NIC ledger, as in `bpf/retries.h`.

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

/// Words of a set, and the offsets of its tags and its sequences.
const SET: usize = retry_set::BYTES / 8;
const TAGS: usize = retry_set::TAGS / 8;
const SEQUENCES: usize = retry_set::SEQUENCES / 8;
const _: () = assert!(retry_set::OVERFLOWED == 0 && retry_set::NEXT == 4, "the halves of a set's first word");

/// Words of an operation in the log: each has two halves, the lower one first.
const OPERATION: usize = remembered_operation::BYTES / 8;
const _: () = {
    assert!(remembered_operation::TRANSACTION == 0 && remembered_operation::SOURCE == 4);
    assert!(remembered_operation::DESTINATION == 8 && remembered_operation::AMOUNT == 12);
    assert!(remembered_operation::VALUE == 16 && remembered_operation::WHEN == 20);
};

/// Average number of operations per set when the log is full. If all are young, one in 50,000 then finds no entry that
/// may be forgotten: 20 in its own set and 20 in its second one are taken.
const MEAN_ENTRIES: usize = 11;

/// Minimum number of processors for which the log has spare places, and the minimum ratio of its places to the spare
/// ones.
const FEWEST_PROCESSORS: usize = 64;
const SPARE: usize = 8;

/// Maximum retention: ticks repeat after three days.
pub const MOST_RETENTION: Duration = Duration::from_secs(24 * 3600);

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A tick of the program's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick(u64);

impl Tick {
    /// The present tick.
    pub fn now() -> Self {
        // The clock that `bpf_ktime_get_coarse_ns` reads.
        let time = clock_gettime(ClockId::MonotonicCoarse);
        Self::after(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    /// The tick at a time after the start of the clock.
    pub const fn after(time: Duration) -> Self {
        Self((time.as_nanos() >> TICK_BITS) as u64)
    }

    /// The tick `age` earlier, even before the machine was started.
    pub const fn before(self, age: Duration) -> Self {
        Self(self.0.wrapping_sub(Self::after(age).0))
    }

    /// As a number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// The retention in the store's header: plus `TICKS_LATE` for an operation that is executed after its tick, the same
/// for one whose tick is ahead of another processor's, and one tick because an operation may be executed at its end.
pub fn retention_ticks(retention: Duration) -> u64 {
    (retention.as_nanos() as u64).div_ceil(1 << TICK_BITS) + 1 + 2 * TICKS_LATE
}

/// Size of the memory for a number of operations.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Places of the log, a power of two.
    pub places: usize,
    /// Sets of the index.
    pub sets: usize,
    /// Number of processors: that many places of the log may be unreadable, and the next ones must not be overwritten
    /// while they are young.
    pub processors: usize,
}

impl Size {
    /// The size for at least `operations` operations.
    pub fn with_operations(operations: usize) -> Self {
        let processors = possible_processors().max(FEWEST_PROCESSORS);
        let places = operations.max(SPARE * processors).next_power_of_two();
        Self { places, sets: places.div_ceil(MEAN_ENTRIES), processors }
    }

    /// Size of the log in bytes.
    pub fn log_bytes(&self) -> usize {
        self.places * OPERATION * size_of::<u64>()
    }

    /// Size of the index in bytes.
    pub fn sets_bytes(&self) -> usize {
        self.sets * SET * size_of::<u64>()
    }
}

/// How full the memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryFill {
    /// Operations that may not be forgotten yet.
    pub operations: usize,
    /// Maximum number of operations.
    pub capacity: usize,
    /// Age of the oldest of them, rounded to ticks.
    pub age: Duration,
}

/// The memory of retries. Change it only while no program is using it.
#[derive(Debug)]
pub struct Retries {
    /// Secret words, as for accounts.
    pub secret: [u64; 2],
    /// The operations, indexed by the lower bits of their sequences.
    pub log: Array<AtomicU64>,
    /// The sets that point to them.
    pub sets: Array<AtomicU64>,
    /// As in [`Size`].
    pub processors: u64,
    /// The result of [`retention_ticks`].
    pub retention: u64,
}

impl Retries {
    /// Continues after a sequence without remembering anything: all entries are older than the log.
    pub fn begin_after(&mut self, sequence: u64) {
        let places = (self.log.len() / OPERATION) as u64;
        let old = u64::from(sequence.wrapping_sub(places) as u32);
        for set in self.sets.chunks_exact(SET) {
            set.iter().skip(SEQUENCES).for_each(|pair| pair.store(old << 32 | old, Relaxed));
        }
    }

    /// Remembers an operation executed at a tick; operations come in order. Returns whether there was a place.
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

    /// How full the memory is after a sequence, in operations that may not be forgotten. Approximate, because others
    /// are executed meanwhile.
    pub fn fill(&self, last: u64, now: Tick) -> RetryFill {
        let places = (self.log.len() / OPERATION) as u64;
        // With one more, the place ahead of it would hold one that may not be forgotten.
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

    /// Takes the next entry of a set in rotation, unless it may not be forgotten.
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

    /// Ticks since an operation, plus `TICKS_LATE`.
    fn age(&self, sequence: u64, now: Tick) -> u64 {
        let ahead = (now.0 as u32).wrapping_add(TICKS_LATE as u32);
        u64::from(ahead.wrapping_sub(self.when(sequence) >> 8) & WHEN_TICKS)
    }

    /// The tick of the operation in a place, with its command and status.
    fn when(&self, sequence: u64) -> u32 {
        let place = sequence as usize & (self.log.len() / OPERATION - 1);
        (self.log[place * OPERATION + 2].load(Relaxed) >> 32) as u32
    }
}

/// Stores the lower or the upper half of a word.
fn half(word: &AtomicU64, upper: usize, value: u32) {
    let shift = 32 * upper;
    word.store(word.load(Relaxed) & !(0xffff_ffff << shift) | u64::from(value) << shift, Relaxed);
}

/// Both halves of the product, XORed: the twin of `fold` in `bpf/hash.h`.
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}
