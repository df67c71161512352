//! A shard: a part of the store with its own memory. The holder of its lock has exclusive access.

use std::sync::{Arc, Mutex};

use table::{Hash, Hasher, Pages, Region};

use super::{
    Key,
    blocks::{Blocks, Class},
    counters::{ClassCounters, Counters},
    held::Held,
    index::{Index, Position},
    item::{Address, HEADER, Header, mark},
    mirror::Mirror,
    queues::{Ghosts, MOST_USES, Queues},
};
use crate::{
    clock::{NEVER, Seconds, is_over},
    watch::{Interests, Watchers},
};

/// Bytes of memory per key remembered after its item was evicted: 1.6 per cent of the memory.
const BYTES_PER_GHOST: usize = 256;

/// Minimum size of an item in bytes, for the size of the directory.
const SMALLEST_ITEM: usize = 48;

/// Limits of a shard.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of memory for items.
    pub memory: usize,
    /// Bytes of the largest item, with key and header.
    pub item: usize,
    /// Whether to evict items when there is no room; else new ones are refused.
    pub evict: bool,
}

/// Keys of evicted items.
pub(super) type Evicted = Arc<Mutex<Vec<Box<[u8]>>>>;

/// The bit of the numbers of items that the NIC has written.
pub(super) const NIC_CAS: u64 = 1 << 63;

/// An item that was found: good until the shard changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item(pub(super) Address);

/// A part of the store with its own memory and its own lock.
#[derive(Debug)]
pub struct Shard {
    pub(super) blocks: Blocks,
    pub(super) index: Index,
    /// By class.
    pub(super) queues: Vec<Queues>,
    pub(super) ghosts: Ghosts,
    pub(super) hasher: Hasher,
    pub(super) limits: Limits,
    /// The counters of its events.
    pub counters: Counters,
    /// By class.
    pub(super) class_counters: Vec<ClassCounters>,
    pub(super) next_cas: u64,
    /// Items that were last used in this second or before were flushed.
    pub(super) flushed: Seconds,
    /// The second that uses are noted with. It never goes back, whatever threads take for now, and is after `flushed`.
    pub(super) latest: Seconds,
    /// When all items are flushed.
    pub(super) flush_at: Seconds,
    /// Items that expire some time.
    pub(super) mortal: usize,
    pub(super) evictions: u32,
    /// Where the search for expired items continues: a page, and a block of it.
    pub(super) hand: (u32, u16),
    /// The mirror for answers ahead of the store, if any.
    pub(super) mirror: Option<Mirror>,
    /// Values that replies refer to.
    pub(super) held: Held,
    /// Connections that get log lines.
    pub(super) watchers: Arc<Watchers>,
    /// Where the keys of evicted items go that the NIC may have.
    pub(super) evicted: Option<Evicted>,
}

impl Shard {
    /// An empty shard.
    pub fn new(limits: &Limits, hasher: &Hasher) -> Result<Self, table::Error> {
        Self::from_region(Region::anonymous(Self::bytes(limits), Pages::Huge, false)?, limits, hasher)
    }

    /// Bytes of memory for items.
    pub(super) fn bytes(limits: &Limits) -> usize {
        Blocks::whole_pages(limits.memory)
    }

    /// An empty shard in some memory.
    pub(super) fn from_region(region: Region, limits: &Limits, hasher: &Hasher) -> Result<Self, table::Error> {
        let blocks = Blocks::from_region(region)?;
        let bytes = blocks.bytes();
        Ok(Self {
            index: Index::new(bytes / SMALLEST_ITEM),
            queues: vec![Queues::default(); blocks.classes()],
            ghosts: Ghosts::new(bytes / BYTES_PER_GHOST),
            hasher: hasher.clone(),
            limits: limits.clone(),
            counters: Counters::default(),
            class_counters: vec![ClassCounters::default(); blocks.classes()],
            next_cas: 1,
            flushed: 0,
            latest: 1,
            flush_at: NEVER,
            mortal: 0,
            evictions: 0,
            hand: (0, 0),
            mirror: None,
            held: Held::default(),
            watchers: Arc::default(),
            evicted: None,
            blocks,
        })
    }

    /// Prefetches the bucket of a key: the first step of a batch.
    #[inline]
    pub fn prefetch_bucket(&self, hash: Hash) {
        self.index.prefetch_bucket(hash);
    }

    /// Prefetches the likely item of a key, once the bucket is cached: the second step.
    #[inline]
    pub fn prefetch_item(&self, hash: Hash) {
        if let Some(at) = self.index.candidate(hash) {
            self.blocks.prefetch(at);
        }
    }

    /// An item's header.
    #[inline]
    pub fn header(&self, item: Item) -> &Header {
        self.blocks.header(item.0)
    }

    /// An item's key.
    #[inline]
    pub fn key(&self, item: Item) -> &[u8] {
        self.key_at(item.0)
    }

    /// An item's value, in parts.
    #[inline]
    pub fn value(&self, item: Item) -> Parts<'_> {
        let header = self.blocks.header(item.0);
        let first = usize::from(header.key_len);
        Parts { shard: self, at: item.0, from: first, left: header.value_len as usize }
    }

    /// Bytes that an item takes.
    pub fn size(&self, item: Item) -> usize {
        let header = self.blocks.header(item.0);
        HEADER + usize::from(header.key_len) + header.value_len as usize
    }

    /// The class of an item's block.
    pub fn class(&self, item: Item) -> u8 {
        self.blocks.class_at(item.0)
    }

    /// Finds an item, without a trace.
    #[inline]
    pub fn peek(&mut self, key: &[u8], hash: Hash, now: Seconds) -> Option<Item> {
        self.flush_when_due(now);
        let found = self.find(key, hash);
        self.watch_fetch(key, found, now);
        let (_, at) = found?;
        self.is_live(self.blocks.header(at), now).then_some(Item(at))
    }

    /// Finds an item again that a command has found or stored: that is not logged.
    pub fn locate(&self, key: &[u8], hash: Hash, now: Seconds) -> Option<Item> {
        let (_, at) = self.find(key, hash)?;
        self.is_live(self.blocks.header(at), now).then_some(Item(at))
    }

    /// Collects the keys of evicted items that the NIC may have.
    pub(super) fn collect_evicted(&mut self, evicted: &Evicted) {
        self.evicted = Some(Arc::clone(evicted));
    }

    /// The number of a key's item, without a trace.
    pub(crate) fn number_of(&self, key: Key<'_>) -> Option<u64> {
        self.find(key.bytes, key.hash).map(|(_, at)| self.blocks.header(at).cas)
    }

    /// Logs that a key was looked up.
    #[inline(always)]
    fn watch_fetch(&self, key: &[u8], found: Option<(Position, Address)>, now: Seconds) {
        if self.watchers.want(Interests::FETCHERS) {
            self.log_fetch(key, found.map(|(_, at)| at), now);
        }
    }

    #[cold]
    fn log_fetch(&self, key: &[u8], found: Option<Address>, now: Seconds) {
        let Some(at) = found else { return self.watchers.log_fetch(key, "not_found", 0, 0) };
        let header = self.blocks.header(at);
        if header.accessed <= self.flushed {
            self.watchers.log_fetch(key, "flushed", 0, 0);
        } else if is_over(header.expires, now) {
            self.watchers.log_fetch(key, "expired", 0, 0);
        } else {
            self.watchers.log_fetch(key, "found", self.blocks.class_at(at) + 1, header.value_len);
        }
    }

    /// Logs that a client deleted an item by a command. It is called before.
    #[inline]
    pub fn log_deletion(&self, item: Item, command: &str) {
        if self.watchers.want(Interests::DELETIONS) {
            let size = self.blocks.header(item.0).value_len;
            self.watchers.log_deletion(self.key(item), command, self.class(item) + 1, size);
        }
    }

    /// Finds an item to read it, and notes that.
    #[inline]
    pub fn get(&mut self, key: &[u8], hash: Hash, now: Seconds) -> Option<Item> {
        let item = self.read(key, hash, now)?;
        self.bump(item, now);
        Some(item)
    }

    /// Finds an item to read it, without a trace but in the counts.
    #[inline]
    pub fn read(&mut self, key: &[u8], hash: Hash, now: Seconds) -> Option<Item> {
        self.flush_when_due(now);
        let found = self.find(key, hash);
        self.watch_fetch(key, found, now);
        let Some((_, at)) = found else {
            self.counters.get_misses += 1;
            return None;
        };
        let header = self.blocks.header(at);
        if !self.is_live(header, now) {
            self.counters.get_misses += 1;
            let expired = is_over(header.expires, now);
            self.counters.get_expired += u64::from(expired);
            self.counters.get_flushed += u64::from(!expired);
            return None;
        }
        self.counters.get_hits += 1;
        self.count(at).requests.get_hits += 1;
        Some(Item(at))
    }

    /// Finds an item to read, and sets its expiry.
    pub fn touch(&mut self, key: &[u8], hash: Hash, expires: Seconds, now: Seconds) -> Option<Item> {
        self.counters.cmd_touch += 1;
        let Some(item) = self.peek(key, hash, now) else {
            self.counters.touch_misses += 1;
            return None;
        };
        self.counters.touch_hits += 1;
        self.count(item.0).requests.touch_hits += 1;
        self.set_expiry(item, expires);
        self.bump(item, now);
        Some(item)
    }

    /// Notes that an item was read.
    #[inline]
    pub fn bump(&mut self, item: Item, now: Seconds) {
        let now = self.stamp(now);
        let header = self.blocks.header_mut(item.0);
        // Unchanged fields are not written, so that hot items stay in the caches of several cores.
        if header.accessed != now || header.uses < MOST_USES || header.marks & mark::FETCHED == 0 {
            header.accessed = now;
            header.uses = (header.uses + 1).min(MOST_USES);
            header.marks |= mark::FETCHED;
        }
    }

    /// Sets the expiry of an item.
    pub fn set_expiry(&mut self, item: Item, expires: Seconds) {
        self.unmirror(item.0);
        let header = self.blocks.header_mut(item.0);
        let before = std::mem::replace(&mut header.expires, expires);
        self.mortal = self.mortal + usize::from(expires != NEVER) - usize::from(before != NEVER);
    }

    /// Sets and clears marks of an item.
    pub fn set_marks(&mut self, item: Item, set: u8, clear: u8) {
        let marks = &mut self.blocks.header_mut(item.0).marks;
        *marks = *marks & !clear | set;
    }

    /// Assigns an item a new CAS number: the client's choice, or the next one.
    pub fn renumber(&mut self, item: Item, chosen: Option<u64>) -> u64 {
        let cas = self.cas(chosen);
        self.blocks.header_mut(item.0).cas = cas;
        cas
    }

    /// Removes a key's item. Returns whether there was one.
    pub fn delete_key(&mut self, key: &[u8], hash: Hash, now: Seconds) -> bool {
        let found = self.find_to_write(key, hash, now);
        match found {
            Some((position, at)) => {
                self.counters.delete_hits += 1;
                self.count(at).requests.delete_hits += 1;
                self.log_deletion(Item(at), "delete");
                self.unlink(position, hash, at);
            }
            None => self.counters.delete_misses += 1,
        }
        found.is_some()
    }

    /// Removes an item.
    pub fn delete(&mut self, item: Item) {
        let hash = self.hasher.hash_bytes(self.key_at(item.0));
        if let Some((position, _)) = self.index.find(hash, |at| at == item.0) {
            self.unlink(position, hash, item.0);
        }
    }

    /// Flushes all items, at once or at a later moment.
    pub fn flush(&mut self, at: Seconds, now: Seconds) {
        if let Some(mirror) = &self.mirror {
            mirror.forget_all();
        }
        let is_due = self.flush_at != NEVER && self.flush_at <= now;
        // A flush that became due since the last request must not be replaced by a new one.
        if is_due || at <= now {
            self.flushed = self.stamp(now);
            self.latest = self.flushed.saturating_add(1);
        }
        if at <= now {
            self.flush_at = NEVER;
        } else {
            self.flush_at = at;
        }
    }

    /// Number of items, with those that are over but were not reclaimed.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.index.len() == 0
    }

    /// Bytes of the blocks in use.
    pub fn used_bytes(&self) -> usize {
        self.blocks.used_bytes()
    }

    /// Bytes of the index and of the fingerprints of evicted items.
    pub fn overhead_bytes(&self) -> usize {
        self.index.bytes() + self.ghosts.bytes()
    }

    /// Places for items in the index.
    pub fn places(&self) -> usize {
        self.index.places()
    }

    /// Pages that no class has.
    pub fn free_pages(&self) -> usize {
        self.blocks.free_pages()
    }

    /// Bytes of memory for items.
    pub fn memory(&self) -> usize {
        self.blocks.bytes()
    }

    /// All live items.
    pub fn items(&self, now: Seconds) -> impl Iterator<Item = Item> + '_ {
        self.index.iter().filter(move |at| self.is_live(self.blocks.header(*at), now)).map(Item)
    }

    /// The use of each class that has pages.
    pub fn classes(&self, now: Seconds) -> impl Iterator<Item = ClassUse> + '_ {
        let classes = (0..self.blocks.classes()).map(|class| class as Class);
        classes.filter(|class| self.blocks.pages_of(*class) > 0).map(move |class| {
            let queues = &self.queues[usize::from(class)];
            let eldest = queues.eldest(&self.blocks).map_or(now, |at| self.blocks.header(at).accessed);
            ClassUse {
                class,
                block: self.blocks.block_bytes(class),
                blocks_in_page: self.blocks.blocks_in_page(class),
                pages: self.blocks.pages_of(class),
                items: queues.len(),
                protected: queues.protected(),
                age: now.saturating_sub(eldest),
                counters: self.class_counters[usize::from(class)],
            }
        })
    }

    #[inline(always)]
    pub(super) fn key_at(&self, at: Address) -> &[u8] {
        let len = self.blocks.header(at).key_len;
        self.blocks.bytes_at(at, 0, len.into())
    }

    #[inline(always)]
    pub(super) fn find(&self, key: &[u8], hash: Hash) -> Option<(Position, Address)> {
        self.index.find(hash, |at| self.key_at(at) == key)
    }

    /// Finds an item; removes an expired one.
    pub(super) fn find_to_write(&mut self, key: &[u8], hash: Hash, now: Seconds) -> Option<(Position, Address)> {
        self.flush_when_due(now);
        let found = self.find(key, hash);
        self.watch_fetch(key, found, now);
        let (position, at) = found?;
        if self.is_live(self.blocks.header(at), now) {
            return Some((position, at));
        }
        self.counters.reclaimed += 1;
        self.count(at).ends.reclaimed += 1;
        self.unlink(position, hash, at);
        None
    }

    /// The counts of a block's class.
    #[inline]
    pub(super) fn count(&mut self, at: Address) -> &mut ClassCounters {
        &mut self.class_counters[usize::from(self.blocks.class_at(at))]
    }

    /// Sets all counts to 0.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.class_counters.fill(ClassCounters::default());
    }

    #[inline(always)]
    pub(super) fn is_live(&self, header: &Header, now: Seconds) -> bool {
        !is_over(header.expires, now) && header.accessed > self.flushed
    }

    #[inline(always)]
    pub(super) fn flush_when_due(&mut self, now: Seconds) {
        if self.flush_at != NEVER && self.flush_at <= now {
            self.flush(self.flush_at, now);
        }
    }

    /// The number of an item that is written: the one that a client chose, or the next.
    pub(super) fn cas(&mut self, chosen: Option<u64>) -> u64 {
        chosen.unwrap_or_else(|| {
            let cas = self.next_cas;
            self.next_cas += 1;
            cas
        })
    }

    /// The second to note a use with.
    #[inline(always)]
    pub(super) fn stamp(&mut self, now: Seconds) -> Seconds {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Removes an item from the table and its queue.
    pub(super) fn unlink(&mut self, position: Position, hash: Hash, at: Address) {
        self.index.remove(position, hash);
        let class = usize::from(self.blocks.class_at(at));
        self.queues[class].remove(&mut self.blocks, at);
        self.release(at);
    }

    /// Frees the blocks of an item that is in no queue.
    pub(super) fn release(&mut self, at: Address) {
        self.unmirror(at);
        self.copy_if_held(at);
        self.mortal -= usize::from(self.blocks.header(at).expires != NEVER);
        self.free_blocks(at);
    }
}

/// The use of a class of blocks.
#[derive(Clone, Copy, Debug)]
pub struct ClassUse {
    /// Its number.
    pub class: u8,
    /// Bytes of a block.
    pub block: usize,
    /// Blocks of a page.
    pub blocks_in_page: usize,
    /// Pages.
    pub pages: u32,
    /// Items.
    pub items: usize,
    /// Items of the protected queue.
    pub protected: usize,
    /// Seconds since the eldest item was used.
    pub age: Seconds,
    /// The counters of its events.
    pub counters: ClassCounters,
}

/// The parts of a value.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    shard: &'a Shard,
    at: Address,
    from: usize,
    left: usize,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 || !self.at.is_some() {
            return None;
        }
        let blocks = &self.shard.blocks;
        let room = blocks.room(blocks.class_at(self.at)) - self.from;
        let len = room.min(self.left);
        let part = blocks.bytes_at(self.at, self.from, len);
        self.at = blocks.header(self.at).next;
        self.from = 0;
        self.left -= len;
        Some(part)
    }
}
