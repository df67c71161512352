//! A group of accounts: the unit that the index stores entries in.
use super::pages::{At, PAGE, Pages};
use super::paths::account_path;
use spv::IndexEntry;
use std::ops::Range;
use table::prefetch;
use wire::AccountId;

/// Fingerprints compared around the expected position. Fingerprints are uniform, so in a group of n the true position
/// is off by at most half the root of n two times in three: 32 reach two to three times as far to either side in the
/// largest usual groups, and are at most two cache lines.
const WINDOW: usize = 32;

/// Spare room for fingerprints in a full group, as a fraction of its size: little, because the index should be small.
const SPARE: usize = 16;

/// Above this number, accounts with the same fingerprint are found by binary search in path order, which takes hashing
/// their paths.
const MANY_ALIKE: usize = 8;

/// All accounts whose path begins with the group's number, in ascending order of path, then id.
///
/// Entries are stored in their encoded and hashed form, in pages that are full except for the last. Next to them are
/// 16-bit fingerprints: the following bits of the path. They ascend as well, so finding an account takes a few cache
/// lines of fingerprints and one of its entry.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Group {
    fingerprints: Vec<u16>,
    pages: Vec<u32>,
}

impl Group {
    /// The group at `depth` of these sorted entries with their paths.
    pub(super) fn new(pages: &mut Pages, depth: u32, entries: &[(u64, IndexEntry)]) -> Self {
        let fingerprints = entries.iter().map(|(path, _)| fingerprint(*path, depth)).collect();
        let fill = |part: &[(u64, IndexEntry)]| {
            let number = pages.take();
            for (place, (_, entry)) in pages.page_mut(number).iter_mut().zip(part) {
                *place = *entry;
            }
            number
        };
        Self { fingerprints, pages: entries.chunks(PAGE).map(fill).collect() }
    }

    /// All entries with their paths; releases their pages.
    pub(super) fn take(self, pages: &mut Pages) -> Vec<(u64, IndexEntry)> {
        let with_path = |entry: &IndexEntry| (account_path(&AccountId(entry.account)), *entry);
        let entries = self.entries(pages, 0..self.len()).flatten().map(with_path).collect();
        self.pages.into_iter().for_each(|page| pages.give(page));
        entries
    }

    /// All entries in order, a few at a time.
    pub(super) fn chunks<'a>(&'a self, pages: &'a Pages) -> impl Iterator<Item = &'a [IndexEntry]> {
        self.entries(pages, 0..self.len())
    }

    pub(super) fn len(&self) -> usize {
        self.fingerprints.len()
    }

    #[inline]
    pub(super) fn entry<'a>(&self, pages: &'a Pages, place: usize) -> &'a IndexEntry {
        &pages.page(self.pages[place / PAGE])[place % PAGE]
    }

    /// Location of the entry at `place`.
    #[inline]
    pub(super) fn at(&self, place: usize) -> At {
        At { page: self.pages[place / PAGE], slot: place % PAGE }
    }

    /// The entries at the places of `range`, page by page.
    pub(super) fn entries<'a>(
        &'a self,
        pages: &'a Pages,
        range: Range<usize>,
    ) -> impl Iterator<Item = &'a [IndexEntry]> {
        let first = range.start / PAGE;
        let numbers = self.pages[first..range.end.div_ceil(PAGE).max(first)].iter();
        numbers.enumerate().map(move |(number, page)| {
            let before = (first + number) * PAGE;
            let within = range.start.max(before) - before..range.end.min(before + PAGE) - before;
            &pages.page(*page)[within]
        })
    }

    /// Whether the entry at `place` is this account's.
    #[inline]
    pub(super) fn holds(&self, pages: &Pages, place: usize, account: &AccountId) -> bool {
        place < self.len() && self.entry(pages, place).account == account.0
    }

    /// Starts to load the fingerprints that [`Group::place`] will compare, and the page numbers.
    #[inline]
    pub(super) fn prefetch_window(&self, fingerprint: u16) {
        let start = self.window_start(fingerprint);
        if let Some(window) = self.fingerprints[start..].first_chunk::<WINDOW>() {
            prefetch(&window[0]);
            prefetch(&window[WINDOW - 1]);
        }
        if let Some(page) = self.pages.first() {
            prefetch(page);
        }
    }

    /// Starts to load the entry at `place`.
    #[inline]
    pub(super) fn prefetch_entry(&self, pages: &Pages, place: usize) {
        if place < self.len() {
            prefetch(self.entry(pages, place));
        }
    }

    /// Starts to load all entries.
    pub(super) fn prefetch_entries(&self, pages: &Pages) {
        /// Entries in a cache line.
        const LINE: usize = 2;
        for number in &self.pages {
            pages.page(*number).iter().step_by(LINE).for_each(prefetch);
        }
    }

    #[inline]
    fn window_start(&self, fingerprint: u16) -> usize {
        let expected = (usize::from(fingerprint) * self.len()) >> 16;
        expected.saturating_sub(WINDOW / 2).min(self.len().saturating_sub(WINDOW))
    }

    /// The place of the first entry with this fingerprint or a greater one.
    #[inline]
    pub(super) fn place(&self, fingerprint: u16) -> usize {
        let start = self.window_start(fingerprint);
        let smaller = match self.fingerprints[start..].first_chunk::<WINDOW>() {
            // A fixed length, so that it compiles to a handful of vector instructions.
            Some(window) => window.iter().map(|other| u16::from(*other < fingerprint)).sum::<u16>(),
            None => self.fingerprints[start..].iter().map(|other| u16::from(*other < fingerprint)).sum(),
        };
        let place = start + usize::from(smaller);
        let is_first = place > start || start == 0;
        let is_within = usize::from(smaller) < WINDOW || place == self.len();
        if is_first && is_within { place } else { self.fingerprints.partition_point(|other| *other < fingerprint) }
    }

    /// The places of the entries with this fingerprint.
    #[inline]
    fn alike(&self, fingerprint: u16) -> Range<usize> {
        let first = self.place(fingerprint);
        let count = self.fingerprints[first..].iter().take_while(|other| **other == fingerprint).count();
        first..first + count
    }

    /// The place of the account. The group is at `depth`.
    #[inline]
    pub(super) fn find(&self, pages: &Pages, path: u64, depth: u32, account: &AccountId) -> Option<usize> {
        let mut alike = self.alike(fingerprint(path, depth));
        if alike.len() > MANY_ALIKE {
            let place = partition(alike, |place| order(self.entry(pages, place)) < (path, account.0));
            return self.holds(pages, place, account).then_some(place);
        }
        alike.find(|place| self.holds(pages, *place, account))
    }

    /// Inserts the entry of an account that is not in the group yet.
    pub(super) fn insert(&mut self, pages: &mut Pages, path: u64, fingerprint: u16, entry: IndexEntry) {
        let alike = self.alike(fingerprint);
        let place = partition(alike, |place| order(self.entry(pages, place)) < (path, entry.account));
        let len = self.len();
        if len == self.fingerprints.capacity() {
            self.fingerprints.reserve_exact((len / SPARE).max(2));
        }
        self.fingerprints.insert(place, fingerprint);
        if len.is_multiple_of(PAGE) {
            self.pages.push(pages.take());
        }
        // The entry that falls out at the end of a page goes to the start of the next.
        let (mut carried, mut start) = (entry, place % PAGE);
        for number in &self.pages[place / PAGE..] {
            let page = pages.page_mut(*number);
            let fallen = page[PAGE - 1];
            page.copy_within(start..PAGE - 1, start + 1);
            page[start] = carried;
            (carried, start) = (fallen, 0);
        }
    }

    pub(super) fn remove(&mut self, pages: &mut Pages, place: usize) {
        self.fingerprints.remove(place);
        let mut start = place % PAGE;
        for number in place / PAGE..self.pages.len() {
            let next = self.pages.get(number + 1).map(|next| pages.page(*next)[0]);
            let page = pages.page_mut(self.pages[number]);
            page.copy_within(start + 1.., start);
            if let Some(next) = next {
                page[PAGE - 1] = next;
            }
            start = 0;
        }
        if self.pages.len() > self.len().div_ceil(PAGE)
            && let Some(empty) = self.pages.pop()
        {
            pages.give(empty);
        }
    }

    /// The first place in `range` whose path has a 1 in bit `depth`; those with a 0 come before. All paths in the range
    /// agree before that bit. The group is at depth `group_depth`.
    pub(super) fn middle(&self, pages: &Pages, range: Range<usize>, depth: u32, group_depth: u32) -> usize {
        let bit = depth - group_depth;
        partition(range, |place| {
            if bit < u16::BITS {
                self.fingerprints[place] >> (15 - bit) & 1 == 0
            } else {
                order(self.entry(pages, place)).0 >> (63 - depth) & 1 == 0
            }
        })
    }

    /// The entries whose fingerprint begins with the `bits` bits of `prefix`; at most 16 bits.
    pub(super) fn with_prefix(&self, prefix: u16, bits: u32) -> Range<usize> {
        if bits == 0 {
            return 0..self.len();
        }
        let first = prefix << (u16::BITS - bits);
        let last = first | (u32::from(u16::MAX) >> bits) as u16;
        let end = if last == u16::MAX { self.len() } else { self.place(last + 1) };
        self.place(first)..end
    }
}

/// The first place in `range` that is not `before`; those that are come first.
fn partition(range: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The sort key of entries.
fn order(entry: &IndexEntry) -> (u64, [u8; 16]) {
    (account_path(&AccountId(entry.account)), entry.account)
}

/// The 16 bits of a path after the first `depth`.
#[inline]
pub(super) fn fingerprint(path: u64, depth: u32) -> u16 {
    (path << depth >> 48) as u16
}
