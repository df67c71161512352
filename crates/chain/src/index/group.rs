//! A group of accounts: the unit that the index stores entries in.
use super::paths::account_path;
use crate::prefetch::prefetch;
use spv::IndexEntry;
use std::ops::Range;
use wire::AccountId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Fingerprints looked at around the place where one is to be expected. Fingerprints are spread evenly, so in a group of
/// n the true place is off by half the root of n or less two times in three: 64 are three to four times as wide to either
/// side as in the largest usual group.
const WINDOW: usize = 64;

/// Spare room that a full group is given, as a part of its size: little, since the index is meant to be small.
const SPARE: usize = 16;

/// An entry that lies within one cache line.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(32))]
struct Aligned(IndexEntry);

/// All accounts whose path begins with the group's number, in ascending order of path, then id.
///
/// Beside the entries, which are kept as they are encoded and hashed, are 16-bit fingerprints: what follows in the path. They
/// are ascending too, so an account is found by one look into a few cache lines of fingerprints and one at its entry.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Group {
    fingerprints: Vec<u16>,
    entries: Vec<Aligned>,
}

impl Group {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries at the places of `range`.
    pub(super) fn entries(&self, range: Range<usize>) -> &[IndexEntry] {
        // The layouts are the same, so this cannot fail.
        <[IndexEntry]>::ref_from_bytes(self.entries[range].as_bytes()).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn entry(&self, place: usize) -> &IndexEntry {
        &self.entries[place].0
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, place: usize) -> &mut IndexEntry {
        &mut self.entries[place].0
    }

    /// Whether the entry at `place` is this account's.
    #[inline]
    pub(super) fn holds(&self, place: usize, account: &AccountId) -> bool {
        self.entries.get(place).is_some_and(|entry| entry.0.account == account.0)
    }

    /// Starts to load the fingerprints that [`Group::place`] will look at.
    #[inline]
    pub(super) fn prefetch_window(&self, fingerprint: u16) {
        let start = self.window_start(fingerprint);
        if let Some(window) = self.fingerprints[start..].first_chunk::<WINDOW>() {
            prefetch(&window[0]);
            prefetch(&window[WINDOW / 2]);
            prefetch(&window[WINDOW - 1]);
        }
    }

    /// Starts to load the entry at `place`.
    #[inline]
    pub(super) fn prefetch_entry(&self, place: usize) {
        if let Some(entry) = self.entries.get(place) {
            prefetch(entry);
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
            // Of fixed length, so that it becomes a handful of vector instructions.
            Some(window) => window.iter().map(|other| u16::from(*other < fingerprint)).sum::<u16>(),
            None => self.fingerprints[start..].iter().map(|other| u16::from(*other < fingerprint)).sum(),
        };
        let place = start + usize::from(smaller);
        let is_first = place > start || start == 0;
        let is_within = usize::from(smaller) < WINDOW || place == self.len();
        if is_first && is_within { place } else { self.fingerprints.partition_point(|other| *other < fingerprint) }
    }

    /// The place of the account.
    #[inline]
    pub(super) fn find(&self, fingerprint: u16, account: &AccountId) -> Option<usize> {
        let first = self.place(fingerprint);
        let alike = self.fingerprints[first..].iter().take_while(|other| **other == fingerprint).count();
        (first..first + alike).find(|place| self.holds(*place, account))
    }

    /// Puts in an entry of an account that is not there yet.
    pub(super) fn insert(&mut self, path: u64, fingerprint: u16, entry: IndexEntry) {
        let first = self.place(fingerprint);
        let alike = self.fingerprints[first..].iter().take_while(|other| **other == fingerprint).count();
        let before = |other: &Aligned| order(&other.0) < (path, entry.account);
        let place = first + self.entries[first..first + alike].partition_point(before);
        if self.entries.len() == self.entries.capacity() {
            let spare = (self.len() / SPARE).max(2);
            self.entries.reserve_exact(spare);
            self.fingerprints.reserve_exact(spare);
        }
        self.entries.insert(place, Aligned(entry));
        self.fingerprints.insert(place, fingerprint);
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.entries.remove(place);
        self.fingerprints.remove(place);
    }

    /// The group of these entries, which are in order, with their fingerprints.
    pub(super) fn new(entries: &[(u16, IndexEntry)]) -> Self {
        Self {
            fingerprints: entries.iter().map(|(fingerprint, _)| *fingerprint).collect(),
            entries: entries.iter().map(|(_, entry)| Aligned(*entry)).collect(),
        }
    }

    /// The two halves of the group, by the first bit of the fingerprints; `depth` is the number of bits before that.
    pub(super) fn split(self, depth: u32) -> [Self; 2] {
        let middle = self.fingerprints.partition_point(|fingerprint| fingerprint >> 15 == 0);
        [0..middle, middle..self.len()].map(|half| {
            let entries: Vec<_> = self.entries[half]
                .iter()
                .map(|Aligned(entry)| (fingerprint(account_path(&AccountId(entry.account)), depth + 1), *entry))
                .collect();
            Self::new(&entries)
        })
    }

    /// The entries among `range` whose path has a 0 in bit `depth` are before the returned place, the others from it on.
    /// All paths in the range are alike before that bit. The group is at depth `group_depth`.
    pub(super) fn middle(&self, range: Range<usize>, depth: u32, group_depth: u32) -> usize {
        let bit = depth - group_depth;
        let left = if bit < u16::BITS {
            self.fingerprints[range.clone()].partition_point(|fingerprint| fingerprint >> (15 - bit) & 1 == 0)
        } else {
            self.entries[range.clone()].partition_point(|entry| order(&entry.0).0 >> (63 - depth) & 1 == 0)
        };
        range.start + left
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

/// What entries are ordered by.
fn order(entry: &IndexEntry) -> (u64, [u8; 16]) {
    (account_path(&AccountId(entry.account)), entry.account)
}

/// The 16 bits of a path behind the first `depth`.
#[inline]
pub(super) fn fingerprint(path: u64, depth: u32) -> u16 {
    (path << depth >> 48) as u16
}
