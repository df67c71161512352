//! The cache: bodies of proof replies, keyed by chain, query and request key.
//!
//! # Coherence
//!
//! The cache holds the last announced tip of each chain. The tip that a reply is true as of is its generation:
//!
//! - A fill is accepted only if its tip is the one that the cache holds. A reply computed before an announcement and
//!   arriving after it, however late, is refused and never replaces a newer one.
//! - [`Cache::announce`] first removes the replies for the addresses that the block touched and then publishes the new
//!   tip. The remaining replies are true as of the new tip, too, and a hit is sent with the current tip in it. Proofs
//!   by transaction id and by locator stay true whatever is announced. Entries of the index are proved against the
//!   tip's own root, so every new tip makes all of them stale; they carry the number of their tip.
//! - [`Cache::reorganise`] makes all replies of the chain stale at once by starting a new epoch: nothing from a block
//!   that left the chain can be proved any more, and reorganisations are rare.
//! - A hit reads the tip, then the reply, and then checks that the tip has not changed, so both belong to the same
//!   moment.
//!
//! Invalidation costs one lookup for each address of a block. Lookups run in batches, and almost all miss and touch one
//! cache line. A generation per address would instead add a cache miss to every hit, and would need memory for
//! addresses that nobody asks about.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use table::{
    EntryIndex, NotRead, NotStored, Pages, Published, Publisher, Reader, Region, Table, ValueHandle, ValueReader,
    ValueStore,
};
use wire::{Chain, ProofReply, ProofRequest, Query};

use crate::counters::{Counters, Counting};

/// Bytes of a request that determine its answer: one for chain and query, then the key.
const KEY: usize = 33;

/// Bytes of a table entry: the value's handle, and the epoch and tip number at which it was filled.
const ENTRY: usize = 16;

/// Bytes at the start of a body that name the tip: its hash and its height.
const TIP: usize = 40;

/// The longest body accepted: what fits a datagram that Ethernet carries unfragmented. Longer bodies are rare, and each
/// would take the room of several.
const LONGEST: usize = wire::ETHERNET_DATAGRAM - ProofRequest::LENGTH;

/// Roughly the shortest body: a proof in a block of four transactions. The table has entries for as many as fit.
const SHORTEST: usize = ProofReply::LENGTH - ProofRequest::LENGTH + 2 * 32 + 64;

/// Bytes between the tips, each on a cache line of its own.
const TIP_STRIDE: usize = 64;
const TIPS: usize = 2 * TIP_STRIDE;

/// Addresses invalidated in one batch.
const ADDRESSES: usize = 1024;

/// Rounds of eviction for one fill before it is given up.
const EVICTIONS: usize = 8;

/// The tip of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tip {
    /// The hash of the tip's header.
    pub hash: [u8; 32],
    /// The tip's height.
    pub height: u64,
}

/// The size of a cache.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes of memory for replies. The table takes about a quarter more.
    pub bytes: usize,
    /// The kind of pages that the memory is made of.
    pub pages: Pages,
}

impl Config {
    /// A configuration for at least `count` replies, at 1 KiB each.
    pub fn for_replies(count: usize) -> Self {
        Self { bytes: count.saturating_mul(1 << 10).max(1 << 20), ..Self::default() }
    }

    /// Bytes that the parts of [`Memory`] take: table, values, tips.
    pub fn memory(&self) -> Result<[usize; 3], table::Error> {
        Ok([self.table().memory::<KEY, ENTRY>()?, self.bytes, TIPS])
    }

    /// The number of lines in the value store.
    pub fn value_lines(&self) -> u64 {
        ValueStore::lines(self.bytes) as u64
    }

    fn table(&self) -> table::Config {
        table::Config::new((self.bytes / SHORTEST).max(1)).pages(self.pages).near()
    }
}

impl Default for Config {
    /// 64 MiB: the replies for a few hundred thousand addresses.
    fn default() -> Self {
        Self { bytes: 64 << 20, pages: Pages::default() }
    }
}

/// The memory of a cache, each part aligned to a cache line.
#[derive(Debug)]
pub struct Memory {
    /// The table of requests.
    pub table: Region,
    /// The value store, which holds the replies.
    pub values: Region,
    /// The tip of each chain, on a cache line of its own.
    pub tips: Region,
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// A hit: the body, of this many bytes, is at the start of the caller's room.
    Hit(usize),
    /// The body has this many bytes, more than the caller has room for.
    TooLarge(usize),
    /// The cache has no current reply.
    Miss,
}

/// Cached replies to proof frames.
///
/// Any thread may look up, without waiting; fills and announcements take turns.
#[derive(Debug)]
pub struct Cache {
    table: Reader<KEY, ENTRY>,
    values: ValueReader,
    tips: [Published<6>; 2],
    writer: Mutex<Writer>,
    counting: Counting,
}

impl Cache {
    /// Creates an empty cache. It accepts replies of a chain only after the chain's first tip is announced.
    pub fn new(config: &Config) -> Result<Self, table::Error> {
        let anonymous = |bytes| Region::anonymous(bytes, config.pages, false);
        let [table, values, tips] = config.memory()?;
        Self::within(config, Memory { table: anonymous(table)?, values: anonymous(values)?, tips: anonymous(tips)? })
    }

    /// Creates an empty cache in the given memory, whose sizes [`Config::memory`] returns.
    pub fn within(config: &Config, memory: Memory) -> Result<Self, table::Error> {
        let table = Table::with_region(&config.table(), memory.table)?;
        let values = ValueStore::with_region(memory.values, LONGEST)?;
        let tips = [Generation::default(), Generation::default()];
        let region = Arc::new(memory.tips);
        let publisher = |chain: usize| Publisher::within(&region, chain * TIP_STRIDE, tips[chain].to_words());
        let publishers = [publisher(0)?, publisher(1)?];
        Ok(Self {
            table: table.reader(),
            values: values.reader(),
            tips: publishers.each_ref().map(Publisher::reader),
            writer: Mutex::new(Writer { table, values, tips, publishers }),
            counting: Counting::default(),
        })
    }

    /// What the cache has counted.
    pub fn counters(&self) -> Counters {
        self.counting.read()
    }

    /// The last announced tip of a chain; `None` before the first.
    pub fn tip(&self, chain: Chain) -> Option<Tip> {
        let generation = Generation::from_words(self.tips[usize::from(chain.code())].read().0);
        (generation.number > 0).then_some(generation.tip)
    }

    /// Looks up the reply to a request and writes its body to the start of `room`.
    ///
    /// If `room` was all zeros, as the padding of a request is, it is all zeros again after anything but a hit.
    pub fn get(&self, chain: Chain, query: Query, key: &[u8; 32], room: &mut [u8]) -> Lookup {
        let lookup = self.find(chain, query, key, room, || {});
        match lookup {
            Lookup::Hit(_) => self.counting.hits.add(1),
            Lookup::TooLarge(_) => {}
            Lookup::Miss => self.counting.misses.add(1),
        }
        lookup
    }

    /// Tests pass `meanwhile` to make something happen between reading the tip and reading the reply.
    #[inline(always)]
    fn find(&self, chain: Chain, query: Query, key: &[u8; 32], room: &mut [u8], meanwhile: impl FnOnce()) -> Lookup {
        let key = entry_key(chain, query, key);
        let published = &self.tips[usize::from(chain.code())];
        let (words, edition) = published.read();
        let generation = Generation::from_words(words);
        meanwhile();
        let Some((_, bytes)) = self.table.find(self.table.hash(&key), &key) else { return Lookup::Miss };
        let entry = Entry::from_bytes(bytes);
        if !generation.covers(query, &entry) {
            return Lookup::Miss;
        }
        self.values.prefetch(entry.value);
        match self.values.read(entry.value, room) {
            Ok(len) => {
                if len >= TIP && published.is_current(edition) {
                    generation.tip.write(&mut room[..TIP]);
                    return Lookup::Hit(len);
                }
                room[..len].fill(0);
                Lookup::Miss
            }
            Err(NotRead::TooLong(len)) => Lookup::TooLarge(len),
            Err(NotRead::Gone) => {
                // The value was removed while it was being copied, so how much of it was written is unknown.
                let written = room.len().min(LONGEST);
                room[..written].fill(0);
                Lookup::Miss
            }
        }
    }

    /// Stores the body of the reply to a request. It must be true as of the tip that it names, and is refused unless
    /// that is the last announced tip.
    pub fn fill(&self, chain: Chain, query: Query, key: &[u8; 32], body: &[u8]) {
        // The holder of the lock is either about to make this fill late or filling, too: not worth waiting for.
        let mut writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return self.counting.late_fills.add(1),
        };
        let generation = writer.tips[usize::from(chain.code())];
        if generation.number == 0 || body.get(..TIP) != Some(&generation.tip.to_bytes()) {
            return self.counting.late_fills.add(1);
        }
        let (filled, evictions) = writer.fill(&entry_key(chain, query, key), generation, body);
        self.counting.evictions.add(evictions);
        if filled { self.counting.fills.add(1) } else { self.counting.refused_fills.add(1) }
    }

    /// Announces a block that extends the chain.
    ///
    /// `parent` is the hash of the tip before, `touched` the addresses of all its transactions, as requests for their
    /// latest transaction name them. If the cache holds a tip other than `parent`, it has missed something and treats
    /// this as a reorganisation.
    pub fn announce(&self, chain: Chain, parent: &[u8; 32], tip: Tip, touched: impl IntoIterator<Item = [u8; 32]>) {
        let mut writer = self.lock();
        let generation = writer.tips[usize::from(chain.code())];
        if generation.number == 0 || generation.tip.hash != *parent {
            return writer.publish(chain, generation.reorganised(tip));
        }
        let invalidations = writer.forget(chain, touched);
        self.counting.invalidations.add(invalidations);
        writer.publish(chain, generation.extended(tip));
    }

    /// Announces that blocks have left the chain, that a chain has begun, or that the tip has changed in any other way.
    /// All replies of the chain are stale from now on.
    pub fn reorganise(&self, chain: Chain, tip: Tip) {
        let mut writer = self.lock();
        let generation = writer.tips[usize::from(chain.code())];
        writer.publish(chain, generation.reorganised(tip));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The table key of a request.
fn entry_key(chain: Chain, query: Query, key: &[u8; 32]) -> [u8; KEY] {
    let mut bytes = [0; KEY];
    bytes[0] = chain.code() << 4 | query.code();
    bytes[1..].copy_from_slice(key);
    bytes
}

/// The state that one thread at a time may use, under the lock.
#[derive(Debug)]
struct Writer {
    table: Table<KEY, ENTRY>,
    values: ValueStore,
    tips: [Generation; 2],
    publishers: [Publisher<6>; 2],
}

impl Writer {
    fn publish(&mut self, chain: Chain, generation: Generation) {
        let chain = usize::from(chain.code());
        self.tips[chain] = generation;
        self.publishers[chain].publish(generation.to_words());
    }

    /// Stores a reply. Returns whether there was room, and how many others were evicted for it.
    fn fill(&mut self, key: &[u8; KEY], generation: Generation, body: &[u8]) -> (bool, u64) {
        let mut evictions = 0;
        if body.len() > LONGEST {
            return (false, evictions);
        }
        if let Some(bytes) = self.table.get(key) {
            self.values.remove(Entry::from_bytes(bytes).value);
        }
        for _ in 0..EVICTIONS {
            // The entry names no value until the value is stored.
            let Ok(index) = self.table.insert(key, Entry::default().to_bytes()) else {
                evictions += self.evict(body.len());
                continue;
            };
            match self.values.insert(body, index.get()) {
                Ok(value) => {
                    let entry = Entry { value, epoch: generation.epoch, number: generation.number };
                    self.table.set_value(index, entry.to_bytes());
                    return (true, evictions);
                }
                Err(NotStored::TooLong) => break,
                Err(NotStored::NoRoom) => evictions += self.evict(body.len()),
            }
        }
        self.table.remove(key);
        (false, evictions)
    }

    fn evict(&mut self, len: usize) -> u64 {
        let mut evictions = 0;
        let table = &mut self.table;
        self.values.evict(len, |owner| {
            if let Some(index) = table.entry(owner) {
                table.remove(&table.key(index));
                evictions += 1;
            }
        });
        evictions
    }

    /// Removes the latest transactions of the given addresses, and returns how many there were.
    fn forget(&mut self, chain: Chain, touched: impl IntoIterator<Item = [u8; 32]>) -> u64 {
        if self.table.is_empty() {
            return 0;
        }
        let mut forgotten = 0;
        let mut keys = Vec::with_capacity(ADDRESSES);
        let mut found: Vec<EntryIndex> = Vec::new();
        let mut touched = touched.into_iter();
        loop {
            keys.clear();
            keys.extend(touched.by_ref().take(ADDRESSES).map(|address| entry_key(chain, Query::Latest, &address)));
            if keys.is_empty() {
                return forgotten;
            }
            found.clear();
            self.table.find_each(keys.len(), |i| &keys[i], |_, index| found.extend(index));
            for index in &found {
                let key = self.table.key(*index);
                if let Some(bytes) = self.table.remove(&key) {
                    self.values.remove(Entry::from_bytes(bytes).value);
                    forgotten += 1;
                }
            }
        }
    }
}

/// A tip, its number in the order of announcements (0 before the first), and the number of reorganisations before it.
#[derive(Clone, Copy, Debug, Default)]
struct Generation {
    tip: Tip,
    epoch: u32,
    number: u32,
}

impl Generation {
    fn extended(self, tip: Tip) -> Self {
        // Numbers are only compared for equality; 0 stays reserved for "before the first".
        Self { tip, epoch: self.epoch, number: self.number.wrapping_add(1).max(1) }
    }

    fn reorganised(self, tip: Tip) -> Self {
        Self { epoch: self.epoch.wrapping_add(1), ..self.extended(tip) }
    }

    /// Whether a reply is true as of this tip.
    fn covers(&self, query: Query, entry: &Entry) -> bool {
        entry.epoch == self.epoch && (query != Query::Index || entry.number == self.number)
    }

    fn to_words(self) -> [u64; 6] {
        let mut words = [0; 6];
        for (word, bytes) in words.iter_mut().zip(self.tip.hash.chunks_exact(8)) {
            *word = bytes.try_into().map_or(0, u64::from_le_bytes);
        }
        words[4] = self.tip.height;
        words[5] = u64::from(self.epoch) << 32 | u64::from(self.number);
        words
    }

    fn from_words(words: [u64; 6]) -> Self {
        let mut hash = [0; 32];
        for (bytes, word) in hash.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self { tip: Tip { hash, height: words[4] }, epoch: (words[5] >> 32) as u32, number: words[5] as u32 }
    }
}

impl Tip {
    fn to_bytes(self) -> [u8; TIP] {
        let mut bytes = [0; TIP];
        self.write(&mut bytes);
        bytes
    }

    /// Writes the tip as it is at the start of every body.
    fn write(&self, body: &mut [u8]) {
        body[..32].copy_from_slice(&self.hash);
        body[32..TIP].copy_from_slice(&self.height.to_be_bytes());
    }
}

/// The table's entry for a request.
#[derive(Clone, Copy, Debug)]
struct Entry {
    value: ValueHandle,
    epoch: u32,
    number: u32,
}

impl Default for Entry {
    /// An entry that names no value.
    fn default() -> Self {
        Self { value: ValueHandle::NONE, epoch: 0, number: 0 }
    }
}

impl Entry {
    fn to_bytes(self) -> [u8; ENTRY] {
        let numbers = u64::from(self.epoch) << 32 | u64::from(self.number);
        (u128::from(numbers) << 64 | u128::from(self.value.to_bits())).to_le_bytes()
    }

    fn from_bytes(bytes: [u8; ENTRY]) -> Self {
        let bits = u128::from_le_bytes(bytes);
        Self { value: ValueHandle::from_bits(bits as u64), epoch: (bits >> 96) as u32, number: (bits >> 64) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];
    const ROOM: usize = 200;

    fn tip(height: u64) -> Tip {
        Tip { hash: [height as u8; 32], height }
    }

    /// A reply that is true only as of this height.
    fn body(height: u64) -> [u8; 100] {
        let mut body = [height as u8; 100];
        tip(height).write(&mut body);
        body
    }

    fn cache() -> Cache {
        let cache = Cache::new(&Config { bytes: 1 << 20, ..Config::default() }).unwrap();
        cache.reorganise(Chain::Own, tip(1));
        cache.fill(Chain::Own, Query::Latest, &KEY, &body(1));
        cache
    }

    /// What a reader finds if `meanwhile` happens just after it reads the tip, and the content of the room afterwards.
    fn find(cache: &Cache, meanwhile: impl FnOnce()) -> (bool, [u8; ROOM]) {
        let mut room = [0; ROOM];
        let lookup = cache.find(Chain::Own, Query::Latest, &KEY, &mut room, meanwhile);
        (matches!(lookup, Lookup::Hit(100)), room)
    }

    fn announce(cache: &Cache, height: u64, touched: &[[u8; 32]]) {
        cache.announce(Chain::Own, &tip(height - 1).hash, tip(height), touched.iter().copied());
    }

    /// The longest body fits a datagram of 1,472 bytes after the request's 48.
    #[test]
    fn bodies_are_taken_in_that_fit_an_ethernet() {
        let cache = cache();
        for (len, fits) in [(TIP, true), (1424, true), (1425, false)] {
            let mut body = vec![5; len];
            tip(1).write(&mut body);
            cache.fill(Chain::Own, Query::Transaction, &KEY, &body);
            let mut room = [0; 1500];
            let lookup = cache.get(Chain::Own, Query::Transaction, &KEY, &mut room);
            assert_eq!(matches!(lookup, Lookup::Hit(hit) if hit == len), fits, "{len} bytes");
            assert_eq!(room[..len] == body, fits);
        }
        assert_eq!(cache.counters().refused_fills, 1);
    }

    /// Long bodies fill the value store first, short ones the table.
    #[test]
    fn what_goes_to_make_room_is_counted() {
        evictions_are_counted(&[5; 1000], 4000);
        evictions_are_counted(&[5; TIP], 20_000);
    }

    fn evictions_are_counted(body: &[u8], count: u32) {
        let cache = cache();
        let mut body = body.to_vec();
        tip(1).write(&mut body);
        let keys = (0..count).map(|number| {
            let mut key = [1; 32];
            key[..4].copy_from_slice(&number.to_le_bytes());
            key
        });
        keys.clone().for_each(|key| cache.fill(Chain::Own, Query::Latest, &key, &body));
        let counters = cache.counters();
        assert!(counters.evictions > 1000, "{counters:?}");
        let is_there =
            |key: &[u8; 32]| !matches!(cache.get(Chain::Own, Query::Latest, key, &mut [0; 1000]), Lookup::Miss);
        let left = keys.chain([KEY]).filter(is_there).count() as u64;
        assert_eq!(left, counters.fills - counters.evictions, "{counters:?}");
    }

    #[test]
    fn a_cache_is_as_large_as_is_told() {
        assert_eq!(Config::for_replies(4000).bytes, 4000 << 10);
        assert_eq!(Config::for_replies(1).bytes, 1 << 20);
        for bytes in [1 << 20, 64 << 20] {
            let config = Config { bytes, ..Config::default() };
            let [table, values, tips] = config.memory().unwrap();
            // The table adds about a quarter, between powers of two.
            assert!((bytes / 6..bytes / 2).contains(&table), "{table} for {bytes}");
            assert_eq!(values, bytes);
            assert_eq!(tips, 128, "a cache line for each chain");
            // Lines of 64 bytes, each with a head of 8.
            assert!((bytes as u64 / 80..bytes as u64 / 64).contains(&config.value_lines()));
        }
    }

    /// A new block's reply is never sent with the tip of the block before, as of which the reply was another.
    #[test]
    fn a_tip_that_is_announced_while_a_reply_is_read_is_noticed() {
        let cache = cache();
        let refill = || {
            announce(&cache, 2, &[KEY]);
            cache.fill(Chain::Own, Query::Latest, &KEY, &body(2));
        };
        assert_eq!(find(&cache, refill), (false, [0; ROOM]));
        // A later reader gets the reply, as of its own tip.
        let (is_hit, room) = find(&cache, || {});
        assert!(is_hit);
        assert_eq!(room[..100], body(2));
        // Even a reply that the new block does not change is not sent with a tip that is no longer the last.
        assert_eq!(find(&cache, || announce(&cache, 3, &[])), (false, [0; ROOM]));
        assert!(find(&cache, || {}).0);
    }

    #[test]
    fn a_reorganisation_while_a_reply_is_read_is_noticed() {
        let cache = cache();
        assert_eq!(find(&cache, || cache.reorganise(Chain::Own, tip(1))), (false, [0; ROOM]));
        // Announcements of the other chain do not matter.
        cache.fill(Chain::Own, Query::Latest, &KEY, &body(1));
        assert!(find(&cache, || cache.reorganise(Chain::Bitcoin, tip(9))).0);
    }
}
