//! The memory of the index's entries: pages of one size. All groups grow at about the same pace, so memory blocks that
//! grew with them would leave holes of sizes that nobody needs.
use spv::IndexEntry;
use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Index, IndexMut};
use table::{PlainArray, Region};
use zerocopy::{transmute_mut, transmute_ref};

/// Entries per page. A group wastes half a page on average.
pub(super) const PAGE: usize = 16;

/// Words per page. A page is aligned to its size, so no entry in it crosses a cache line.
const WORDS: usize = PAGE * size_of::<IndexEntry>() / size_of::<u64>();

/// Bytes per chunk, the unit of allocation: a huge page of the system, because the accounts of transactions are
/// scattered and the TLB has too few entries for small pages.
const CHUNK_BYTES: usize = 2 << 20;

/// Pages per chunk.
const CHUNK: usize = CHUNK_BYTES / (WORDS * size_of::<u64>());

/// Location of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) page: u32,
    pub(super) slot: usize,
}

/// All pages, by number.
#[derive(Debug, Default)]
pub(super) struct Pages {
    chunks: Vec<PlainArray<[u64; WORDS]>>,
    free: Vec<u32>,
}

impl Pages {
    /// Allocates a page.
    pub(super) fn take(&mut self) -> u32 {
        if self.free.is_empty() {
            let first = self.chunks.len() * CHUNK;
            self.chunks.push(chunk());
            // Allocated in the order of their addresses.
            self.free.extend((first..first + CHUNK).rev().map(|number| number as u32));
        }
        self.free.pop().unwrap_or_default()
    }

    /// Frees a page.
    pub(super) fn give(&mut self, number: u32) {
        self.free.push(number);
    }

    #[inline]
    pub(super) fn page(&self, number: u32) -> &[IndexEntry; PAGE] {
        transmute_ref!(&self.chunks[number as usize / CHUNK][number as usize % CHUNK])
    }

    #[inline]
    pub(super) fn page_mut(&mut self, number: u32) -> &mut [IndexEntry; PAGE] {
        transmute_mut!(&mut self.chunks[number as usize / CHUNK][number as usize % CHUNK])
    }
}

impl Index<At> for Pages {
    type Output = IndexEntry;

    #[inline]
    fn index(&self, at: At) -> &IndexEntry {
        &self.page(at.page)[at.slot]
    }
}

impl IndexMut<At> for Pages {
    #[inline]
    fn index_mut(&mut self, at: At) -> &mut IndexEntry {
        &mut self.page_mut(at.page)[at.slot]
    }
}

/// Memory for more pages. Without memory the program aborts, as when any other collection grows.
fn chunk() -> PlainArray<[u64; WORDS]> {
    let region = Region::anonymous(CHUNK_BYTES, table::Pages::Huge, false).ok();
    region.and_then(Region::into_plain).unwrap_or_else(|| handle_alloc_error(Layout::new::<[u8; CHUNK_BYTES]>()))
}
