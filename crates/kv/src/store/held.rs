//! Values that replies refer to while they are sent. A value that changes meanwhile is copied first, once for all of
//! the replies.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::{
    item::{Address, mark},
    shard::{Item, Shard},
};

/// Bytes of copies of values, and their limit.
#[derive(Debug)]
pub struct Copies {
    used: AtomicUsize,
    limit: AtomicUsize,
}

impl Default for Copies {
    fn default() -> Self {
        Self { used: AtomicUsize::new(0), limit: AtomicUsize::new(usize::MAX) }
    }
}

impl Copies {
    /// Returns the bytes of all copies of values.
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Sets the maximum number of bytes of copies.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Relaxed);
    }

    fn reserve(&self, bytes: usize) -> bool {
        let limit = self.limit.load(Relaxed);
        self.used.try_update(Relaxed, Relaxed, |used| used.checked_add(bytes).filter(|sum| *sum <= limit)).is_ok()
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
    }
}

/// Where the bytes of a value are.
#[derive(Debug)]
enum Source {
    Item(Address),
    Copy(Vec<u8>),
    /// There was no room for a copy.
    Lost,
}

#[derive(Debug)]
struct HeldValue {
    source: Source,
    /// Replies that refer to it.
    replies: usize,
}

/// The values of a shard that replies refer to, each by its own number.
#[derive(Debug, Default)]
pub(super) struct Held {
    values: HashMap<u64, HeldValue>,
    next: u64,
    pub(super) copies: Arc<Copies>,
}

impl Shard {
    /// Keeps an item's value readable until it is released, whatever happens to the item. Returns a number for it.
    pub fn hold(&mut self, item: Item) -> u64 {
        let header = self.blocks.header_mut(item.0);
        let was_held = header.marks & mark::HELD != 0;
        header.marks |= mark::HELD;
        // Not the item's number: clients choose it, and several items may have the same.
        let is_it = |value: &HeldValue| matches!(value.source, Source::Item(at) if at == item.0);
        let held = self.held.values.iter_mut().filter(|_| was_held).find(|(_, value)| is_it(value));
        if let Some((id, value)) = held {
            value.replies += 1;
            return *id;
        }
        self.held.next += 1;
        self.held.values.insert(self.held.next, HeldValue { source: Source::Item(item.0), replies: 1 });
        self.held.next
    }

    /// Appends `len` bytes of a value that is held. Gives false if it changed and there was no room for a copy.
    pub fn read_held(&self, id: u64, from: usize, len: usize, out: &mut Vec<u8>) -> bool {
        match self.held.values.get(&id).map(|value| &value.source) {
            Some(Source::Item(at)) => {
                let (mut skip, mut left) = (from, len);
                for part in self.value(Item(*at)) {
                    let skipped = skip.min(part.len());
                    skip -= skipped;
                    let part = &part[skipped..];
                    let count = left.min(part.len());
                    out.extend_from_slice(&part[..count]);
                    left -= count;
                    if left == 0 {
                        break;
                    }
                }
                left == 0
            }
            Some(Source::Copy(bytes)) => bytes.get(from..from + len).map(|part| out.extend_from_slice(part)).is_some(),
            Some(Source::Lost) | None => false,
        }
    }

    /// Releases a value that a reply referred to.
    pub fn release_held(&mut self, id: u64) {
        let Some(value) = self.held.values.get_mut(&id) else { return };
        value.replies -= 1;
        if value.replies > 0 {
            return;
        }
        if let Some(HeldValue { source: Source::Copy(bytes), .. }) = self.held.values.remove(&id) {
            self.held.copies.release(bytes.capacity());
        }
    }

    /// Copies the value of an item that is about to go, if replies refer to it.
    #[inline(always)]
    pub(super) fn copy_if_held(&mut self, at: Address) {
        if self.blocks.header(at).marks & mark::HELD != 0 {
            self.copy_held(at);
        }
    }

    #[cold]
    fn copy_held(&mut self, at: Address) {
        let held = self.held.values.iter().filter(|(_, value)| matches!(value.source, Source::Item(of) if of == at));
        let held = Vec::from_iter(held.map(|(id, _)| *id));
        for id in held {
            let source = self.copy(at);
            if let Some(value) = self.held.values.get_mut(&id) {
                value.source = source;
            }
        }
    }

    /// A copy of an item's value, if there is room.
    fn copy(&self, at: Address) -> Source {
        let len = self.blocks.header(at).value_len as usize;
        let mut bytes = Vec::new();
        if !self.held.copies.reserve(len) {
            return Source::Lost;
        }
        if bytes.try_reserve_exact(len).is_err() {
            self.held.copies.release(len);
            return Source::Lost;
        }
        self.value(Item(at)).for_each(|part| bytes.extend_from_slice(part));
        // The allocator may have returned more than requested.
        self.held.copies.used.fetch_add(bytes.capacity() - len, Relaxed);
        Source::Copy(bytes)
    }
}
