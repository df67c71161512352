//! Replies that are gathered before they are sent. Long values are not copied: replies refer to them in the store.

use std::ops::{Deref, DerefMut};

use table::Hash;

use crate::store::{Item, Shard, Store};

/// Bytes of a value from which on a reply refers to it. Shorter ones are cheaper to copy.
pub const LONG: usize = 64 << 10;

/// Replies, up to a number of bytes and one value.
#[derive(Debug)]
pub struct Replies {
    bytes: Vec<u8>,
    /// The part that follows the bytes.
    value: Option<LongValue>,
    /// Bytes from which on they are sent.
    full: usize,
}

impl Replies {
    /// No replies yet. They are to be sent when there are `full` bytes of them.
    pub fn new(full: usize) -> Self {
        Self { bytes: Vec::new(), value: None, full }
    }

    /// Whether they must be sent before the next request.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= self.full || self.value.is_some()
    }

    /// Appends a value and what follows it in a reply, or refers to them.
    #[inline]
    pub fn append_value(&mut self, shard: &mut Shard, item: Item, hash: Hash, tail: &'static [u8]) {
        let len = shard.header(item).value_len as usize;
        if len >= LONG {
            self.value = Some(LongValue { hash, id: shard.hold(item), len, sent: 0, tail });
            return;
        }
        shard.value(item).for_each(|part| self.bytes.extend_from_slice(part));
        self.bytes.extend_from_slice(tail);
    }

    /// Takes the long value, which the caller must release.
    pub fn take_value(&mut self) -> Option<LongValue> {
        self.value.take()
    }

    /// Copies the long value, if any: for replies that are not sent in pieces. Returns whether there is room for more.
    pub fn complete(&mut self, store: &Store) -> Result<bool, Lost> {
        if let Some(value) = self.value.take() {
            let room = self.full.saturating_sub(self.bytes.len());
            let read = if value.len < room { value.read(store, value.len, &mut self.bytes) } else { Err(Lost) };
            value.release(store);
            read?;
        }
        Ok(!self.is_full())
    }

    /// Discards all replies, and releases the long value.
    pub fn discard(&mut self, store: &Store) {
        self.bytes.clear();
        if let Some(value) = self.value.take() {
            value.release(store);
        }
    }
}

impl Deref for Replies {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Replies {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

/// A value that changed while a reply referred to it, and for a copy of which there was no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// A value that a reply refers to, with the bytes that follow it. It must be released.
#[derive(Debug)]
#[must_use = "a value that is not released stays in memory"]
pub struct LongValue {
    hash: Hash,
    id: u64,
    len: usize,
    /// Bytes that were sent, of the value and of what follows it.
    sent: usize,
    tail: &'static [u8],
}

impl LongValue {
    /// Appends up to `most` bytes that were not sent yet, and returns their number.
    pub fn read(&self, store: &Store, most: usize, out: &mut Vec<u8>) -> Result<usize, Lost> {
        let before = out.len();
        if self.sent < self.len {
            let most = most.min(self.len - self.sent);
            if !store.shard(self.hash).read_held(self.id, self.sent, most, out) {
                return Err(Lost);
            }
        }
        let read = out.len() - before;
        if let Some(after) = (self.sent + read).checked_sub(self.len) {
            out.extend_from_slice(&self.tail[after..]);
        }
        Ok(out.len() - before)
    }

    /// Notes that bytes were sent. Returns whether those were all.
    pub fn sent(&mut self, bytes: usize) -> bool {
        self.sent += bytes;
        self.sent >= self.len + self.tail.len()
    }

    /// Lets the store reuse the value's memory.
    pub fn release(self, store: &Store) {
        store.shard(self.hash).release_held(self.id);
    }
}
