//! The encoded state that restores a store after a restart, besides the memory of the shards.
//!
//! A head, then each shard's state, then the BLAKE3 digest of all that. Integers are little-endian. docs/formats.md has
//! the fields. The index is not in it, as it follows from the items.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{I64, U16, U32, U64},
};

use super::{
    blocks::{Class, Page},
    cold::Cold,
    item::{Address, kind, mark},
    queues::{Queue, Queues},
    shard::{Item, Shard},
};
use crate::clock::NEVER;

/// The head of a state, and the memory that belongs to it.
pub(super) const MAGIC: [u8; 8] = *b"TPkvmem\0";

/// The layout of states and of items in memory.
const VERSION: u32 = 2;

/// Bytes of the digest at the end.
const DIGEST: usize = blake3::OUT_LEN;

/// The start of a state.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Head {
    magic: [u8; 8],
    version: U32,
    pub(super) shards: U32,
    /// Bytes of memory that the store was asked to take.
    pub(super) memory: U64,
    /// Bytes of the largest item.
    pub(super) largest_item: U64,
    /// The store's clock, and the same moment in seconds since 1970.
    pub(super) seconds: U32,
    reserved: U32,
    pub(super) since_1970: I64,
    /// The seed of the hash function.
    pub(super) seed: [u8; 16],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ShardHead {
    next_cas: U64,
    flushed: U64,
    flush_at: U32,
    pages: U32,
    classes: U32,
    ghosts: U32,
    /// The digest of all pages that are cut into blocks.
    memory: [u8; DIGEST],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct PageState {
    free: U32,
    used: U16,
    fresh: U16,
    class: u8,
    reserved: [u8; 3],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ClassState {
    words: U32,
    /// Oldest, newest, how many.
    probation: [U32; 3],
    protected: [U32; 3],
}

impl Head {
    pub(super) fn new(shards: usize, memory: usize, largest_item: usize, now: (u32, i64), seed: [u8; 16]) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION.into(),
            shards: (shards as u32).into(),
            memory: (memory as u64).into(),
            largest_item: (largest_item as u64).into(),
            seconds: now.0.into(),
            reserved: U32::ZERO,
            since_1970: now.1.into(),
            seed,
        }
    }

    /// Whether some bytes are a state, valid or not.
    pub(super) fn is_of(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// The head of a state, and the states of its shards.
    pub(super) fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), Cold> {
        let (head, _) = Self::ref_from_prefix(bytes).map_err(|_| Cold::Damaged)?;
        if head.version.get() != VERSION {
            return Err(Cold::Version { found: head.version.get(), expected: VERSION });
        }
        let (covered, digest) = bytes.split_last_chunk::<DIGEST>().ok_or(Cold::Damaged)?;
        if blake3::hash(covered) != *digest {
            return Err(Cold::Damaged);
        }
        let shards = covered.get(size_of::<Self>()..).ok_or(Cold::Damaged)?;
        Ok((head, shards))
    }
}

/// A state of a head and the states of the shards.
pub(super) fn join(head: &Head, shards: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes = head.as_bytes().to_vec();
    shards.for_each(|shard| bytes.extend_from_slice(&shard));
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    bytes
}

impl Shard {
    /// The state of a shard after its last change.
    pub(super) fn state(&self) -> Vec<u8> {
        let (pages, words) = self.blocks.layout();
        let head = ShardHead {
            next_cas: self.next_cas.into(),
            flushed: u64::from(self.flushed).into(),
            flush_at: self.flush_at.into(),
            pages: (pages.len() as u32).into(),
            classes: (words.len() as u32).into(),
            ghosts: (self.ghosts.fingerprints.len() as u32).into(),
            memory: self.memory_digest(),
        };
        let mut bytes = head.as_bytes().to_vec();
        for page in pages {
            let state = PageState {
                free: page.free.0.into(),
                used: page.used.into(),
                fresh: page.fresh.into(),
                class: page.class,
                reserved: [0; 3],
            };
            bytes.extend_from_slice(state.as_bytes());
        }
        for (words, queues) in words.zip(&self.queues) {
            let [probation, protected] = [&queues.probation, &queues.protected].map(|queue| queue.ends().map(U32::new));
            bytes.extend_from_slice(ClassState { words: u32::from(words).into(), probation, protected }.as_bytes());
        }
        self.ghosts.fingerprints.iter().for_each(|ghost| bytes.extend_from_slice(&ghost.to_le_bytes()));
        bytes
    }

    /// Restores an empty shard over its previous memory.
    pub(super) fn go_on(&mut self, state: &[u8]) -> Result<(), Cold> {
        let (head, rest) = ShardHead::ref_from_prefix(state).map_err(|_| Cold::Damaged)?;
        let counts = [head.pages, head.classes, head.ghosts].map(|count| count.get() as usize);
        let (pages, classes) = self.blocks.layout();
        if counts != [pages.len(), classes.len(), self.ghosts.fingerprints.len()] {
            return Err(Cold::Damaged);
        }
        let (pages, rest) = <[PageState]>::ref_from_prefix_with_elems(rest, counts[0]).map_err(|_| Cold::Damaged)?;
        let (queues, rest) = <[ClassState]>::ref_from_prefix_with_elems(rest, counts[1]).map_err(|_| Cold::Damaged)?;
        let ghosts = <[U32]>::ref_from_bytes_with_elems(rest, counts[2]).map_err(|_| Cold::Damaged)?;
        if !classes.map(u32::from).eq(queues.iter().map(|queue| queue.words.get())) {
            return Err(Cold::Damaged);
        }
        let page =
            |page: &PageState| Page::new(page.class, page.used.get(), page.fresh.get(), Address(page.free.get()));
        self.blocks.set_pages(pages.iter().map(page));
        if self.memory_digest() != head.memory {
            return Err(Cold::Damaged);
        }
        let queue = |ends: [U32; 3]| Queue::from_ends(ends.map(U32::get));
        let of = |state: &ClassState| Queues { probation: queue(state.probation), protected: queue(state.protected) };
        self.queues = queues.iter().map(of).collect();
        self.ghosts.fingerprints.iter_mut().zip(ghosts).for_each(|(new, old)| *new = old.get());
        self.next_cas = head.next_cas.get();
        self.flushed = u32::try_from(head.flushed.get()).map_err(|_| Cold::Damaged)?;
        self.latest = self.flushed.saturating_add(1);
        self.flush_at = head.flush_at.get();
        self.find_items();
        Ok(())
    }

    /// Puts the items in memory into the index.
    fn find_items(&mut self) {
        for page in 0..self.blocks.pages() {
            let mut n = 0;
            while let Some(at) = self.blocks.block(page, n) {
                n += 1;
                let header = self.blocks.header_mut(at);
                if header.kind != kind::ITEM {
                    continue;
                }
                header.marks &= mark::LASTING;
                self.latest = self.latest.max(header.accessed);
                self.mortal += usize::from(header.expires != NEVER);
                let hash = self.hasher.hash_bytes(self.key_at(at));
                // With many chosen keys, places may depend on the order of insertion.
                while let Err(goes) = {
                    let (hasher, blocks) = (&self.hasher, &self.blocks);
                    let key = |at| blocks.bytes_at(at, 0, blocks.header(at).key_len.into());
                    self.index.insert(hash, at, |at| hasher.hash_bytes(key(at)))
                } {
                    self.delete(Item(goes));
                }
            }
        }
    }

    /// The digest of the pages that are cut into blocks.
    fn memory_digest(&self) -> [u8; DIGEST] {
        let mut hasher = blake3::Hasher::new();
        for page in (0..self.blocks.pages()).filter(|page| !self.blocks.is_whole(*page)) {
            hasher.update(&page.to_le_bytes());
            hasher.update(self.blocks.page_bytes(page));
        }
        hasher.finalize().into()
    }
}

const _: () = assert!(size_of::<Class>() == size_of::<u8>());
