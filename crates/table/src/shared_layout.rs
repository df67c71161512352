//! Where what is in memory that programs in the kernel share: offsets in bytes.
//!
//! Made by schema/generate.py of schema/layouts.toml; change that.

#![allow(dead_code, reason = "the whole layout, whoever uses what of it")]

/// Slots of a bucket, which fill a cache line.
pub const SLOTS: usize = 8;

/// Locks shared by the values, selected by the low bits of the entry's index. They take 4 KiB, which stay in
/// the writer's first-level cache; a lock per entry would cost memory, and the bucket's lock a second cache
/// miss.
pub const VALUE_LOCKS: usize = 1024;

/// Entries of a group, which takes one cache line per word of an entry.
pub const GROUP: u32 = 8;

/// Secret words of the hash function.
pub const SECRETS: usize = 16;

/// Bytes of a line of the value store.
pub const VALUE_LINE_BYTES: usize = 64;

/// Bytes of the store's header before a value.
pub const VALUE_HEADER_BYTES: usize = 8;

/// Maximum number of lines of a value to prefetch together: half a kilobyte.
pub const VALUE_FETCHED: usize = 8;

/// In a head: the value was read since the last pass of the eviction search.
pub const VALUE_MARK: u64 = 0x8000_0000;

/// The first bytes of a table's memory.
pub mod table_header {
    /// Its length.
    pub const BYTES: usize = 256;
    /// "TPTABLE" and the version of the layout.
    pub const MAGIC: usize = 0;
    /// Bytes of a key and of a value.
    pub const SIZES: usize = 8;
    /// Number of buckets.
    pub const BUCKETS: usize = 24;
    /// Number of entries.
    pub const CAPACITY: usize = 32;
    /// Offset of the values' locks.
    pub const LOCKS_AT: usize = 40;
    /// Offset of the buckets.
    pub const BUCKETS_AT: usize = 48;
    /// Offset of the entries.
    pub const ENTRIES_AT: usize = 56;
    /// Secret words of the hash function.
    pub const SECRETS: usize = 64;
    /// Entries in use.
    pub const LEN: usize = 192;
}

/// Asserts that a structure has the layout of [`table_header`].
macro_rules! is_table_header {
    ($structure:ty) => {
        const _: () = {
            assert!(size_of::<$structure>() == 256);
            assert!(core::mem::offset_of!($structure, magic) == 0);
            assert!(core::mem::offset_of!($structure, sizes) == 8);
            assert!(core::mem::offset_of!($structure, buckets) == 24);
            assert!(core::mem::offset_of!($structure, capacity) == 32);
            assert!(core::mem::offset_of!($structure, locks_at) == 40);
            assert!(core::mem::offset_of!($structure, buckets_at) == 48);
            assert!(core::mem::offset_of!($structure, entries_at) == 56);
            assert!(core::mem::offset_of!($structure, secrets) == 64);
            assert!(core::mem::offset_of!($structure, len) == 192);
            assert!(core::mem::offset_of!($structure, reserved) == 200);
        };
    };
}
pub(crate) use is_table_header;

/// A cache line with eight slots.
pub mod bucket {
    /// Its length.
    pub const BYTES: usize = 64;
    /// Sixteen bits of each slot's hash; 0 if the slot is free.
    pub const TAGS: usize = 0;
    /// Each slot's entry.
    pub const ENTRIES: usize = 16;
    /// The bucket's sequence lock.
    pub const SEQUENCE: usize = 48;
    /// Slots whose keys are in their second bucket, as bits.
    pub const DISPLACED: usize = 52;
    /// Number of keys that went to their second bucket, four bits for each value of the lowest four bits of a
    /// tag.
    pub const OVERFLOW: usize = 56;
}

/// Asserts that a structure has the layout of [`bucket`].
macro_rules! is_bucket {
    ($structure:ty) => {
        const _: () = {
            assert!(size_of::<$structure>() == 64);
            assert!(core::mem::offset_of!($structure, tags) == 0);
            assert!(core::mem::offset_of!($structure, entries) == 16);
            assert!(core::mem::offset_of!($structure, sequence) == 48);
            assert!(core::mem::offset_of!($structure, displaced) == 52);
            assert!(core::mem::offset_of!($structure, overflow) == 56);
        };
    };
}
pub(crate) use is_bucket;

/// A published value begins with its sequence lock; the words follow.
pub mod published {
    /// Its length.
    pub const BYTES: usize = 8;
    /// The sequence lock.
    pub const SEQUENCE: usize = 0;
}
