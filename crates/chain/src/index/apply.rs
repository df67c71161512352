//! Applying the operations of a block to the index, and taking them back.
use super::group::fingerprint;
use super::paths::account_paths;
use super::{Index, Pending};
use crate::links::{Link, Links};
use spv::{IndexEntry, Locator};
use table::prefetch;
use thiserror::Error;
use wire::{AccountId, Command, Operation};

/// Operations whose accounts are looked up together: enough loads under way to hide what memory takes to answer, and few
/// enough for all that they bring to stay in the first-level cache.
const BATCH: usize = 64;

/// What an operation in a block must not do. The ledger has accepted it, so this is a fault of the program or of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Creates an account that exists.
    AccountExists,
    /// Touches an account that does not exist.
    AccountUnknown,
    /// Takes more from an account than it holds.
    Underflow,
    /// Gives more to an account than fits in 64 bits.
    Overflow,
    /// Is none of CREATE, ISSUE and TRANSFER, or a transfer to itself.
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
    /// What it would do.
    pub effect: Effect,
}

/// Where an account's entry is, or was a moment ago.
#[derive(Clone, Copy, Default)]
struct Place {
    path: u64,
    group: usize,
    place: usize,
}

impl Index {
    /// Applies operations of the block at `height`, in order, the first of which has the given position; and writes where their
    /// accounts' transactions before them are. After an error the operations before the one it names are applied;
    /// [`Index::undo`] takes them back.
    ///
    /// # Panics
    ///
    /// If there are not as many links as operations.
    pub fn apply(
        &mut self,
        pending: &mut Pending,
        first: Locator,
        operations: &[Operation],
        links: &mut [Links],
    ) -> Result<(), EffectError> {
        assert_eq!(operations.len(), links.len(), "links for each operation");
        let Locator { height, mut position } = first;
        for (number, links) in links.chunks_mut(BATCH).enumerate() {
            let (now, later) = operations[number * BATCH..].split_at(links.len());
            // A batch is a page, at whose end the processor stops to look ahead.
            later.iter().take(BATCH).for_each(prefetch);
            let places = self.look_up(now);
            for ((operation, links), [source, destination]) in now.iter().zip(links).zip(&places) {
                let latest = Locator { height, position };
                *links = self
                    .apply_one(pending, operation, latest, source, destination)
                    .map_err(|effect| EffectError { height, position, effect })?;
                position += 1;
            }
        }
        Ok(())
    }

    /// Where the entries of the operations' accounts are, having started to load them.
    fn look_up(&self, operations: &[Operation]) -> [[Place; 2]; BATCH] {
        let mut accounts = [[AccountId::ZERO; 2]; BATCH];
        for (accounts, operation) in accounts.iter_mut().zip(operations) {
            *accounts = [operation.source, operation.destination];
        }
        let mut paths = [[0; 2]; BATCH];
        let used = operations.len();
        account_paths(accounts[..used].as_flattened(), paths[..used].as_flattened_mut());
        let mut places = [[Place::default(); 2]; BATCH];
        let flat = places[..used].as_flattened_mut();
        for (place, path) in flat.iter_mut().zip(paths.as_flattened()) {
            *place = Place { path: *path, group: self.group_of(*path), place: 0 };
            prefetch(&self.groups[place.group]);
        }
        for place in &*flat {
            self.groups[place.group].prefetch_window(fingerprint(place.path, self.group_depth));
        }
        for place in flat {
            let group = &self.groups[place.group];
            place.place = group.place(fingerprint(place.path, self.group_depth));
            group.prefetch_entry(&self.pages, place.place);
        }
        places
    }

    #[inline]
    fn apply_one(
        &mut self,
        pending: &mut Pending,
        operation: &Operation,
        latest: Locator,
        source: &Place,
        destination: &Place,
    ) -> Result<Links, Effect> {
        let amount = operation.amount.get();
        match operation.command() {
            Ok(Command::Transfer) if operation.source != operation.destination => {
                let from = self.settle(source, &operation.source).ok_or(Effect::AccountUnknown)?;
                let to = self.settle(destination, &operation.destination).ok_or(Effect::AccountUnknown)?;
                let from_balance = self.balance(&from).checked_sub(amount).ok_or(Effect::Underflow)?;
                let to_balance = self.balance(&to).checked_add(amount).ok_or(Effect::Overflow)?;
                let source = self.update(pending, &from, from_balance, latest);
                Ok(Links { source, destination: self.update(pending, &to, to_balance, latest) })
            }
            Ok(Command::Issue) => {
                let to = self.settle(source, &operation.source).ok_or(Effect::AccountUnknown)?;
                let balance = self.balance(&to).checked_add(amount).ok_or(Effect::Overflow)?;
                Ok(Links { source: self.update(pending, &to, balance, latest), destination: Link::NONE })
            }
            Ok(Command::Create) => {
                if self.settle(source, &operation.source).is_some() {
                    return Err(Effect::AccountExists);
                }
                self.create(pending, source, &operation.source, latest);
                Ok(Links::NONE)
            }
            _ => Err(Effect::NotATransaction),
        }
    }

    /// The place again, if an insertion in the meantime or another account of the same fingerprint made it another one.
    #[inline]
    fn settle(&self, place: &Place, account: &AccountId) -> Option<Place> {
        let group = &self.groups[place.group];
        if group.holds(&self.pages, place.place, account) {
            return Some(*place);
        }
        let found = group.find(&self.pages, fingerprint(place.path, self.group_depth), account)?;
        Some(Place { place: found, ..*place })
    }

    #[inline]
    fn balance(&self, place: &Place) -> u64 {
        self.groups[place.group].entry(&self.pages, place.place).balance.get()
    }

    /// Changes an entry, and returns what it had as its latest transaction.
    #[inline]
    fn update(&mut self, pending: &mut Pending, place: &Place, balance: u64, latest: Locator) -> Link {
        let entry = self.groups[place.group].entry_mut(&mut self.pages, place.place);
        let before = entry.latest();
        entry.balance = balance.into();
        entry.height = latest.height.into();
        entry.position = latest.position.into();
        pending.mark(self.cell_of(place.path));
        before.into()
    }

    fn create(&mut self, pending: &mut Pending, place: &Place, account: &AccountId, latest: Locator) {
        let entry = IndexEntry {
            account: account.0,
            balance: 0.into(),
            height: latest.height.into(),
            position: latest.position.into(),
        };
        let fingerprint = fingerprint(place.path, self.group_depth);
        self.groups[place.group].insert(&mut self.pages, place.path, fingerprint, entry);
        pending.mark(self.cell_of(place.path));
        self.accounts += 1;
    }

    /// Takes back operations that [`Index::apply`] applied with these links, as long as nothing was applied since.
    pub fn undo(&mut self, pending: &mut Pending, operations: &[Operation], links: &[Links]) {
        for (operation, links) in operations.iter().zip(links).rev() {
            let amount = operation.amount.get();
            match (operation.command(), links.source.locator(), links.destination.locator()) {
                (Ok(Command::Create), ..) => self.forget(pending, &operation.source),
                (Ok(Command::Issue), Some(before), _) => {
                    self.revert(pending, &operation.source, before, |balance| balance.wrapping_sub(amount));
                }
                (Ok(Command::Transfer), Some(source), Some(destination)) => {
                    self.revert(pending, &operation.source, source, |balance| balance.wrapping_add(amount));
                    self.revert(pending, &operation.destination, destination, |balance| balance.wrapping_sub(amount));
                }
                _ => {}
            }
        }
    }

    fn find(&self, account: &AccountId) -> Option<Place> {
        let path = super::account_path(account);
        let group = self.group_of(path);
        let place = self.groups[group].find(&self.pages, fingerprint(path, self.group_depth), account)?;
        Some(Place { path, group, place })
    }

    fn revert(&mut self, pending: &mut Pending, account: &AccountId, before: Locator, balance: impl Fn(u64) -> u64) {
        if let Some(place) = self.find(account) {
            let balance = balance(self.balance(&place));
            self.update(pending, &place, balance, before);
        }
    }

    fn forget(&mut self, pending: &mut Pending, account: &AccountId) {
        if let Some(place) = self.find(account) {
            self.groups[place.group].remove(&mut self.pages, place.place);
            pending.mark(self.cell_of(place.path));
            self.accounts -= 1;
        }
    }
}
