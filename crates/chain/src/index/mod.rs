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
//! Paths are hashes under a key that everybody knows, so ids can be searched for whose paths begin alike. Where a cell gets more
//! accounts than chance brings, its group becomes a **crowd**: a trie of its own with groups and cells for as many accounts, and,
//! should more bits be alike, with crowds in it. So no cell is large, whoever chose the ids, and what an account costs grows by a step
//! for every few bits in which paths agree, while the search for them takes twice as long for each.
//!
//! The hashes are there twice. [`Index`] has the entries, and the hashes as they were last published; it is shared with readers.
//! [`Pending`] has the hashes as they are to become, and belongs to the block builder. While a block is applied, entries run ahead
//! of the published hashes, and **images** keep what they were. A reader takes them for the few entries of its leaf
//! ([`Index::leaf`]), which is all that it needs the index for, and hashes what is left without it ([`Leaf::prove`]).

mod apply;
mod group;
mod growth;
mod hashing;
mod images;
mod listing;
mod pages;
mod paths;
mod pending;
mod proof;
#[cfg(test)]
mod tests;
mod touches;
mod trie;

pub use apply::{Effect, EffectError};
pub use paths::account_paths;
pub use pending::Pending;
pub use proof::{IndexAnswer, Leaf};
pub use touches::{Touch, Touches};

use images::Images;
use pages::Pages;
use paths::account_path;
use spv::IndexEntry;
use thiserror::Error;
use trie::Trie;
use wire::{AccountId, Command, Operation};

/// Entries that are not those of an index in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("entry {0} of the index is out of order")]
pub struct OrderError(pub u64);

/// The index, in memory.
#[derive(Debug)]
pub struct Index {
    trie: Trie,
    pages: Pages,
    accounts: u64,
    /// Height of the open block: the one that is applied, and not published.
    open: Option<u32>,
    images: Images,
}

impl Default for Index {
    fn default() -> Self {
        Self::for_accounts(0)
    }
}

impl Index {
    /// An index of no accounts.
    pub fn new() -> Self {
        Self::default()
    }

    fn for_accounts(accounts: u64) -> Self {
        let trie = Trie::new(0, accounts);
        Self { trie, pages: Pages::default(), accounts: 0, open: None, images: Images::default() }
    }

    /// The index of these entries, which must be in ascending order of path, then id; nothing is published yet. `accounts` is
    /// how many are to come.
    pub fn from_entries(accounts: u64, entries: impl IntoIterator<Item = IndexEntry>) -> Result<Self, OrderError> {
        let mut index = Self::for_accounts(accounts);
        let mut before = None;
        let (mut number, mut group) = (0, Vec::new());
        for entry in entries {
            let path = account_path(&AccountId(entry.account));
            if before.is_some_and(|before| before >= (path, entry.account)) {
                return Err(OrderError(index.accounts));
            }
            before = Some((path, entry.account));
            if index.trie.group_of(path) != number {
                index.trie.fill(&mut index.pages, &group);
                group.clear();
                number = index.trie.group_of(path);
            }
            group.push((path, entry));
            index.accounts += 1;
        }
        index.trie.fill(&mut index.pages, &group);
        Ok(index)
    }

    /// The number of accounts, those of an open block among them.
    pub fn accounts(&self) -> u64 {
        self.accounts
    }

    /// What the index holds of an account, after what is applied of an open block.
    pub fn get(&self, account: &AccountId) -> Option<IndexEntry> {
        Some(self.pages[self.trie.find(&self.pages, account_path(account), account)?])
    }

    /// What it holds as of the last publication.
    pub fn published(&self, account: &AccountId) -> Option<IndexEntry> {
        let entry = self.get(account)?;
        if self.is_as_published(&entry) {
            return Some(entry);
        }
        let path = account_path(account);
        let trie = self.trie.lowest(path);
        let mut images = self.images.of(&trie.cells()[trie.cell_of(path)]);
        images.find(|image| image.account == account.0).copied()
    }

    /// Whether the open block has not touched this entry.
    fn is_as_published(&self, entry: &IndexEntry) -> bool {
        self.open != Some(entry.height.get())
    }

    /// All entries, in ascending order of path, then id.
    pub fn entries(&self) -> impl Iterator<Item = &IndexEntry> {
        self.chunks().flatten()
    }

    /// All entries in their order, a few at a time.
    pub fn chunks(&self) -> impl Iterator<Item = &[IndexEntry]> {
        self.trie.chunks(&self.pages)
    }

    /// The sum of all balances.
    pub fn total(&self) -> u128 {
        self.entries().map(|entry| u128::from(entry.balance.get())).sum()
    }

    /// Makes room for what the operations of a block create and change. To be called before anything of the block is applied.
    pub fn prepare(&mut self, pending: &mut Pending, operations: &[Operation]) {
        self.forget_images();
        // Each changes two accounts at most, mostly less often than that for the first time.
        self.images.reserve(operations.len().min(self.accounts as usize));
        let is_create = |operation: &&Operation| operation.command() == Ok(Command::Create);
        let created: Vec<_> = operations.iter().filter(is_create).map(|operation| operation.source).collect();
        if !created.is_empty() {
            let mut paths = vec![0; created.len()];
            account_paths(&created, &mut paths);
            self.trie.prepare(&mut self.pages, pending, &paths);
        }
    }

    /// Lets readers see the hashes as they have become. All entries are as of them from now on.
    pub fn publish(&mut self, pending: &mut Pending) {
        pending.publish_to(&mut self.trie);
        self.forget_images();
    }

    fn forget_images(&mut self) {
        self.open = None;
        self.images.forget();
    }

    /// Gives back what memory is kept for the next block.
    pub fn release_memory(&mut self) {
        self.images.release_memory();
    }
}
