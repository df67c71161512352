//! The newest records of a window, by number, and the header that describes the window to a kernel program.
//!
//! A kernel program may read at any time (`bpf/window.h`): the header shows which records are being written, and the
//! program compares each record in full.

use std::{
    mem::offset_of,
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, Release},
            fence,
        },
    },
};

use table::{Array, PlainArray, Region};
use wire::Operation;

use crate::journal::Record;

use super::shared_layout::{record, window_header};

/// Words of the header.
const HEADER: usize = window_header::BYTES / 8;
const BEGUN: usize = window_header::BEGUN / 8;
const WRITTEN: usize = window_header::WRITTEN / 8;
const FIRST: usize = window_header::FIRST / 8;

/// The word with the number of lines in its lower half, and the bits of a ring position in its upper half.
const SIZES: usize = window_header::LINES / 8;
const _: () = assert!(window_header::LINES == 8 * SIZES && window_header::RING_BITS == 8 * SIZES + 4);

/// Words of the secret, at the start of the header.
pub(super) const KEYS: usize = SIZES;
const _: () = assert!(window_header::KEY == 0);

/// A record as words, so that the ring can be mapped as zeros.
const WORDS: usize = Record::LENGTH / size_of::<u64>();
type Words = [u64; WORDS];

// A record is read in place in the ring.
const _: () = {
    assert!(size_of::<Words>() == record::BYTES && Record::LENGTH == record::BYTES);
    assert!(offset_of!(Record, operation) == record::HEAD && offset_of!(Record, value) == record::VALUE);
    assert!(offset_of!(Operation, flags) == 0 && offset_of!(Operation, command) == 1);
    assert!(offset_of!(Operation, status) == 2 && offset_of!(Operation, contract) == 4);
    assert!(offset_of!(Operation, transaction) == record::TRANSACTION);
    assert!(offset_of!(Operation, source) == record::SOURCE);
    assert!(offset_of!(Operation, destination) == record::DESTINATION);
    assert!(offset_of!(Operation, amount) == record::AMOUNT);
};

/// The records.
#[derive(Debug)]
pub(super) struct Ring {
    header: Array<AtomicU64>,
    records: PlainArray<Words>,
    /// Number of records minus one; their number is a power of two.
    mask: u64,
}

impl Ring {
    /// Size of `records` records in bytes.
    pub fn bytes(records: usize) -> usize {
        records * Record::LENGTH
    }

    /// Creates an empty ring whose first record has at least the number `next`; `None` if the memory is too small.
    pub fn within(
        header: Region,
        ring: Region,
        records: usize,
        next: u64,
        lines: usize,
        key: [u64; KEYS],
    ) -> Option<Self> {
        let header = Arc::new(header).words(0, HEADER)?;
        let words = ring.into_plain().filter(|words: &PlainArray<Words>| words.len() >= records)?;
        for (cell, word) in header.iter().zip(key) {
            cell.store(word, Relaxed);
        }
        header[SIZES].store(u64::from(records.trailing_zeros()) << 32 | lines as u64, Relaxed);
        header[BEGUN].store(next, Relaxed);
        header[WRITTEN].store(next, Release);
        header[FIRST].store(next, Relaxed);
        Some(Self { header, records: words, mask: records as u64 - 1 })
    }

    /// Returns the record of a number, where `next` is the next number; `None` if it was overwritten.
    #[inline]
    pub fn get(&self, number: u64, next: u64) -> Option<Record> {
        let is_kept = next - number <= self.mask + 1;
        is_kept.then(|| zerocopy::transmute!(self.records[self.place(number)]))
    }

    /// Stores the record of a number larger than all before.
    #[inline]
    pub fn put(&mut self, number: u64, record: &Record) {
        let place = self.place(number);
        self.header[BEGUN].store(number + 1, Relaxed);
        // A reader that sees part of the record also sees that it is being written.
        fence(Release);
        self.records[place] = zerocopy::transmute!(*record);
        self.header[WRITTEN].store(number + 1, Release);
    }

    /// Publishes that numbers before `first` are forgotten.
    pub fn forget(&mut self, first: u64) {
        self.header[FIRST].store(first, Release);
    }

    #[inline(always)]
    fn place(&self, number: u64) -> usize {
        (number & self.mask) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Acquire;

    use table::Pages;

    use super::*;
    use crate::testing::transfer;

    fn record(number: u64) -> Record {
        Record { operation: transfer(number, 1, 2, 3), value: (7 * number).into() }
    }

    /// An outside reader finds each word at its place in the layout, and a record is kept until it is overwritten.
    #[test]
    fn the_header_tells_what_is_kept() {
        let region = |bytes| Region::anonymous(bytes, Pages::Small, false).unwrap();
        let key = std::array::from_fn(|word| 100 + word as u64);
        let memory = || (region(window_header::BYTES), region(Ring::bytes(8)));
        let (header, records) = memory();
        let mut ring = Ring::within(header, records, 8, 40, 0x1234, key).unwrap();
        let word = |ring: &Ring, at: usize| ring.header[at / 8].load(Acquire);
        let told =
            |ring: &Ring| [window_header::BEGUN, window_header::WRITTEN, window_header::FIRST].map(|at| word(ring, at));
        for (at, expected) in key.iter().enumerate() {
            assert_eq!(word(&ring, window_header::KEY + 8 * at), *expected);
        }
        // Three bits of position, above the number of lines.
        assert_eq!(word(&ring, window_header::LINES), 3 << 32 | 0x1234);
        assert_eq!(told(&ring), [40, 40, 40]);
        for number in 40..60 {
            ring.put(number, &record(number));
            assert_eq!(told(&ring), [number + 1, number + 1, 40]);
            for kept in number.saturating_sub(7).max(40)..=number {
                assert_eq!(ring.get(kept, number + 1), Some(record(kept)));
            }
            assert!(number < 48 || ring.get(number - 8, number + 1).is_none());
        }
        ring.forget(55);
        assert_eq!(told(&ring), [60, 60, 55]);
        let (header, records) = memory();
        assert!(Ring::within(header, records, 4096, 0, 1, key).is_none(), "there is no memory for so many");
    }
}
