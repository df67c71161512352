//! Allocates blocks for items, and makes room: expired items go first, then unused ones.

use std::sync::PoisonError;

use super::{
    blocks::{Blocks, Class},
    item::{Address, Header, kind, mark},
    shard::{Item, NIC_CAS, Shard},
};
use crate::{
    clock::{NEVER, Seconds, is_over},
    watch::{Interests, append_encoded},
};

/// Blocks looked at for items that are over before something that is not is evicted.
const SWEPT: usize = 8;

/// Evictions from a class between two looks at whether it should have a page of another one.
const REBALANCE: u32 = 16;

/// Pages that a class keeps, however old its items are.
const KEPT_PAGES: u32 = 1;

/// Maximum number of evictions for a single block, so that a request takes bounded time: the items of a page of the
/// smallest blocks.
const EVICTIONS: usize = 2048;

impl Shard {
    /// Allocates blocks for an item, writes the key, and leaves room for a value of `value_len` bytes.
    pub(super) fn allocate_item(&mut self, key: &[u8], value_len: usize, now: Seconds) -> Option<Address> {
        let class = self.blocks.class_for(key.len() + value_len);
        let head = self.allocate(class.unwrap_or(self.blocks.largest()), now)?;
        *self.blocks.header_mut(head) =
            Header { value_len: value_len as u32, key_len: key.len() as u8, kind: kind::BUSY, ..Header::default() };
        self.blocks.bytes_at_mut(head, 0, key.len()).copy_from_slice(key);
        if class.is_some() {
            return Some(head);
        }
        let mut left = value_len - (self.blocks.room(self.blocks.largest()) - key.len());
        let mut last = head;
        while left > 0 {
            let class = self.blocks.class_for(left).unwrap_or(self.blocks.largest());
            let Some(part) = self.allocate(class, now) else {
                self.free_blocks(head);
                return None;
            };
            let len = left.min(self.blocks.room(class));
            *self.blocks.header_mut(part) =
                Header { value_len: len as u32, older: head, kind: kind::BUSY, ..Header::default() };
            self.blocks.header_mut(last).next = part;
            last = part;
            left -= len;
        }
        let mut part = self.blocks.header(head).next;
        while part.is_some() {
            self.blocks.header_mut(part).kind = kind::PART;
            part = self.blocks.header(part).next;
        }
        Some(head)
    }

    /// Copies bytes to a place of an item's value.
    pub(super) fn fill(&mut self, item: Address, mut offset: usize, mut bytes: &[u8]) {
        let mut at = item;
        while !bytes.is_empty() && at.is_some() {
            let (from, len, next) = self.part(item, at);
            if offset < len {
                let count = bytes.len().min(len - offset);
                self.blocks.bytes_at_mut(at, from + offset, count).copy_from_slice(&bytes[..count]);
                bytes = &bytes[count..];
                offset = 0;
            } else {
                offset -= len;
            }
            at = next;
        }
    }

    /// Copies an item's value to a place of another one's.
    pub(super) fn copy_value(&mut self, from: Address, to: Address, mut offset: usize) {
        // On the stack, in pieces: source and destination are the same memory to the compiler.
        let mut piece = [0; 1024];
        let mut at = from;
        while at.is_some() {
            let (start, len, next) = self.part(from, at);
            let mut done = 0;
            while done < len {
                let count = (len - done).min(piece.len());
                piece[..count].copy_from_slice(self.blocks.bytes_at(at, start + done, count));
                self.fill(to, offset, &piece[..count]);
                done += count;
                offset += count;
            }
            at = next;
        }
    }

    /// A part of an item's value: its offset after the block's header, its length, the next part.
    #[inline(always)]
    fn part(&self, item: Address, at: Address) -> (usize, usize, Address) {
        let header = self.blocks.header(at);
        if at != item {
            return (0, header.value_len as usize, header.next);
        }
        let from = usize::from(header.key_len);
        if header.next.is_some() {
            (from, self.blocks.room(self.blocks.class_at(at)) - from, header.next)
        } else {
            (from, header.value_len as usize, Address::NONE)
        }
    }

    /// A block, for which items may have to go.
    fn allocate(&mut self, class: Class, now: Seconds) -> Option<Address> {
        for _ in 0..EVICTIONS {
            if let Some(at) = self.blocks.take(class) {
                return Some(at);
            }
            if !self.make_room(class, now) {
                return None;
            }
        }
        None
    }

    /// Evicts one or more items. Returns false if none can be evicted.
    fn make_room(&mut self, class: Class, now: Seconds) -> bool {
        if self.mortal > 0 && self.sweep(now) {
            return true;
        }
        if !self.limits.evict {
            return false;
        }
        self.evictions = self.evictions.wrapping_add(1);
        self.stamp(now);
        let (flushed, queues) = (self.flushed, &mut self.queues[usize::from(class)]);
        let is_dead = |header: &Header| is_over(header.expires, now) || header.accessed <= flushed;
        let victim = queues.victim(&mut self.blocks, &mut self.counters, is_dead);
        // Reads that were answered ahead of the store have left no trace in the item.
        if let Some(at) = victim
            && self.was_read_ahead(at)
            && self.is_live(self.blocks.header(at), now)
        {
            self.bump(Item(at), now);
            return true;
        }
        if (victim.is_none() || self.evictions.is_multiple_of(REBALANCE))
            && let Some(at) = self.donor(class, victim, now)
            && self.move_page(at, Some(class))
        {
            return true;
        }
        let Some(victim) = victim else { return false };
        self.evict(victim, now);
        true
    }

    /// An item in the page that a class should take: of the class whose oldest item costs most, if that is more than
    /// the `victim`. An item costs the time since its last use, weighted by the square root of its size: by time alone
    /// large items displace many small ones, and by time and size together large ones are hardly kept.
    fn donor(&mut self, class: Class, victim: Option<Address>, now: Seconds) -> Option<Address> {
        let cost = |class: usize, at: Address| {
            // Counted in whole seconds, of which a busy store lives few.
            let age = u64::from(now.saturating_sub(self.blocks.header(at).accessed)) + 1;
            age * (self.blocks.block_bytes(class as Class) as u64).isqrt()
        };
        let others = (0..self.queues.len()).filter(|other| {
            *other != usize::from(class) && (victim.is_none() || self.blocks.pages_of(*other as Class) > KEPT_PAGES)
        });
        let eldest = others.filter_map(|other| Some((other, self.queues[other].eldest(&self.blocks)?)));
        let dearest = eldest.map(|(other, at)| (cost(other, at), at)).max_by_key(|(cost, _)| *cost);
        // A quarter more, so that pages do not go to and fro.
        let least = victim.map_or(0, |victim| cost(class.into(), victim) / 4 * 5);
        let donor = dearest.filter(|(cost, _)| *cost > least).map(|(_, at)| at);
        if donor.is_none() {
            let (blocks, counters) = (&mut self.blocks, &mut self.counters);
            self.queues.iter_mut().for_each(|queues| queues.turn(blocks, counters));
        }
        donor
    }

    /// Evicts all items in a page, except one that is being written. Returns whether there were any.
    fn evict_page(&mut self, page: u32) -> bool {
        let before = self.counters.evictions;
        let mut n = 0;
        while let Some(at) = self.blocks.block(page, n) {
            let header = self.blocks.header(at);
            let item = match header.kind {
                kind::ITEM => at,
                kind::PART => header.older,
                _ => Address::NONE,
            };
            if item.is_some() && self.blocks.header(item).kind == kind::ITEM {
                self.count_eviction(item);
                self.delete(Item(item));
            }
            n += 1;
        }
        let evicted = self.counters.evictions - before;
        self.counters.pages_moved += u64::from(self.blocks.is_whole(page));
        self.counters.slab_reassign_evictions_nomem += evicted;
        evicted > 0
    }

    /// Evicts an item.
    fn evict(&mut self, at: Address, now: Seconds) {
        let header = *self.blocks.header(at);
        let hash = self.hasher.hash_bytes(self.key_at(at));
        if self.is_live(&header, now) {
            self.counters.direct_reclaims += 1;
            self.count_eviction(at);
            if header.marks & mark::PROTECTED == 0 {
                self.ghosts.remember(hash);
            }
        } else {
            self.counters.reclaimed += 1;
            self.count(at).ends.reclaimed += 1;
        }
        if let Some((position, _)) = self.index.find(hash, |found| found == at) {
            self.unlink(position, hash, at);
        }
    }

    /// Counts an item that goes before its time.
    pub(super) fn count_eviction(&mut self, at: Address) {
        let header = self.blocks.header(at);
        let (unfetched, nonzero) = (header.marks & mark::FETCHED == 0, header.expires != NEVER);
        let active = header.uses > 0;
        self.counters.evictions += 1;
        self.counters.evicted_unfetched += u64::from(unfetched);
        self.counters.evicted_active += u64::from(active);
        let ends = &mut self.count(at).ends;
        ends.evicted += 1;
        ends.evicted_unfetched += u64::from(unfetched);
        ends.evicted_nonzero += u64::from(nonzero);
        if self.watchers.want(Interests::EVICTIONS) {
            self.log_eviction(at);
        }
        if let Some(evicted) = &self.evicted
            && self.blocks.header(at).cas & NIC_CAS != 0
        {
            evicted.lock().unwrap_or_else(PoisonError::into_inner).push(self.key_at(at).into());
        }
    }

    #[cold]
    fn log_eviction(&self, at: Address) {
        let header = self.blocks.header(at);
        let fetched = if header.marks & mark::FETCHED == 0 { "no" } else { "yes" };
        let left = i64::from(header.expires) - i64::from(self.latest);
        let ttl = if header.expires == NEVER { -1 } else { left };
        let (idle, class) = (self.latest.saturating_sub(header.accessed), self.blocks.class_at(at) + 1);
        self.watchers.log(Interests::EVICTIONS, |line| {
            line.push_str("type=eviction key=");
            append_encoded(self.key_at(at), line);
            let size = header.value_len;
            line.push_str(&format!(" fetch={fetched} ttl={ttl} la={idle} clsid={class} size={size}"));
        });
    }

    /// Reclaims expired items among the next few blocks. Returns whether there were any.
    fn sweep(&mut self, now: Seconds) -> bool {
        let mut swept = false;
        for _ in 0..SWEPT {
            let (page, n) = self.hand;
            let Some(at) = self.blocks.block(page, n) else {
                self.hand = ((page + 1) % self.blocks.pages(), 0);
                continue;
            };
            self.hand = (page, n + 1);
            swept |= self.reclaim_if_over(at, now);
        }
        swept
    }

    /// Reclaims the item in a block, if there is one that is over. Returns whether there was.
    pub(super) fn reclaim_if_over(&mut self, at: Address, now: Seconds) -> bool {
        let header = *self.blocks.header(at);
        self.counters.crawler_items_checked += u64::from(header.kind == kind::ITEM);
        if header.kind != kind::ITEM || self.is_live(&header, now) {
            return false;
        }
        self.counters.reclaimed += 1;
        self.counters.crawler_reclaimed += 1;
        let unfetched = u64::from(header.marks & mark::FETCHED == 0);
        self.counters.expired_unfetched += unfetched;
        let ends = &mut self.count(at).ends;
        ends.reclaimed += 1;
        ends.expired_unfetched += unfetched;
        self.delete(Item(at));
        true
    }

    /// Frees a page of a class, or of the one that has most of them, for another class. Its items are evicted. Returns
    /// false if no class has a page to spare.
    pub(super) fn free_page(&mut self, from: Option<Class>, to: Option<Class>, now: Seconds) -> bool {
        self.stamp(now);
        let classes = (0..self.queues.len() as Class).filter(|class| Some(*class) != to);
        let from = from.or_else(|| classes.max_by_key(|class| self.blocks.pages_of(*class)));
        let spare = from.filter(|class| self.blocks.pages_of(*class) > KEPT_PAGES);
        let eldest = spare.and_then(|class| self.queues[usize::from(class)].eldest(&self.blocks));
        eldest.is_some_and(|at| self.move_page(at, to))
    }

    /// Evicts the items of a page, which an item is in, for a class. Returns whether there were any.
    fn move_page(&mut self, at: Address, to: Option<Class>) -> bool {
        let (from, page) = (self.blocks.class_at(at), Blocks::page_of(at));
        let has_evicted = self.evict_page(page);
        if self.watchers.want(Interests::SYSTEM) && self.blocks.is_whole(page) {
            // Class 0 is that of the free pages.
            let to = to.map_or(0, |class| class + 1);
            let log = |line: &mut String| line.push_str(&format!("type=slab_move src={} dst={to}", from + 1));
            self.watchers.log(Interests::SYSTEM, log);
        }
        has_evicted
    }

    pub(super) fn free_blocks(&mut self, head: Address) {
        let mut at = head;
        while at.is_some() {
            let next = self.blocks.header(at).next;
            self.blocks.give(at);
            at = next;
        }
    }
}
