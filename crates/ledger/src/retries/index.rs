//! Numbers of operations by the hash of their identity: an open-addressed table of cache lines.
//!
//! - A line has seven slots; its last word is the largest number that found the line full and moved on to the next.
//! - A slot holds the lower half of the hash and the lower half of the number. The record of that number decides a
//!   match.
//! - Numbers ascend. Those below `first` are forgotten: their slots are free, and no search follows them to the next
//!   line. So nothing is ever removed.

use table::{PlainArray, Region, prefetch};

use super::shared_layout::{LINE_SLOTS as SLOTS, LINE_WORDS as LINE};

/// The last word of a line is the largest number that moved past it.
const PASSED: usize = SLOTS;
const _: () = assert!(PASSED + 1 == LINE);

/// Average number of used slots per line in a full table: with seven slots one line in twenty overflows, and an
/// operation takes 16 bytes.
const FILL: usize = 4;

/// The index.
#[derive(Debug)]
pub(super) struct Index {
    lines: PlainArray<[u64; LINE]>,
    /// Number of lines in use.
    count: usize,
}

/// The numbers in an index: from `first` up to, but not including, `next`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub first: u64,
    pub next: u64,
}

impl Span {
    /// The number with these lower bits, if it is in the span.
    #[inline(always)]
    fn number(self, low: u32) -> Option<u64> {
        let last = self.next.wrapping_sub(1);
        let number = last.wrapping_sub(u64::from((last as u32).wrapping_sub(low)));
        (self.first..self.next).contains(&number).then_some(number)
    }
}

impl Index {
    /// Size in bytes for `capacity` numbers at once.
    pub fn bytes(capacity: usize) -> usize {
        lines(capacity) * size_of::<[u64; LINE]>()
    }

    /// Creates an empty index in zeroed memory; `None` if it is too small.
    pub fn within(memory: Region, capacity: usize) -> Option<Self> {
        let count = lines(capacity);
        let lines = memory.into_plain().filter(|lines: &PlainArray<_>| lines.len() >= count)?;
        Some(Self { lines, count })
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn line(&self, hash: u64) -> usize {
        // The upper half of the hash as a fraction of the lines. The result is below their number, which has at most 32
        // bits.
        (((hash >> 32) * self.count as u64) >> 32) as usize
    }

    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.lines[self.line(hash)]);
    }

    /// Passes the numbers that may match the hash to `check`, until it returns a result.
    #[inline]
    pub fn find<T>(&self, hash: u64, span: Span, mut check: impl FnMut(u64) -> Option<T>) -> Option<T> {
        let tag = tag(hash);
        let mut at = self.line(hash);
        for _ in 0..self.count {
            let line = &self.lines[at];
            let mut hits = 0;
            for (slot, word) in line[..SLOTS].iter().enumerate() {
                hits |= u32::from((word >> 32) as u32 == tag) << slot;
            }
            while hits != 0 {
                let low = line[hits.trailing_zeros() as usize] as u32;
                if let Some(found) = span.number(low).and_then(&mut check) {
                    return Some(found);
                }
                hits &= hits - 1;
            }
            if line[PASSED] < span.first || line[PASSED] == 0 {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    /// Adds the number `span.next`. There must be room: fewer numbers than the capacity are held.
    #[inline]
    pub fn insert(&mut self, hash: u64, span: Span) {
        let number = span.next;
        let word = u64::from(tag(hash)) << 32 | u64::from(number as u32);
        let mut at = self.line(hash);
        loop {
            let line = &mut self.lines[at];
            let is_free = |slot: &u64| *slot == 0 || span.number(*slot as u32).is_none();
            if let Some(free) = line[..SLOTS].iter().position(is_free) {
                line[free] = word;
                return;
            }
            line[PASSED] = number;
            at = self.after(at);
        }
    }

    #[inline(always)]
    fn after(&self, line: usize) -> usize {
        if line + 1 == self.count { 0 } else { line + 1 }
    }
}

fn lines(capacity: usize) -> usize {
    capacity.div_ceil(FILL)
}

/// The part of a hash in a slot. It is never zero, unlike an unused slot.
#[inline(always)]
pub(super) fn tag(hash: u64) -> u32 {
    hash as u32 | 1
}

#[cfg(test)]
mod tests {
    use table::Pages;

    use super::*;

    /// Lines of the index.
    const LINES: usize = 5;

    fn index() -> Index {
        let capacity = LINES * FILL - 1;
        let memory = Region::anonymous(Index::bytes(capacity), Pages::Small, false).unwrap();
        Index::within(memory, capacity).unwrap()
    }

    /// A hash of this line with this tag.
    fn hash(line: u64, tag: u32) -> u64 {
        (line << 32).div_ceil(LINES as u64) << 32 | u64::from(tag)
    }

    fn find(index: &Index, hash: u64, number: u64, span: Span) -> bool {
        index.find(hash, span, |found| (found == number).then_some(())).is_some()
    }

    /// A number that finds its line full moves on to the next, from the last line to the first, and is found there
    /// while it is held.
    #[test]
    fn what_went_past_a_full_line_is_found() {
        for line in 0..LINES as u64 {
            let mut index = index();
            assert_eq!((index.lines(), index.line(hash(line, 1))), (LINES, line as usize));
            let numbers = 10..10 + 2 * SLOTS as u64;
            for number in numbers.clone() {
                index.insert(hash(line, 2 * number as u32 + 1), Span { first: 10, next: number });
            }
            for first in numbers.clone() {
                let span = Span { first, next: numbers.end };
                for number in numbers.clone() {
                    let is_held = number >= first;
                    assert_eq!(
                        find(&index, hash(line, 2 * number as u32 + 1), number, span),
                        is_held,
                        "{number} {first}"
                    );
                }
                assert!(!find(&index, hash((line + 1) % LINES as u64, 999), first, span));
            }
            // Slots of forgotten numbers are free, so the line has room for another one.
            let span = Span { first: 11, next: numbers.end };
            index.insert(hash(line, 77), span);
            assert_eq!(index.lines[line as usize][0], 77 << 32 | span.next);
            assert!(find(&index, hash(line, 77), span.next, Span { next: span.next + 1, ..span }));
        }
    }

    #[test]
    fn a_tag_is_never_zero() {
        for (hash, expected) in [(0, 1), (1, 1), (0xabcd_0000_1234_5678, 0x1234_5679), (u64::MAX, u32::MAX)] {
            assert_eq!(tag(hash), expected);
        }
    }
}
