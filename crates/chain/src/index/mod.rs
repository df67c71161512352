//! The index of our own chain: maps every account to its balance and its latest transaction, and every open hold to its
//! amount and its HOLD; one root commits to all of it. An account or a hold of another asset than 0 is marked, and an
//! entry of its own has the asset. Below, holds and assets are accounts as well.
//!
//! By definition it is a trie (`docs/protocol.md`). Paths are hashes, so the trie is practically full down to a depth
//! that follows from its size. In memory it consists of
//!
//! * **groups**: one per prefix of some length, each a sorted array of its accounts. The order determines where a leaf
//!   begins and ends in such an array, so leaves need no structure of their own;
//! * **cells**: prefixes a few bits longer, about the size of two leaves. A change of an account marks its cell, and
//!   cells are the lowest nodes whose hashes are kept. A cell with more accounts than a leaf may hold is a small
//!   subtree that is hashed as a whole;
//! * the hashes and account counts of all nodes from the cells up, as a heap: node i has the children 2i and 2i + 1.
//!
//! Paths are hashes under a public key, so anybody can search for ids whose paths share a prefix. If a cell gets more
//! accounts than chance explains, its group becomes a **crowd**: a trie with its own groups and cells, and, if more
//! bits are shared, with crowds in it. So no cell is large, whoever chose the ids. The cost of an account grows by one
//! step for every few shared bits, while each shared bit doubles the cost of the search.
//!
//! The hashes exist twice. [`Index`] has the entries, and the hashes as of the last publication; readers share it.
//! [`Pending`] has the next hashes and belongs to the block builder. A block that states the index root
//! [publishes](Index::publish) it; others only [commit](Index::commit) their changes. So entries are ahead of the
//! published hashes, and **images** keep their previous values. A reader replaces the few entries of its leaf by their
//! images ([`Index::leaf`]), the only step that needs the index, and then hashes without it ([`Leaf::prove`]).

mod apply;
mod assets;
mod group;
mod growth;
mod hashing;
mod images;
mod listing;
mod pages;
mod paths;
mod pending;
mod proof;
mod published;
#[cfg(test)]
mod tests;
mod touches;
mod trie;

pub use apply::{Effect, EffectError};
pub use paths::account_paths;
pub use pending::Pending;
pub use proof::{IndexAnswer, Leaf};
pub use touches::{Touch, Touches};

use assets::Issued;
use images::{Images, is_tombstone};
use pages::Pages;
use paths::account_path;
use spv::IndexEntry;
use thiserror::Error;
use trie::Trie;
use wire::{AccountId, Command, Operation};

/// Entries are not in the order of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("entry {0} of the index is out of order")]
pub struct OrderError(pub u64);

/// The id of the hold that an operation makes or ends.
pub fn hold_id(operation: &Operation) -> AccountId {
    let Operation { source, destination, transaction, contract, .. } = operation;
    AccountId(spv::hash::hold_id(&source.0, &destination.0, &transaction.0, contract.get()))
}

/// The id of the entry with the asset of an account or a hold.
pub fn asset_id(id: &AccountId) -> AccountId {
    AccountId(spv::hash::asset_id(&id.0))
}

/// The accounts, holds and assets that operations add, or may add. `with_assets`: whether there are other assets than
/// 0.
fn created(operations: &[Operation], with_assets: bool) -> impl Iterator<Item = AccountId> {
    operations.iter().filter_map(created_account).flat_map(move |id| {
        let asset = with_assets.then(|| asset_id(&id));
        std::iter::once(id).chain(asset)
    })
}

/// The account or hold that an operation adds, or may add.
fn created_account(operation: &Operation) -> Option<AccountId> {
    match operation.command().ok()? {
        Command::Create | Command::Open => Some(operation.source),
        Command::Hold => Some(hold_id(operation)),
        // The amount that returns to a payer opens its account again if that was closed.
        Command::Capture | Command::Release | Command::Reclaim => Some(operation.source),
        Command::Issue | Command::Transfer | Command::Refer => None,
        Command::Freeze | Command::Unfreeze | Command::Close => None,
    }
}

/// The last entries of holds that were open after a block and have ended since, of accounts that were closed since, and
/// of assets that were removed since. A block that is reverted may leave some that were not.
#[derive(Debug)]
struct Removed {
    /// Height of the block.
    since: u32,
    entries: Vec<IndexEntry>,
}

/// The index, in memory.
#[derive(Debug)]
pub struct Index {
    trie: Trie,
    pages: Pages,
    accounts: u64,
    /// How many of them are assets.
    assets: u64,
    issued: Issued,
    /// Height of the open block: applied, but not committed.
    open: Option<u32>,
    images: Images,
    /// Whether some entries are ahead of the blocks that are applied.
    is_catching_up: bool,
    /// Whether operations are refused that move an amount between assets.
    checks_assets: bool,
    /// Those of the snapshot being written, if any.
    removed: Option<Removed>,
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
        Self {
            trie,
            pages: Pages::default(),
            accounts: 0,
            assets: 0,
            issued: Issued::default(),
            open: None,
            images: Images::new(0),
            is_catching_up: false,
            checks_assets: false,
            removed: None,
        }
    }

    /// The index after the block at `height`, of these entries, which must be in ascending order of path, then id; no
    /// hashes are published yet. `accounts` is their number.
    pub fn from_entries(
        height: u32,
        accounts: u64,
        entries: impl IntoIterator<Item = IndexEntry>,
    ) -> Result<Self, OrderError> {
        let mut index = Self::filled(height, accounts, entries)?;
        index.count_issued();
        Ok(index)
    }

    /// The same without the issued amounts.
    fn filled(height: u32, accounts: u64, entries: impl IntoIterator<Item = IndexEntry>) -> Result<Self, OrderError> {
        let mut index = Self { images: Images::new(height), ..Self::for_accounts(accounts) };
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
            index.assets += u64::from(entry.asset().is_some());
        }
        index.trie.fill(&mut index.pages, &group);
        Ok(index)
    }

    /// The same of the entries of a snapshot that was written after the block at `begun`, while blocks up to `height`
    /// were added: [`begin_catching_up`](Self::begin_catching_up) must follow. Holds and assets never change, so they
    /// are as of `begun`, and the transactions after it add theirs again. Its end counts
    /// the issued amounts.
    pub fn from_snapshot(
        height: u32,
        begun: u32,
        accounts: u64,
        entries: impl IntoIterator<Item = IndexEntry>,
    ) -> Result<Self, OrderError> {
        let is_older = |entry: &IndexEntry| entry.is_account() || entry.height.get() <= begun;
        Self::filled(height, accounts, entries.into_iter().filter(is_older))
    }

    /// Number of accounts, holds and assets, including those of an open block.
    pub fn accounts(&self) -> u64 {
        self.accounts
    }

    /// Number of entries with an asset, including those of an open block.
    pub fn assets(&self) -> u64 {
        self.assets
    }

    /// Whether these operations may change accounts or holds of other assets than 0.
    fn has_assets(&self, operations: &[Operation]) -> bool {
        self.assets > 0 || operations.iter().any(|operation| operation.command() == Ok(Command::Open))
    }

    /// The entry of an account, after what is applied of an open block.
    pub fn get(&self, account: &AccountId) -> Option<IndexEntry> {
        Some(self.pages[self.trie.find(&self.pages, account_path(account), account)?])
    }

    /// The entry of an account as of the last committed block.
    pub fn committed(&self, account: &AccountId) -> Option<IndexEntry> {
        self.as_of(self.images.committed, account)
    }

    /// The entry of an account as of the last publication.
    pub fn published(&self, account: &AccountId) -> Option<IndexEntry> {
        self.as_of(self.images.published, account)
    }

    /// The entry of an account as of a visible state.
    fn as_of(&self, height: u32, account: &AccountId) -> Option<IndexEntry> {
        let entry = self.get(account);
        if entry.is_some_and(|entry| entry.height.get() <= height) {
            return entry;
        }
        let path = account_path(account);
        let trie = self.trie.lowest(path);
        let mut images = self.images.of_cell(&trie.cells()[trie.cell_of(path)]);
        let image = images.find(|image| image.account == account.0 && image.height.get() <= height);
        image.filter(|image| !is_tombstone(image)).copied()
    }

    /// All entries, in ascending order of path, then id.
    pub fn entries(&self) -> impl Iterator<Item = &IndexEntry> {
        self.chunks().flatten()
    }

    /// All entries in order, a few at a time.
    pub fn chunks(&self) -> impl Iterator<Item = &[IndexEntry]> {
        self.trie.chunks(&self.pages)
    }

    /// The entries after that of an account, in order, a few at a time. The account need not exist.
    pub fn chunks_after(&self, account: Option<&AccountId>) -> impl Iterator<Item = &[IndexEntry]> {
        let after = account.map(|account| (account_path(account), account.0));
        let key = |entry: &IndexEntry| (account_path(&AccountId(entry.account)), entry.account);
        let mut is_past = after.is_none();
        let first = after.map_or(0, |(path, _)| self.trie.group_of(path));
        self.trie.chunks_from(&self.pages, first).map(move |entries| {
            if is_past {
                return entries;
            }
            let is_before = |entry: &IndexEntry| Some(key(entry)) <= after;
            // Hashes one path of most pages that come before.
            if entries.last().is_none_or(is_before) {
                return &[];
            }
            is_past = true;
            &entries[entries.partition_point(is_before)..]
        })
    }

    /// From now on, a transaction that an entry includes already is not applied again, whether it is before the entry's
    /// latest one or is that one: the entries are from a snapshot that was written while blocks were added.
    ///
    /// `removed` are the entries that were removed after the snapshot began, in that order, and perhaps before they
    /// were written: the transactions of those accounts and the ends of those holds need them.
    pub fn begin_catching_up(&mut self, pending: &mut Pending, removed: &[IndexEntry]) {
        self.is_catching_up = true;
        for entry in removed {
            let path = account_path(&AccountId(entry.account));
            if self.trie.find(&self.pages, path, &AccountId(entry.account)).is_none() {
                self.trie.prepare(&mut self.pages, pending, &mut self.images, &[path]);
                self.insert(pending, path, *entry);
            }
        }
    }

    /// From now on, keeps the entries that are removed: for a snapshot that begins after the block at a height.
    pub fn keep_removed(&mut self, height: u32) {
        self.removed = Some(Removed { since: height, entries: Vec::new() });
    }

    /// Returns these entries, and keeps no more.
    pub fn take_removed(&mut self) -> Vec<IndexEntry> {
        self.removed.take().map_or(Vec::new(), |removed| removed.entries)
    }

    /// Ends it: all entries are as of the same block.
    pub fn end_catching_up(&mut self) {
        if std::mem::take(&mut self.is_catching_up) {
            self.count_issued();
        }
    }

    /// From now on, refuses operations that move an amount between assets. A ledger executes none, and looking for them
    /// costs two hashes per transfer.
    pub fn check_assets(&mut self) {
        self.checks_assets = true;
    }

    /// The sum of all balances and holds, of all assets.
    pub fn total(&self) -> u128 {
        let of_money = self.entries().filter(|entry| entry.is_account() || entry.is_hold());
        of_money.map(|entry| u128::from(entry.balance.get())).sum()
    }

    /// Makes room for what the operations of a block create and change. Call it before applying any of the block.
    pub fn prepare(&mut self, pending: &mut Pending, operations: &[Operation]) {
        self.commit();
        // Each changes two or three entries, usually fewer for the first time.
        self.images.reserve(operations.len().min(self.accounts as usize));
        let created: Vec<_> = created(operations, self.has_assets(operations)).collect();
        if !created.is_empty() {
            let mut paths = vec![0; created.len()];
            account_paths(&created, &mut paths);
            self.trie.prepare(&mut self.pages, pending, &mut self.images, &paths);
        }
    }

    /// Makes the entries of the open block, if any, visible to readers. Proofs are still as of the last publication.
    pub fn commit(&mut self) {
        if let Some(height) = self.open.take() {
            self.images.commit(height);
            self.issued.commit();
        }
    }

    /// Makes the entries of the open block, if any, and the new hashes visible to readers. Both are now as of the same
    /// block.
    pub fn publish(&mut self, pending: &mut Pending) {
        self.commit();
        pending.publish_to(&mut self.trie);
        self.images.publish();
    }

    /// Releases the memory kept for the next block.
    pub fn release_memory(&mut self) {
        self.images.release_memory();
    }
}
