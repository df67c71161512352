//! The store: items by key, in memory of fixed size.
//!
//! It is divided into shards, each with its own lock. A request locks the shard of a key for one access, some hundred
//! nanoseconds. Bits of the key's hash choose the shard.
//!
//! A shard has
//!
//! - *pages* of 64 KiB, each whole or cut into blocks of one class of sizes. An item is a header, a key and a value in
//!   one block; a longer value continues in further blocks.
//! - an *index* from hashes to items: segments of 64 buckets of eight, in two of which a key may be. A segment without
//!   room is split in two by the next bit of the hash.
//! - for each class two *queues* of items, probation and protected, and fingerprints of evicted keys.
//! - `flushed`: items last used in this second or before are over. `latest`, the second that uses are noted with, is
//!   always after it, and never goes back.
//!
//! Rules, all under the shard's lock:
//!
//! - To find an item: compare the keys that the index names. An item that has expired or was flushed counts as missing;
//!   a write removes it.
//! - On a read: note the second, and count the use, up to 3.
//! - To write a value that fits the item's block: change it in place. Otherwise take the old item out of its queue,
//!   allocate and fill a new one, replace the old one in the index, and free it. If the value is too large, or there is
//!   no room, the old item stays, except that a `set` removes it, so that no client reads the value that it was to
//!   replace.
//! - To allocate a block: take a free one of the class, or cut a whole page. Otherwise make room, up to 2,048 times:
//!   1. Reclaim items that are over among the next 8 blocks of the shard, if any item can expire.
//!   2. Without eviction, fail.
//!   3. Choose the victim of the class: the oldest item on probation if a tenth of the class's items is there, else the
//!      oldest protected one. A used one moves to the newest end of the protected queue, and the next is looked at. If
//!      the victim was read from the mirror meanwhile, count that use, and begin again.
//!   4. Each 16th time, or without a victim, compare the victim's cost with those of other classes' oldest items: the
//!      age times the square root of the size. If another one costs a quarter more, evict its whole page, so that this
//!      class can have it.
//!   5. Otherwise evict the victim. An unused item on probation leaves its fingerprint: if its key returns it is
//!      protected.
//! - On a flush: set `flushed` to `latest`, and `latest` to the second after; for a later moment, note that moment.
//! - Before a change or the end of an item: empty its slot in the [mirror](Store::set_mirror), and copy its value if
//!   replies that are being sent refer to it.
//!
//! With a file, [`Store::close`] writes all state except the index when nothing changes any longer, and the next start
//! removes that state durably before the first change, then builds the index from the items. So a program that was
//! killed leaves none, and the next one starts empty.

mod blocks;
mod cold;
mod counters;
mod file;
mod held;
mod index;
mod item;
mod mirror;
mod mirrored;
mod queues;
mod room;
mod shard;
mod shared_layout;
mod state;
mod walk;
mod write;

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use table::{Hash, Hasher, Region, Seed};

pub use cold::Cold;
pub use counters::{ClassCounters, ClassEnds, ClassRequests, Counters};
pub use file::{FileError, Start};
pub use held::Copies;
pub use item::{Header, mark};
pub use mirror::{Ahead, bytes as mirror_bytes};
pub use shard::{ClassUse, Item, Limits, Parts, Shard};
pub use shared_layout::MAX_KEY;
pub use walk::Cursor;
pub use write::{Arithmetic, Mode, NotChanged, Stored, Write};

use crate::{
    clock::{Clock, Seconds},
    watch::{Interests, Watchers},
};

/// Memory that a shard has at least, so that each class of blocks gets pages enough.
const SMALLEST_SHARD: usize = 32 << 20;

/// Largest items that a shard has room for at least.
const LARGEST_ITEMS: usize = 32;

/// Shards for each thread: with four, two threads seldom want the same.
const SHARDS_PER_THREAD: usize = 4;

/// Number of keys to prefetch together: the number of cache misses that a core can have outstanding.
pub const PREFETCHED: usize = 8;

/// Limits of a store.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes of memory for items.
    pub memory: usize,
    /// Bytes of the largest item.
    pub largest_item: usize,
    /// Whether to evict items when there is no room.
    pub evict: bool,
    /// Threads that use the store.
    pub threads: usize,
}

impl Config {
    /// Into how many shards the memory is divided, and what each has.
    fn division(&self) -> (usize, Limits) {
        let smallest = SMALLEST_SHARD.max(self.largest_item.saturating_mul(LARGEST_ITEMS));
        let most = (self.memory / smallest).max(1);
        let wanted = if self.threads > 1 { self.threads * SHARDS_PER_THREAD } else { 1 };
        // A power of two, so that a few bits of the hash choose the shard.
        let count = 1 << wanted.min(most).min(256).ilog2();
        (count, self.limits(count))
    }

    /// The share of each of `count` shards.
    fn limits(&self, count: usize) -> Limits {
        Limits { memory: self.memory / count, item: self.largest_item, evict: self.evict }
    }
}

/// A key with its hash.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// The key.
    pub bytes: &'a [u8],
    /// Its hash.
    pub hash: Hash,
}

/// A store of items by key.
#[derive(Debug)]
pub struct Store {
    shards: Vec<Mutex<Shard>>,
    hasher: Hasher,
    /// The seed of the hash function.
    seed: Seed,
    clock: Clock,
    config: Config,
    /// The file of the memory, if it must outlive the program.
    file: Option<file::MemoryFile>,
    /// Whether the file has all the state needed to resume.
    closed: AtomicBool,
    /// The program that answers from the mirror.
    ahead: OnceLock<Box<dyn Ahead>>,
    /// Number of gets that it had answered at the last reset of counts.
    ahead_before: AtomicU64,
    /// Copies of values that changed while replies referred to them.
    copies: Arc<Copies>,
    /// Connections that get log lines.
    watchers: Arc<Watchers>,
    /// Keys of evicted items that the NIC may have, if there is one.
    evicted: OnceLock<shard::Evicted>,
}

/// Why no page was moved to another class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReassigned {
    /// A class does not exist.
    BadClass,
    /// The class has no page to spare.
    NoSpare,
}

impl Store {
    /// An empty store.
    pub fn new(config: Config) -> Result<Self, table::Error> {
        let seed = seed()?;
        let (count, limits) = config.division();
        let hasher = Hasher::new(&seed);
        let shards = (0..count).map(|_| Shard::new(&limits, &hasher)).collect::<Result<_, _>>()?;
        Ok(Self::from_shards(shards, seed, Clock::start(), config))
    }

    fn from_shards(shards: Vec<Shard>, seed: Seed, clock: Clock, config: Config) -> Self {
        let (copies, watchers) = (Arc::<Copies>::default(), Arc::<Watchers>::default());
        let shared = |mut shard: Shard| {
            shard.held.copies = Arc::clone(&copies);
            shard.watchers = Arc::clone(&watchers);
            Mutex::new(shard)
        };
        let shards = shards.into_iter().map(shared).collect();
        Self {
            shards,
            hasher: Hasher::new(&seed),
            seed,
            clock,
            config,
            file: None,
            closed: AtomicBool::new(false),
            ahead: OnceLock::new(),
            ahead_before: AtomicU64::new(0),
            copies,
            watchers,
            evicted: OnceLock::new(),
        }
    }

    /// The configuration it was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Copies of values that changed while replies referred to them.
    pub fn copies(&self) -> &Copies {
        &self.copies
    }

    /// Connections that get log lines.
    pub fn watchers(&self) -> &Arc<Watchers> {
        &self.watchers
    }

    /// Logs a write that was refused without looking at the item.
    pub(crate) fn log_refusal(&self, key: &[u8], mode: Mode, stored: Stored) {
        if self.watchers.want(Interests::MUTATIONS) {
            self.watchers.log_write(key, [stored.name(), mode.name()], 0, 0, 0);
        }
    }

    /// Frees a page of a class, or of any, for another class, or for any. The items of the page are evicted.
    pub fn reassign(&self, from: Option<u8>, to: Option<u8>, now: Seconds) -> Result<(), NotReassigned> {
        let classes = self.shards().next().map_or(0, |shard| shard.queues.len());
        if [from, to].into_iter().flatten().any(|class| usize::from(class) >= classes) {
            return Err(NotReassigned::BadClass);
        }
        let pages = |shard: &Shard| match from {
            Some(class) => shard.blocks.pages_of(class) as usize,
            None => shard.blocks.pages() as usize - shard.blocks.free_pages(),
        };
        let richest = (0..self.shards.len()).max_by_key(|number| pages(&lock(&self.shards[*number])));
        let is_freed = richest.is_some_and(|number| lock(&self.shards[number]).free_page(from, to, now));
        if is_freed { Ok(()) } else { Err(NotReassigned::NoSpare) }
    }

    /// The store's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// A key with its hash.
    #[inline]
    pub fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: self.hasher.hash_bytes(bytes) }
    }

    /// Locks the shard of a key.
    #[inline]
    pub fn shard(&self, hash: Hash) -> MutexGuard<'_, Shard> {
        // Bits that neither the bucket nor the tag is made of.
        let number = (hash.to_bits() >> 24) as usize & (self.shards.len() - 1);
        lock(&self.shards[number])
    }

    /// Whether an item with `len` bytes of key and value is not too large.
    pub(crate) fn has_room_for(&self, len: usize) -> bool {
        item::HEADER + len <= self.config.largest_item
    }

    /// Prefetches the memory needed to find keys, [`PREFETCHED`] at a time, so that their cache misses overlap. A
    /// single key gains nothing.
    #[inline]
    pub fn prefetch(&self, hashes: impl Iterator<Item = Hash> + Clone) {
        if hashes.clone().nth(1).is_none() {
            return;
        }
        hashes.clone().for_each(|hash| self.shard(hash).prefetch_bucket(hash));
        hashes.for_each(|hash| self.shard(hash).prefetch_item(hash));
    }

    /// All shards, one after the other.
    pub fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(lock)
    }

    /// Makes the store maintain a mirror in `region`, memory of [`mirror_bytes`] that is shared with the program that
    /// answers from it.
    pub fn set_mirror(&self, region: Region) -> Result<(), table::Error> {
        let given = region.len();
        let parts = mirror::create(region, self.shards.len(), &self.hasher, &self.clock);
        let parts = parts.ok_or(table::Error::RegionTooSmall { given, needed: mirror_bytes(0) })?;
        self.shards().zip(parts).for_each(|(mut shard, part)| shard.mirror = Some(part));
        Ok(())
    }

    /// Puts a key's item into the mirror, if there is one and it is small.
    pub fn mirror(&self, key: Key<'_>, now: Seconds) {
        self.shard(key.hash).mirror(key.bytes, key.hash, now);
    }

    /// Sets the program that answers from the mirror.
    pub fn set_ahead(&self, ahead: Box<dyn Ahead>) {
        // Once, after the mirror was made.
        let _ = self.ahead.set(ahead);
    }

    /// The program that answers from the mirror, if any.
    pub fn ahead(&self) -> Option<&dyn Ahead> {
        self.ahead.get().map(|ahead| &**ahead)
    }

    /// Gets that were answered out of the mirror since the start.
    fn answered_ahead(&self) -> u64 {
        self.ahead().and_then(|ahead| ahead.counts().first().map(|(_, count)| *count)).unwrap_or(0)
    }

    /// Collects the keys of items that are evicted and that the NIC may have, from now on.
    pub(crate) fn collect_evicted(&self) {
        let evicted = self.evicted.get_or_init(Arc::default);
        self.shards().for_each(|mut shard| shard.collect_evicted(evicted));
    }

    /// Takes the keys that were collected.
    pub(crate) fn take_evicted(&self) -> Vec<Box<[u8]>> {
        let take =
            |evicted: &shard::Evicted| std::mem::take(&mut *evicted.lock().unwrap_or_else(PoisonError::into_inner));
        self.evicted.get().map(take).unwrap_or_default()
    }

    /// The counts of all shards, and of what answers out of the mirror.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.shards().for_each(|shard| sum.add(&shard.counters));
        sum.get_hits += self.answered_ahead().saturating_sub(self.ahead_before.load(Relaxed));
        sum
    }

    /// Sets all counts to 0.
    pub fn reset_counters(&self) {
        self.shards().for_each(|mut shard| shard.reset_counters());
        self.ahead_before.store(self.answered_ahead(), Relaxed);
    }

    /// Flushes all items, at once or at a later moment.
    pub fn flush(&self, at: Seconds, now: Seconds) {
        self.shards().for_each(|mut shard| shard.flush(at, now));
    }
}

/// A thread that panicked has left a shard's counts wrong at worst: its invariants are checked before anything is
/// changed.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A seed that nobody can guess, so that nobody can choose keys that collide.
fn seed() -> Result<Seed, table::Error> {
    let mut seed = Seed::default();
    getrandom::fill(&mut seed).map_err(table::Error::Random)?;
    Ok(seed)
}
