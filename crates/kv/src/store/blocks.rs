//! The memory of a shard: pages, cut into blocks of one size each.

#[cfg(test)]
use table::Pages;
use table::{PlainArray, Region};
use zerocopy::{FromBytes, IntoBytes};

use super::item::{Address, HEADER, Header, kind};

/// Bytes of a word, which addresses count in.
pub(super) const WORD: usize = 8;

/// Words of a page, 64 KiB: small enough that every class of a small store gets some pages, large enough that little is
/// wasted after the last block of a page.
const PAGE_WORDS: usize = 8192;

/// Bytes of a page.
const PAGE: usize = PAGE_WORDS * WORD;

/// Words of the largest block, a quarter of a page. Longer values take several blocks.
const LARGEST: usize = PAGE_WORDS / 4;

/// Words of the smallest block.
const SMALLEST: usize = 6;

/// Each class is about an eighth larger than the one before: a block is then a sixteenth too large in the mean. A finer
/// division leaves more pages that are partly used.
const GROWTH: usize = 8;

/// No page.
const NONE: u32 = u32::MAX;

/// A class of blocks: its number.
pub(super) type Class = u8;

/// A page that is not cut.
const WHOLE: Class = Class::MAX;

#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) class: Class,
    /// Blocks in use.
    pub(super) used: u16,
    /// Blocks from this one on were not used since the page was cut.
    pub(super) fresh: u16,
    /// The first of the freed blocks.
    pub(super) free: Address,
    /// Where it is among the pages of its class that have free blocks.
    open_place: u32,
}

impl Page {
    /// A page with some of its blocks in use; [`Blocks::set_pages`] finds the free ones.
    pub(super) fn new(class: Class, used: u16, fresh: u16, free: Address) -> Self {
        Self { class, used, fresh, free, open_place: NONE }
    }
}

#[derive(Clone, Debug, Default)]
struct ClassPages {
    words: u16,
    /// Pages with free blocks.
    open: Vec<u32>,
    pages: u32,
}

/// The blocks of a shard.
#[derive(Debug)]
pub(super) struct Blocks {
    words: PlainArray<[u64; 1]>,
    pages: Vec<Page>,
    whole: Vec<u32>,
    classes: Vec<ClassPages>,
    /// The class for a number of words.
    class_of: Vec<Class>,
    used_bytes: usize,
}

impl Blocks {
    /// All of `bytes` free, in memory of the program's own.
    #[cfg(test)]
    pub(super) fn new(bytes: usize) -> Result<Self, table::Error> {
        Self::from_region(Region::anonymous(Self::whole_pages(bytes), Pages::Huge, false)?)
    }

    /// Rounds memory down to whole pages, at least one.
    pub(super) fn whole_pages(bytes: usize) -> usize {
        (bytes / PAGE).clamp(1, u32::MAX as usize / PAGE_WORDS) * PAGE
    }

    /// All of some memory free.
    pub(super) fn from_region(region: Region) -> Result<Self, table::Error> {
        let count = region.len() / PAGE;
        let needed = table::Error::RegionTooSmall { given: region.len(), needed: count.max(1) * PAGE };
        let words = region.into_plain().filter(|_| count > 0).ok_or(needed)?;
        let page = Page::new(WHOLE, 0, 0, Address::NONE);
        let (classes, class_of) = classes();
        let whole = (0..count as u32).rev().collect();
        Ok(Self { words, pages: vec![page; count], whole, classes, class_of, used_bytes: 0 })
    }

    /// The class whose blocks hold `bytes` after the header; `None` if that takes several blocks.
    #[inline]
    pub(super) fn class_for(&self, bytes: usize) -> Option<Class> {
        self.class_of.get((HEADER + bytes).div_ceil(WORD)).copied()
    }

    /// The class of the largest blocks.
    pub(super) fn largest(&self) -> Class {
        (self.classes.len() - 1) as Class
    }

    /// Number of classes.
    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// Bytes that a block of a class holds after its header.
    #[inline]
    pub(super) fn room(&self, class: Class) -> usize {
        self.block_bytes(class) - HEADER
    }

    /// Bytes of a block of a class.
    #[inline]
    pub(super) fn block_bytes(&self, class: Class) -> usize {
        usize::from(self.classes[usize::from(class)].words) * WORD
    }

    /// Pages as they are, and the words of each class's blocks: what there is to know besides the memory.
    pub(super) fn layout(&self) -> (&[Page], impl ExactSizeIterator<Item = u16> + '_) {
        (&self.pages, self.classes.iter().map(|class| class.words))
    }

    /// Restores the pages over the same memory, of which all are free.
    pub(super) fn set_pages(&mut self, pages: impl Iterator<Item = Page>) {
        self.whole.clear();
        for (number, (page, old)) in self.pages.iter_mut().zip(pages).enumerate() {
            *page = Page { open_place: NONE, ..old };
            let Some(class) = self.classes.get_mut(usize::from(page.class)) else {
                self.whole.push(number as u32);
                continue;
            };
            class.pages += 1;
            self.used_bytes += usize::from(page.used) * usize::from(class.words) * WORD;
            if usize::from(page.used) < blocks_in_page(number as u32, class.words.into()) {
                page.open_place = class.open.len() as u32;
                class.open.push(number as u32);
            }
        }
        self.whole.reverse();
    }

    /// The bytes of a page.
    pub(super) fn page_bytes(&self, page: u32) -> &[u8] {
        &self.words.as_bytes()[page as usize * PAGE..][..PAGE]
    }

    /// Pages that are not cut into blocks.
    pub(super) fn free_pages(&self) -> usize {
        self.whole.len()
    }

    /// Bytes of all blocks in use.
    pub(super) fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() * WORD
    }

    /// Pages that are cut into blocks of a class.
    pub(super) fn pages_of(&self, class: Class) -> u32 {
        self.classes[usize::from(class)].pages
    }

    /// Blocks in a page of a class.
    pub(super) fn blocks_in_page(&self, class: Class) -> usize {
        PAGE_WORDS / usize::from(self.classes[usize::from(class)].words)
    }

    /// The class of the page that a block is in.
    #[inline]
    pub(super) fn class_at(&self, at: Address) -> Class {
        self.pages[at.0 as usize / PAGE_WORDS].class
    }

    /// Allocates a block, if there is one.
    pub(super) fn take(&mut self, class: Class) -> Option<Address> {
        let pages = &mut self.classes[usize::from(class)];
        let words = usize::from(pages.words);
        let number = match pages.open.last() {
            Some(page) => *page,
            None => {
                let number = self.whole.pop()?;
                let page = &mut self.pages[number as usize];
                *page = Page { class, used: 0, fresh: 0, free: Address::NONE, open_place: pages.open.len() as u32 };
                pages.open.push(number);
                pages.pages += 1;
                number
            }
        };
        let free = self.pages[number as usize].free;
        let at = if free.is_some() {
            self.pages[number as usize].free = self.header(free).next;
            free
        } else {
            let page = &mut self.pages[number as usize];
            let at = block_at(number, page.fresh, words);
            page.fresh += 1;
            at
        };
        let page = &mut self.pages[number as usize];
        page.used += 1;
        if usize::from(page.used) == blocks_in_page(number, words) {
            self.close(class, number);
        }
        self.used_bytes += words * WORD;
        Some(at)
    }

    /// Frees a block.
    pub(super) fn give(&mut self, at: Address) {
        let number = at.0 / PAGE_WORDS as u32;
        let class = self.pages[number as usize].class;
        let free = self.pages[number as usize].free;
        let header = self.header_mut(at);
        debug_assert!(header.kind != kind::FREE, "the block is in use");
        header.kind = kind::FREE;
        header.next = free;
        let pages = &mut self.classes[usize::from(class)];
        self.used_bytes -= usize::from(pages.words) * WORD;
        let page = &mut self.pages[number as usize];
        page.free = at;
        page.used -= 1;
        if page.open_place == NONE {
            page.open_place = pages.open.len() as u32;
            pages.open.push(number);
        }
        if page.used == 0 {
            pages.pages -= 1;
            page.class = WHOLE;
            self.close(class, number);
            self.whole.push(number);
        }
    }

    /// Removes a page from the list of those with free blocks.
    fn close(&mut self, class: Class, number: u32) {
        let place = std::mem::replace(&mut self.pages[number as usize].open_place, NONE);
        if place != NONE {
            let open = &mut self.classes[usize::from(class)].open;
            open.swap_remove(place as usize);
            if let Some(moved) = open.get(place as usize) {
                self.pages[*moved as usize].open_place = place;
            }
        }
    }

    /// The page that a block is in.
    pub(super) fn page_of(at: Address) -> u32 {
        at.0 / PAGE_WORDS as u32
    }

    /// Number of pages.
    pub(super) fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Whether a page is not split into blocks.
    pub(super) fn is_whole(&self, page: u32) -> bool {
        self.pages[page as usize].class == WHOLE
    }

    /// The `n`th block of a page, in use or not; `None` after the blocks that were ever used.
    pub(super) fn block(&self, page: u32, n: u16) -> Option<Address> {
        let Page { class, fresh, .. } = self.pages[page as usize];
        let class = self.classes.get(usize::from(class))?;
        (n < fresh).then(|| block_at(page, n, class.words.into()))
    }

    /// A block's header.
    #[inline(always)]
    pub(super) fn header(&self, at: Address) -> &Header {
        // The words are aligned, and every allocated address is followed by a header's words.
        match Header::ref_from_prefix(self.words[at.0 as usize..].as_bytes()) {
            Ok((header, _)) => header,
            Err(_) => unreachable!("a block is shorter than its header"),
        }
    }

    /// A block's header, to be changed.
    #[inline(always)]
    pub(super) fn header_mut(&mut self, at: Address) -> &mut Header {
        match Header::mut_from_prefix(self.words[at.0 as usize..].as_mut_bytes()) {
            Ok((header, _)) => header,
            Err(_) => unreachable!("a block is shorter than its header"),
        }
    }

    /// `len` bytes from offset `from` after a block's header.
    #[inline(always)]
    pub(super) fn bytes_at(&self, at: Address, from: usize, len: usize) -> &[u8] {
        let start = at.0 as usize * WORD + HEADER + from;
        &self.words.as_bytes()[start..start + len]
    }

    /// The same bytes, to be changed.
    #[inline(always)]
    pub(super) fn bytes_at_mut(&mut self, at: Address, from: usize, len: usize) -> &mut [u8] {
        let start = at.0 as usize * WORD + HEADER + from;
        &mut self.words.as_mut_bytes()[start..start + len]
    }

    /// Prefetches the first cache lines of a block.
    #[inline(always)]
    pub(super) fn prefetch(&self, at: Address) {
        for line in 0..PREFETCHED_LINES {
            if let Some(word) = self.words.get(at.0 as usize + line * LINE / WORD) {
                table::prefetch(word);
            }
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lines to prefetch: a header, a key of some words, and a value of 100 bytes. The hardware prefetcher follows longer
/// ones.
const PREFETCHED_LINES: usize = 4;

/// Blocks that fit a page. Word 0 of page 0 is kept free, as address 0 names no block.
fn blocks_in_page(number: u32, words: usize) -> usize {
    if number == 0 { (PAGE_WORDS - 1) / words } else { PAGE_WORDS / words }
}

fn block_at(number: u32, block: u16, words: usize) -> Address {
    let skipped = u32::from(number == 0);
    Address(number * PAGE_WORDS as u32 + skipped + u32::from(block) * words as u32)
}

/// The classes, and the class of every number of words.
fn classes() -> (Vec<ClassPages>, Vec<Class>) {
    let (mut classes, mut class_of) = (Vec::new(), Vec::new());
    let mut words = SMALLEST;
    loop {
        // The largest size with the same number of blocks in a page.
        let largest = PAGE_WORDS / (PAGE_WORDS / words);
        class_of.resize(largest + 1, classes.len() as Class);
        classes.push(ClassPages { words: largest as u16, open: Vec::new(), pages: 0 });
        if largest >= LARGEST {
            return (classes, class_of);
        }
        words = (largest + 1).max(largest * (GROWTH + 1) / GROWTH).min(LARGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn classes_cover_all_sizes_and_waste_little() {
        let blocks = Blocks::new(1 << 20).unwrap();
        assert!(blocks.classes() < 64, "{} classes", blocks.classes());
        let longest = LARGEST * WORD - HEADER;
        let mut waste = 0.0;
        for bytes in 0..=longest {
            let class = blocks.class_for(bytes).unwrap();
            assert!(blocks.room(class) >= bytes);
            assert!(class == 0 || blocks.room(class - 1) < bytes);
            waste += (blocks.room(class) - bytes) as f64 / blocks.block_bytes(class) as f64;
        }
        assert!(waste / longest as f64 <= 0.08, "{}", waste / longest as f64);
        assert_eq!(blocks.class_for(longest), Some(blocks.largest()));
        assert_eq!(blocks.class_for(longest + 1), None);
    }

    proptest! {
        #[test]
        fn blocks_never_overlap_and_all_pages_come_back(
            steps in prop::collection::vec((any::<bool>(), 0..3000_usize, any::<prop::sample::Index>()), 0..600),
        ) {
            let mut blocks = Blocks::new(5 * PAGE_WORDS * WORD).unwrap();
            let mut used = BTreeMap::new();
            for (take, bytes, which) in steps {
                if take {
                    let class = blocks.class_for(bytes).unwrap();
                    match blocks.take(class) {
                        Some(at) => {
                            let words = blocks.block_bytes(class) / WORD;
                            let before = used.range(..=at.0).next_back().map_or(1, |(at, words)| at + *words as u32);
                            let after = used.range(at.0..).next().map_or(5 * PAGE_WORDS as u32, |(at, _)| *at);
                            prop_assert!(before <= at.0 && at.0 + words as u32 <= after);
                            blocks.header_mut(at).kind = kind::ITEM;
                            prop_assert_eq!(blocks.class_at(at), class);
                            used.insert(at.0, words);
                        }
                        None => prop_assert!(used.len() >= 4),
                    }
                } else if !used.is_empty() {
                    let at = *used.keys().nth(which.index(used.len())).unwrap();
                    used.remove(&at);
                    blocks.give(Address(at));
                }
                prop_assert_eq!(blocks.used_bytes(), used.values().sum::<usize>() * WORD);
            }
            used.keys().for_each(|at| blocks.give(Address(*at)));
            prop_assert_eq!(blocks.whole.len(), 5);
            prop_assert!(blocks.classes.iter().all(|class| class.pages == 0 && class.open.is_empty()));
        }
    }
}
