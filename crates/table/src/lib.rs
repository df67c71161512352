//! The hash table of the data path, and its value store.
//!
//! [`Table`] maps fixed-size keys to fixed-size values, in memory allocated once at the start. One thread writes; any
//! number of threads read through a [`Reader`], without locks. [`ValueStore`] keeps variable-size values beside it.
//!
//! Everything lives in a [`Region`]: a header, then arrays that the header names by offset, never by pointer. The same
//! memory can be mapped elsewhere, by another process or by a program in the kernel, and read there.
//!
//! # Specification
//!
//! A key's [`Hash`](struct@Hash) determines its *first* bucket and a 16-bit tag. First bucket and tag determine its
//! *second* bucket, and the second bucket and the tag the first one, so a key moves without being read. A bucket is a
//! cache line: a sequence lock, eight slots with a tag and the index of an entry, a bit for each slot whose key is in
//! its second bucket, and sixteen counters, selected by the tag, of keys with this first bucket that are in their
//! second one. An entry has key and value, and never moves.
//!
//! - To look up: compare the entries of all slots of the first bucket with the tag. Without a match, look at the second
//!   bucket likewise, but only if the counter of the tag is not 0.
//! - To insert a missing key: take a free entry and a free slot of the first bucket, else of the second, else make
//!   room. Without either the table is [`Full`] and unchanged. Write the entry. If the slot is in the second bucket,
//!   count the key in the first. Then fill the slot.
//! - To make room: search breadth first, from both buckets, for a bucket with a free slot, where each step is a move of
//!   a key to its other bucket. After 1,024 buckets the table counts as full. Move the keys of the shortest path from
//!   its far end on: fill the new slot, then clear the old one.
//! - To remove: clear the slot, count the key out of its first bucket if it was in its second, and free the entry.
//! - A counter that reaches 15 stays there: lookups of such tags then always look at the second bucket.
//!
//! Every change of a bucket makes its sequence odd before and even after. A reader that finds the key checks that the
//! bucket with it is unchanged. A reader that does not checks that the buckets it looked at are unchanged, the first
//! one last: a key that moves is in both buckets for a moment and never in none. Otherwise it starts again. Values of
//! up to 8 bytes change in one store; longer ones share 1,024 sequence locks, selected by the entry's index.
//!
//! Invariants: each key is in one slot, or in two during a move; a key in its second bucket is counted in its first; at
//! most two buckets and their entries are read for a lookup, whatever the keys are; the writer never waits for readers.
//!
//! # Use
//!
//! The data path works in batches, so that many cache misses overlap:
//!
//! ```
//! use turnpike_table::{Config, Table};
//! # fn main() -> Result<(), turnpike_table::Error> {
//!
//! let mut accounts = Table::<16, 8>::with_capacity(&Config::new(1000))?;
//! let key = *b"an account's id.";
//! let index = accounts.insert(&key, 70_u64.to_le_bytes())?;
//!
//! let hash = accounts.hash(&key); // for every request of the batch,
//! accounts.prefetch_bucket(hash); // then this for every request,
//! accounts.prefetch_entry(hash); // then this,
//! let found = accounts.find(hash, &key); // and only then the use
//! assert_eq!(found, Some(index));
//! # Ok(())
//! # }
//! ```
//!
//! A reader returns only values that the writer stored as a whole: sequence locks detect concurrent changes.
//!
//! Start with [`Table`] (`table`) and [`Reader`] (`reader`), then `bucket`, `displace` and `values`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod batch;
mod bucket;
mod displace;
mod free;
mod hash;
mod layout;
mod memory;
pub mod paper;
mod published;
mod reader;
mod region;
mod seqlock;
mod shared_layout;
mod simd;
mod slabs;
mod table;
mod values;

pub use batch::BATCH;
pub use bucket::{Bucket, Slots};
pub use hash::{Hash, Hasher, Seed, alternate};
pub use layout::{Config, MAX_ENTRIES};
pub use published::{Edition, Published, Publisher};
pub use reader::Reader;
pub use region::{Array, Cells, Pages, Plain, PlainArray, Region};
pub use simd::{SLOTS, prefetch};
pub use table::{EntryIndex, Full, Table};
pub use values::{NotRead, NotStored, ValueHandle, ValueReader, ValueStore};

/// Why a table could not be created, attached to, or added to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system is out of memory.
    #[error("cannot map {bytes} bytes of memory: {source}; configure fewer entries, or give the machine more memory")]
    Memory {
        /// Requested bytes.
        bytes: usize,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The system's source of random numbers failed.
    #[error("cannot get a random seed from the system: {0}")]
    Random(getrandom::Error),
    /// The region is smaller than the configuration needs, or not aligned to a cache line.
    #[error("the region has {given} bytes, aligned to a cache line or not, but {needed} aligned bytes are needed")]
    RegionTooSmall {
        /// Size of the region in bytes.
        given: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// The configuration exceeds the layout.
    #[error("a table holds from 1 to {MAX_ENTRIES} entries, at a load from 10 to 99 per cent: {0}")]
    Config(&'static str),
    /// The region does not hold a table of this version and these sizes.
    #[error("the memory does not hold a table of these sizes: {0}")]
    NotATable(&'static str),
    /// The table is full.
    #[error(transparent)]
    Full(#[from] Full),
}
