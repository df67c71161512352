//! Applies the transactions of a block to the index, and reverts them.
use super::account_path;
use super::group::fingerprint;
use super::images::is_tombstone;
use super::pages::At;
use super::touches::{Role, Touch, Touches};
use super::{Index, Pending, created};
use crate::links::{Link, Links};
use spv::{ASSET_BIT, ASSET_ENTRY, FROZEN_BIT, HOLD_BIT, IndexEntry, Locator};
use table::prefetch;
use thiserror::Error;
use wire::{AccountId, Operation};

/// Touches looked up together: enough concurrent loads to hide memory latency, and few enough for the loaded lines to
/// stay in the first-level cache.
const BATCH: usize = 64;

/// An impossible effect of an operation in a block. The ledger has accepted the operation, so the program or its data
/// is faulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Creates an account that exists.
    AccountExists,
    /// Touches an account that does not exist.
    AccountUnknown,
    /// Takes more from an account than its balance.
    Underflow,
    /// Adds more to an account than fits in 64 bits.
    Overflow,
    /// Ends a hold that is not open.
    HoldUnknown,
    /// Takes an amount from a frozen account, closes it, or freezes it again.
    Frozen,
    /// Ends the freeze of an account that is not frozen.
    NotFrozen,
    /// Closes an account that has a balance.
    NotEmpty,
    /// Moves an amount between assets, or gives an account another asset than it has.
    AssetMismatch,
    /// Is a REFER or an unknown command, or has the same account twice.
    NotATransaction,
}

/// An operation that cannot be in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "transaction {position} of block {height} contradicts the chain before it ({effect:?}); the journal or the chain is damaged"
)]
pub struct EffectError {
    /// Height of the block.
    pub height: u32,
    /// Position in the block.
    pub position: u32,
    /// The effect.
    pub effect: Effect,
}

/// Location of an account's entry, now or recently, unless its group is a crowd.
#[derive(Clone, Copy, Default)]
struct EntryLocation {
    path: u64,
    group: usize,
    place: usize,
}

impl Index {
    /// Applies operations of a block in order, the first of which is at `first`, and writes the previous transactions
    /// of their accounts to `links`. After an error some of them are applied; [`Index::undo`] reverts them.
    ///
    /// # Panics
    ///
    /// If the numbers of operations and links differ.
    pub fn apply(
        &mut self,
        pending: &mut Pending,
        first: Locator,
        operations: &[Operation],
        links: &mut [Links],
    ) -> Result<(), EffectError> {
        assert_eq!(operations.len(), links.len(), "links for each operation");
        let mut touches = Touches::default();
        let Locator { height, mut position } = first;
        for (operations, links) in operations.chunks(Touches::MOST).zip(links.chunks_mut(Touches::MOST)) {
            let first = Locator { height, position };
            touches.renew(self, first, operations)?;
            links.fill(Links::NONE);
            self.issue(&touches);
            self.apply_touches(pending, first, touches.as_slice(), links)?;
            position += operations.len() as u32;
        }
        Ok(())
    }

    /// Applies some of the [`Touches`] of operations, in order; the others must follow before anything else. `first` is
    /// the position of the first operation. All links must be empty before the first call.
    ///
    /// # Panics
    ///
    /// If there is no link for an operation.
    pub fn apply_touches(
        &mut self,
        pending: &mut Pending,
        first: Locator,
        touches: &[Touch],
        links: &mut [Links],
    ) -> Result<(), EffectError> {
        let Locator { height, position } = first;
        self.open = Some(height);
        for (now, later) in touches.chunks(BATCH).zip(touches.chunks(BATCH).skip(1).chain([&[][..]])) {
            later.iter().for_each(|touch| prefetch(&links[touch.number as usize]));
            for (touch, location) in now.iter().zip(&self.look_up(now)) {
                let latest = Locator { height, position: position + touch.number };
                let link = self.apply_touch(pending, touch, latest, location).map_err(|effect| EffectError {
                    height,
                    position: latest.position,
                    effect,
                })?;
                let Some(link) = link else { continue };
                let links = &mut links[touch.number as usize];
                *if touch.role.is_destination() { &mut links.destination } else { &mut links.source } = link;
            }
        }
        Ok(())
    }

    /// Predicts where the entries of the touched accounts are, and starts to load them.
    fn look_up(&self, touches: &[Touch]) -> [EntryLocation; BATCH] {
        let (groups, depth) = (self.trie.groups(), self.trie.depth());
        let mut locations = [EntryLocation::default(); BATCH];
        let used = &mut locations[..touches.len()];
        for (location, touch) in used.iter_mut().zip(touches) {
            *location = EntryLocation { path: touch.path, group: self.trie.group_of(touch.path), place: 0 };
            prefetch(&groups[location.group]);
        }
        for location in &*used {
            groups[location.group].prefetch_window(fingerprint(location.path, depth));
        }
        for location in used {
            let group = &groups[location.group];
            location.place = group.place(fingerprint(location.path, depth));
            group.prefetch_entry(&self.pages, location.place);
        }
        locations
    }

    /// Applies a touch. Returns the account's previous transaction; nothing for a hold, which has one only.
    #[inline]
    fn apply_touch(
        &mut self,
        pending: &mut Pending,
        touch: &Touch,
        latest: Locator,
        location: &EntryLocation,
    ) -> Result<Option<Link>, Effect> {
        let found = self.settle(location, &touch.account);
        if self.is_catching_up && found.is_some_and(|at| self.pages[at].latest() >= latest) {
            return Ok(None);
        }
        if matches!(touch.role, Role::AssetAdded | Role::AssetRemoved) {
            return self.apply_asset(pending, touch, latest, location.path, found).map(|()| None);
        }
        if matches!(touch.role, Role::Created | Role::Held) {
            if found.is_some() {
                return Err(Effect::AccountExists);
            }
            self.create(pending, location.path, touch, latest);
            return Ok((touch.role == Role::Created).then_some(Link::NONE));
        }
        let is_paid = touch.amount > 0 || !matches!(touch.role, Role::Returned | Role::Receiver);
        // One who gets nothing may have closed its account, and its id may be that of an asset since.
        let found = found.filter(|at| is_paid || self.pages[*at].is_account());
        let at = match found {
            Some(at) => at,
            // The payer of a hold that ends has closed its account, and gets an amount back.
            None if touch.role == Role::Returned && touch.amount > 0 => {
                self.create(pending, location.path, touch, latest);
                return Ok(None);
            }
            None if !is_paid => return Ok(None),
            None => return Err(Effect::AccountUnknown),
        };
        let entry = self.pages[at];
        if !(if touch.role == Role::Ended { entry.is_hold() } else { entry.is_account() }) {
            return Err(if touch.role == Role::Ended { Effect::HoldUnknown } else { Effect::AccountUnknown });
        }
        let (balance, is_frozen) = (entry.balance.get(), entry.is_frozen());
        let (balance, is_frozen) = match touch.role {
            Role::Ended => {
                self.remove(pending, location.path, &entry, latest.height);
                return Ok(None);
            }
            Role::Sender | Role::Payer | Role::Frozen | Role::Closed if is_frozen => return Err(Effect::Frozen),
            Role::Closed if balance > 0 => return Err(Effect::NotEmpty),
            Role::Closed => {
                self.remove(pending, location.path, &entry, latest.height);
                return Ok(Some(entry.latest().into()));
            }
            Role::Unfrozen if !is_frozen => return Err(Effect::NotFrozen),
            Role::Frozen => (balance, true),
            Role::Unfrozen => (balance, false),
            Role::Sender | Role::Payer => (balance.checked_sub(touch.amount).ok_or(Effect::Underflow)?, false),
            Role::Issued | Role::Receiver | Role::Returned => {
                (balance.checked_add(touch.amount).ok_or(Effect::Overflow)?, is_frozen)
            }
            Role::Created | Role::Held | Role::AssetAdded | Role::AssetRemoved => {
                unreachable!("they are handled above")
            }
        };
        let mark = (entry.position.get() & ASSET_BIT) | if is_frozen { FROZEN_BIT } else { 0 };
        Ok(Some(self.update(pending, location.path, at, balance, latest, mark)))
    }

    /// Adds or removes the asset of an account or a hold. A hold that returns an amount adds the asset of its payer,
    /// which is there unless the account was closed.
    #[cold]
    fn apply_asset(
        &mut self,
        pending: &mut Pending,
        touch: &Touch,
        latest: Locator,
        path: u64,
        found: Option<At>,
    ) -> Result<(), Effect> {
        let entry = found.map(|at| self.pages[at]);
        match (touch.role, entry) {
            (Role::AssetAdded, None) => {
                self.create(pending, path, touch, latest);
                Ok(())
            }
            (Role::AssetAdded, Some(entry)) if entry.asset().map(u64::from) == Some(touch.amount) => Ok(()),
            (Role::AssetRemoved, Some(entry)) if entry.asset().is_some() => {
                self.remove(pending, path, &entry, latest.height);
                Ok(())
            }
            _ => Err(Effect::AssetMismatch),
        }
    }

    /// Finds the entry. It is not at its predicted place if something was inserted meanwhile, if another account has
    /// the same fingerprint, or in a crowd.
    #[inline]
    fn settle(&self, location: &EntryLocation, account: &AccountId) -> Option<At> {
        let group = &self.trie.groups()[location.group];
        if group.holds(&self.pages, location.place, account) {
            return Some(group.at(location.place));
        }
        self.trie.find(&self.pages, location.path, account)
    }

    /// Changes an account's entry, and returns its previous latest transaction. `mark` are the marks of its position.
    #[inline]
    fn update(&mut self, pending: &mut Pending, path: u64, at: At, balance: u64, latest: Locator, mark: u32) -> Link {
        let entry = &mut self.pages[at];
        let before = entry.latest();
        let cell = self.trie.touch(pending, path);
        if before.height != latest.height {
            self.images.add(cell, *entry);
        }
        entry.balance = balance.into();
        entry.height = latest.height.into();
        entry.position = (latest.position | mark).into();
        before.into()
    }

    fn create(&mut self, pending: &mut Pending, path: u64, touch: &Touch, latest: Locator) {
        let (balance, mark) = match touch.role {
            Role::Held => (touch.amount, HOLD_BIT),
            Role::AssetAdded => (touch.amount, ASSET_ENTRY),
            Role::Returned => (touch.amount, 0),
            // The amount of a CREATE is the payer's deposit.
            _ => (0, 0),
        };
        let mark = mark | if touch.has_asset { ASSET_BIT } else { 0 };
        let entry = IndexEntry {
            account: touch.account.0,
            balance: balance.into(),
            height: latest.height.into(),
            position: (latest.position | mark).into(),
        };
        self.insert(pending, path, entry);
    }

    /// Inserts an entry, for which there is room.
    pub(super) fn insert(&mut self, pending: &mut Pending, path: u64, entry: IndexEntry) {
        self.trie.insert(&mut self.pages, pending, path, entry);
        self.accounts += 1;
        self.assets += u64::from(entry.asset().is_some());
    }

    /// Removes the entry of a hold that the block at this height ends, of an account that it closes, or of an asset.
    fn remove(&mut self, pending: &mut Pending, path: u64, entry: &IndexEntry, height: u32) {
        let cell = self.trie.touch(pending, path);
        let is_of_earlier_block = entry.height.get() != height;
        if is_of_earlier_block {
            self.images.add(cell, *entry);
        }
        // A hold or an asset that this block has added is in no earlier state. An account that it has changed may be.
        if is_of_earlier_block || entry.is_account() {
            self.images.add_tombstone(cell, entry.account, height);
        }
        // A hold or an asset that was added after the snapshot began is added again. An account may be older than its
        // latest transaction; if it is not, its CREATE is before that and is not applied again.
        if let Some(removed) = &mut self.removed
            && (entry.height.get() <= removed.since || entry.is_account())
        {
            removed.entries.push(*entry);
        }
        self.delete(pending, path, entry);
    }

    /// Deletes an entry.
    fn delete(&mut self, pending: &mut Pending, path: u64, entry: &IndexEntry) {
        self.trie.remove(&mut self.pages, pending, path, &AccountId(entry.account));
        self.accounts -= 1;
        self.assets -= u64::from(entry.asset().is_some());
    }

    /// Reverts everything that was applied of these operations of the open block.
    pub fn undo(&mut self, pending: &mut Pending, operations: &[Operation]) {
        self.issued.undo();
        let Some(height) = self.open.take() else { return };
        while let Some((before, image)) = self.images.pop_open() {
            let account = AccountId(before.account);
            let path = account_path(&account);
            self.trie.touch(pending, path).image = image;
            if is_tombstone(&before) {
                continue;
            }
            match self.trie.find(&self.pages, path, &account) {
                Some(at) => {
                    let is_asset = |entry: &IndexEntry| u64::from(entry.asset().is_some());
                    self.assets = self.assets - is_asset(&self.pages[at]) + is_asset(&before);
                    self.pages[at] = before;
                }
                None => self.insert(pending, path, before),
            }
        }
        // All touched entries are restored, so an entry that still names this block was created by it.
        for account in created(operations, self.has_assets(operations)) {
            let path = account_path(&account);
            let found = self.trie.find(&self.pages, path, &account).map(|at| self.pages[at]);
            if let Some(entry) = found.filter(|entry| entry.height.get() == height) {
                self.delete(pending, path, &entry);
            }
        }
    }
}
