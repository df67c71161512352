//! The index of the own chain: from every account to its balance and its latest transaction, with a root that commits to all.
//!
//! It is a trie by definition (`docs/protocol.md`), but not in memory. Paths are hashes, so the trie is as good as full down
//! to a depth that its size tells. What is in memory is
//!
//! * **groups**: one for each prefix of some length, each a sorted array of its accounts. Where a leaf begins and ends in
//!   such an array follows from the order, so that leaves need no structure of their own;
//! * **cells**: prefixes a few bits longer, about the size of a leaf. They are what is marked when an account changes, and
//!   the lowest nodes whose hashes are kept. A cell with more accounts than a leaf may hold is a small subtree that is
//!   hashed as a whole;
//! * the hashes and the numbers of accounts of all nodes from the cells up, as a heap: node i has the children 2i and 2i + 1.

mod apply;
mod group;
mod hashing;
mod paths;
mod proof;
#[cfg(test)]
mod tests;

pub use apply::{Effect, EffectError};
pub use proof::IndexAnswer;

use group::{Group, fingerprint};
use paths::account_path;
use spv::{Hash, IndexEntry, ZERO_HASH};
use thiserror::Error;
use wire::AccountId;

/// The mean size of groups at which they are split. Between this and half of it, groups are large enough for their
/// overhead to vanish and small enough for insertions to move little.
const MAX_MEAN_GROUP: u64 = 192;

/// Bits of a cell's prefix behind those of its group: cells hold 12 to 24 accounts in the mean, of which a leaf holds 16.
const CELL_BITS: u32 = 3;

/// Entries that are not those of an index in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("entry {0} of the index is out of order")]
pub struct OrderError(pub u64);

/// The index, in memory.
#[derive(Debug)]
pub struct Index {
    /// Bits of the path that number the groups.
    group_depth: u32,
    groups: Vec<Group>,
    accounts: u64,
    /// The hashes of nodes down to the cells; those above dirty cells are out of date.
    hashes: Vec<Hash>,
    /// The numbers of accounts below nodes; as `hashes`, but those of cells are always up to date.
    counts: Vec<u32>,
    /// A bit for each cell.
    dirty: Vec<u64>,
}

impl Default for Index {
    fn default() -> Self {
        Self::with_depth(0)
    }
}

impl Index {
    /// An index of no accounts.
    pub fn new() -> Self {
        Self::default()
    }

    fn with_depth(group_depth: u32) -> Self {
        let nodes = 2 << (group_depth + CELL_BITS);
        Self {
            group_depth,
            groups: std::iter::repeat_with(Group::default).take(1 << group_depth).collect(),
            accounts: 0,
            hashes: vec![ZERO_HASH; nodes],
            counts: vec![0; nodes],
            dirty: vec![0; (nodes / 2).div_ceil(64)],
        }
    }

    /// The index of these entries, which must be in ascending order of path, then id. `accounts` is how many are to come.
    pub fn from_entries(accounts: u64, entries: impl IntoIterator<Item = IndexEntry>) -> Result<Self, OrderError> {
        let mut index = Self::with_depth(group_depth_of(accounts));
        let expected = (accounts >> index.group_depth) as usize;
        let mut before = None;
        for entry in entries {
            let path = account_path(&AccountId(entry.account));
            if before.is_some_and(|before| before >= (path, entry.account)) {
                return Err(OrderError(index.accounts));
            }
            before = Some((path, entry.account));
            let (number, cell) = (index.group_of(path), index.cell_of(path));
            let group = &mut index.groups[number];
            if group.len() == 0 {
                group.reserve(expected);
            }
            group.push(fingerprint(path, index.group_depth), entry);
            let node = index.first_cell() + cell;
            index.counts[node] += 1;
            index.accounts += 1;
        }
        index.mark_all();
        Ok(index)
    }

    /// The number of accounts.
    pub fn accounts(&self) -> u64 {
        self.accounts
    }

    /// What the index holds of an account.
    pub fn get(&self, account: &AccountId) -> Option<IndexEntry> {
        let path = account_path(account);
        let group = &self.groups[self.group_of(path)];
        group.find(fingerprint(path, self.group_depth), account).map(|place| *group.entry(place))
    }

    /// All entries, in ascending order of path, then id.
    pub fn entries(&self) -> impl Iterator<Item = &IndexEntry> {
        self.chunks().flatten()
    }

    /// All entries in their order, some hundred at a time.
    pub fn chunks(&self) -> impl Iterator<Item = &[IndexEntry]> {
        self.groups.iter().map(|group| group.entries(0..group.len()))
    }

    /// The sum of all balances.
    pub fn total(&self) -> u128 {
        self.entries().map(|entry| u128::from(entry.balance.get())).sum()
    }

    fn cell_depth(&self) -> u32 {
        self.group_depth + CELL_BITS
    }

    /// The node of the first cell.
    fn first_cell(&self) -> usize {
        1 << self.cell_depth()
    }

    #[inline]
    fn group_of(&self, path: u64) -> usize {
        // In two steps, since a shift by all 64 bits is none.
        (path >> 1 >> (63 - self.group_depth)) as usize
    }

    #[inline]
    fn cell_of(&self, path: u64) -> usize {
        (path >> (64 - self.cell_depth())) as usize
    }

    #[inline]
    fn mark(&mut self, cell: usize) {
        self.dirty[cell / 64] |= 1 << (cell % 64);
    }

    fn mark_all(&mut self) {
        for cell in 0..self.first_cell() {
            self.mark(cell);
        }
    }

    /// Makes room for `created` accounts more: splits all groups until their mean size is in its bounds.
    fn grow(&mut self, created: u64) {
        while self.group_depth < group_depth_of(self.accounts + created) {
            let mut grown = Self::with_depth(self.group_depth + 1);
            grown.accounts = self.accounts;
            grown.groups =
                std::mem::take(&mut self.groups).into_iter().flat_map(|group| group.split(self.group_depth)).collect();
            for cell in 0..grown.first_cell() {
                let (number, prefix) = (cell >> CELL_BITS, cell as u16 & ((1 << CELL_BITS) - 1));
                let count = grown.groups[number].with_prefix(prefix, CELL_BITS).len();
                let node = grown.first_cell() + cell;
                grown.counts[node] = count as u32;
            }
            grown.mark_all();
            *self = grown;
        }
    }
}

/// The depth at which groups have a mean size in its bounds.
fn group_depth_of(accounts: u64) -> u32 {
    accounts.div_ceil(MAX_MEAN_GROUP).max(1).next_power_of_two().ilog2()
}
