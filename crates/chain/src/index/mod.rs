//! The index of the own chain: from every account to its balance and its latest transaction, with a root that commits to all.
//!
//! It is a trie by definition (`docs/protocol.md`), but not in memory. Paths are hashes, so the trie is as good as full down
//! to a depth that its size tells. What is in memory is
//!
//! * **groups**: one for each prefix of some length, each a sorted array of its accounts. Where a leaf begins and ends in
//!   such an array follows from the order, so that leaves need no structure of their own;
//! * **cells**: prefixes a few bits longer, about the size of two leaves. They are what is marked when an account changes, and
//!   the lowest nodes whose hashes are kept. A cell with more accounts than a leaf may hold is a small subtree that is
//!   hashed as a whole;
//! * the hashes and the numbers of accounts of all nodes from the cells up, as a heap: node i has the children 2i and 2i + 1.
//!
//! These are there twice. [`Index`] has the entries, and the hashes as they were last published; it is shared with readers.
//! [`Pending`] has the hashes as they are to become, and belongs to the block builder. While a block is applied, entries run ahead
//! of the published hashes; a reader takes back what the open block did to the few entries that it needs ([`Index::prove`]).

mod apply;
mod group;
mod hashing;
mod pages;
mod paths;
mod proof;
#[cfg(test)]
mod tests;
mod touches;

pub use apply::{Effect, EffectError};
pub use hashing::Pending;
pub use proof::IndexAnswer;
pub use touches::{Touch, Touches};

use group::{Group, fingerprint};
use pages::Pages;
use paths::account_path;
use spv::{Hash, IndexEntry, ZERO_HASH};
use thiserror::Error;
use wire::{AccountId, Command, Operation};

/// The mean size of groups at which they are split. Between this and half of it, groups are large enough for their
/// overhead to vanish and small enough for insertions to move little.
const MAX_MEAN_GROUP: u64 = 192;

/// Bits of a cell's prefix behind those of its group: cells hold 24 to 48 accounts in the mean, two leaves or four.
const CELL_BITS: u32 = 2;

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
    pages: Pages,
    accounts: u64,
    published: Nodes,
}

/// The nodes from the cells up.
#[derive(Clone, Debug)]
struct Nodes {
    hashes: Vec<Hash>,
    /// The numbers of accounts below.
    counts: Vec<u32>,
}

impl Nodes {
    fn new(group_depth: u32) -> Self {
        let nodes = 2 << (group_depth + CELL_BITS);
        Self { hashes: vec![ZERO_HASH; nodes], counts: vec![0; nodes] }
    }
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
        let groups = std::iter::repeat_with(Group::default).take(1 << group_depth).collect();
        Self { group_depth, groups, pages: Pages::default(), accounts: 0, published: Nodes::new(group_depth) }
    }

    /// The index of these entries, which must be in ascending order of path, then id; nothing is published yet. `accounts` is
    /// how many are to come.
    pub fn from_entries(accounts: u64, entries: impl IntoIterator<Item = IndexEntry>) -> Result<Self, OrderError> {
        let mut index = Self::with_depth(group_depth_of(accounts));
        let mut before = None;
        let (mut number, mut group) = (0, Vec::new());
        for entry in entries {
            let path = account_path(&AccountId(entry.account));
            if before.is_some_and(|before| before >= (path, entry.account)) {
                return Err(OrderError(index.accounts));
            }
            before = Some((path, entry.account));
            if index.group_of(path) != number {
                index.groups[number] = Group::new(&mut index.pages, &group);
                group.clear();
                number = index.group_of(path);
            }
            group.push((fingerprint(path, index.group_depth), entry));
            index.accounts += 1;
        }
        index.groups[number] = Group::new(&mut index.pages, &group);
        Ok(index)
    }

    /// The number of accounts, those of an open block among them.
    pub fn accounts(&self) -> u64 {
        self.accounts
    }

    /// What the index holds of an account, after what is applied of an open block.
    pub fn get(&self, account: &AccountId) -> Option<IndexEntry> {
        let path = account_path(account);
        let group = &self.groups[self.group_of(path)];
        group
            .find(&self.pages, fingerprint(path, self.group_depth), account)
            .map(|place| *group.entry(&self.pages, place))
    }

    /// All entries, in ascending order of path, then id.
    pub fn entries(&self) -> impl Iterator<Item = &IndexEntry> {
        self.chunks().flatten()
    }

    /// All entries in their order, a few at a time.
    pub fn chunks(&self) -> impl Iterator<Item = &[IndexEntry]> {
        self.groups.iter().flat_map(|group| group.entries(&self.pages, 0..group.len()))
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

    /// Makes room for the accounts that the operations of a block create: splits all groups until their mean size is in its
    /// bounds. To be called before anything of the block is applied.
    pub fn prepare(&mut self, pending: &mut Pending, operations: &[Operation]) {
        let is_create = |operation: &&Operation| operation.command.get() == Command::Create.code();
        let depth = group_depth_of(self.accounts + operations.iter().filter(is_create).count() as u64);
        if depth <= self.group_depth {
            return;
        }
        while self.group_depth < depth {
            let groups = std::mem::take(&mut self.groups);
            let halves = groups.into_iter().flat_map(|group| group.split(&mut self.pages, self.group_depth));
            self.groups = halves.collect();
            self.group_depth += 1;
        }
        *pending = Pending::new(self);
        pending.root(self);
        self.publish(pending);
    }

    /// Lets readers see the hashes as they have become. All entries are as of them from now on.
    pub fn publish(&mut self, pending: &mut Pending) {
        pending.publish_to(&mut self.published);
    }
}

/// The depth at which groups have a mean size in its bounds.
fn group_depth_of(accounts: u64) -> u32 {
    accounts.div_ceil(MAX_MEAN_GROUP).max(1).next_power_of_two().ilog2()
}
