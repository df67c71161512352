//! The memory of the index's entries: pages of one size. All groups grow at about the same pace, so blocks of memory that grow
//! with them would leave holes of sizes that nobody needs any more.
use spv::IndexEntry;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Entries of a page. A group wastes half a page in the mean.
pub(super) const PAGE: usize = 16;

/// Pages that are asked for at once: a mebibyte.
const CHUNK: usize = 2048;

/// A page; no entry in it crosses a cache line.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(64))]
struct Page([IndexEntry; PAGE]);

/// All pages, by number.
#[derive(Debug, Default)]
pub(super) struct Pages {
    chunks: Vec<Vec<Page>>,
    free: Vec<u32>,
}

impl Pages {
    /// A page to use.
    pub(super) fn take(&mut self) -> u32 {
        if self.free.is_empty() {
            let first = self.chunks.len() * CHUNK;
            self.chunks.push(vec![Page::new_zeroed(); CHUNK]);
            // The last one taken first, so that pages are used in the order of their addresses.
            self.free.extend((first..first + CHUNK).rev().map(|number| number as u32));
        }
        self.free.pop().unwrap_or_default()
    }

    /// Gives a page back.
    pub(super) fn give(&mut self, number: u32) {
        self.free.push(number);
    }

    #[inline]
    pub(super) fn page(&self, number: u32) -> &[IndexEntry; PAGE] {
        &self.chunks[number as usize / CHUNK][number as usize % CHUNK].0
    }

    #[inline]
    pub(super) fn page_mut(&mut self, number: u32) -> &mut [IndexEntry; PAGE] {
        &mut self.chunks[number as usize / CHUNK][number as usize % CHUNK].0
    }
}
