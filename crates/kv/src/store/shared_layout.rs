//! Where what is in memory that programs in the kernel share: offsets in bytes.
//!
//! Made by schema/generate.py of schema/layouts.toml; change that.

#![allow(dead_code, reason = "the whole layout, whoever uses what of it")]

/// Maximum number of shards of a store.
pub const MIRROR_SHARDS: usize = 256;

/// Offset of the slots: the header has its own page.
pub const MIRROR_SLOTS_AT: usize = 4096;

/// Bytes of the longest key (memcached's protocol.txt).
pub const MAX_KEY: usize = 250;

/// Slots that a key may be in.
pub const MIRROR_WAYS: usize = 2;

/// Maximum number of words of a reply, so that a slot has 512 bytes: a value of 100 bytes fits after the
/// longest key.
pub const MIRROR_TEXT_WORDS: usize = 60;

/// The first bytes of the mirror of a store.
pub mod mirror_header {
    /// Its length.
    pub const BYTES: usize = 2240;
    /// Secret words of the hash function, as in a table's header.
    pub const SECRETS: usize = 0;
    /// Shards, a power of two, minus 1.
    pub const SHARDS: usize = 128;
    /// Sets of slots of each shard.
    pub const SETS: usize = 136;
    /// Number of flushes of each shard, in the lower 32 bits. A slot of another epoch is empty.
    pub const EPOCHS: usize = 192;
}

/// An item's reply to `get`, as sent by UDP.
pub mod mirror_slot {
    /// Its length.
    pub const BYTES: usize = 512;
    /// The slot's sequence lock.
    pub const SEQUENCE: usize = 0;
    /// The epoch of its shard when the slot was written.
    pub const EPOCH: usize = 4;
    /// The key's hash; 0 if the slot is empty.
    pub const HASH: usize = 8;
    /// When the item expires, in nanoseconds of the monotonic clock; all bits set for never.
    pub const EXPIRES: usize = 16;
    /// Bytes of the key.
    pub const KEY_BYTES: usize = 24;
    /// Bytes of the text in use; the rest of their last word is zero.
    pub const TEXT_BYTES: usize = 26;
    /// Not 0: read since the last check. The program writes this.
    pub const USED: usize = 28;
    /// The last two bytes of a reply's header, which are zero, and the reply, from `VALUE` to `END`. So the
    /// key is aligned to a word.
    pub const TEXT: usize = 32;
}
