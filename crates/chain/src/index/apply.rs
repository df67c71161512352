//! Applying the transactions of a block to the index, and taking them back.
use super::group::fingerprint;
use super::touches::{Role, Touch, Touches};
use super::{Index, Pending};
use crate::links::{Link, Links};
use spv::{IndexEntry, Locator};
use table::prefetch;
use thiserror::Error;
use wire::{AccountId, Command, Operation};

/// Touches that are looked up together: enough loads under way to hide what memory takes to answer, and few enough for all
/// that they bring to stay in the first-level cache.
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
    /// Applies operations of a block, in order, the first of which is at `first`; and writes where their accounts' transactions
    /// before them are. After an error some of them are applied; [`Index::undo`] takes them back.
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
        let mut touches = Touches::default();
        let Locator { height, mut position } = first;
        for (operations, links) in operations.chunks(Touches::MOST).zip(links.chunks_mut(Touches::MOST)) {
            let first = Locator { height, position };
            touches.renew(self, first, operations)?;
            links.fill(Links::NONE);
            self.apply_touches(pending, first, touches.as_slice(), links)?;
            position += operations.len() as u32;
        }
        Ok(())
    }

    /// Applies some of the [`Touches`] of operations, in their order; the others have to follow before anything else. `first` is the
    /// place of the first of the operations. The links of all of them are none before the first call.
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
        for (now, later) in touches.chunks(BATCH).zip(touches.chunks(BATCH).skip(1).chain([&[][..]])) {
            later.iter().for_each(|touch| prefetch(&links[touch.number as usize]));
            for (touch, place) in now.iter().zip(&self.look_up(now)) {
                let latest = Locator { height, position: position + touch.number };
                let link = self.apply_touch(pending, touch, latest, place).map_err(|effect| EffectError {
                    height,
                    position: latest.position,
                    effect,
                })?;
                let links = &mut links[touch.number as usize];
                *if touch.role == Role::Receiver { &mut links.destination } else { &mut links.source } = link;
            }
        }
        Ok(())
    }

    /// Where the entries of the touched accounts are, having started to load them.
    fn look_up(&self, touches: &[Touch]) -> [Place; BATCH] {
        let mut places = [Place::default(); BATCH];
        let places_used = &mut places[..touches.len()];
        for (place, touch) in places_used.iter_mut().zip(touches) {
            *place = Place { path: touch.path, group: self.group_of(touch.path), place: 0 };
            prefetch(&self.groups[place.group]);
        }
        for place in &*places_used {
            self.groups[place.group].prefetch_window(fingerprint(place.path, self.group_depth));
        }
        for place in places_used {
            let group = &self.groups[place.group];
            place.place = group.place(fingerprint(place.path, self.group_depth));
            group.prefetch_entry(&self.pages, place.place);
        }
        places
    }

    /// Gives where the account's transaction before is.
    #[inline]
    fn apply_touch(
        &mut self,
        pending: &mut Pending,
        touch: &Touch,
        latest: Locator,
        place: &Place,
    ) -> Result<Link, Effect> {
        let found = self.settle(place, &touch.account);
        if touch.role == Role::Created {
            if found.is_some() {
                return Err(Effect::AccountExists);
            }
            self.create(pending, place, &touch.account, latest);
            return Ok(Link::NONE);
        }
        let place = found.ok_or(Effect::AccountUnknown)?;
        let balance = self.groups[place.group].entry(&self.pages, place.place).balance.get();
        let balance = match touch.role {
            Role::Sender => balance.checked_sub(touch.amount).ok_or(Effect::Underflow)?,
            _ => balance.checked_add(touch.amount).ok_or(Effect::Overflow)?,
        };
        Ok(self.update(pending, &place, balance, latest))
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

    /// Takes back whatever [`Index::apply`] has applied of these operations of the block at `height`, as long as nothing was applied
    /// since.
    pub fn undo(&mut self, pending: &mut Pending, height: u32, operations: &[Operation], links: &[Links]) {
        for (position, (operation, links)) in operations.iter().zip(links).enumerate().rev() {
            let latest = Locator { height, position: position as u32 };
            let amount = operation.amount.get();
            match operation.command() {
                Ok(Command::Create) => self.forget(pending, &operation.source, latest),
                Ok(Command::Issue) => {
                    self.revert(pending, &operation.source, latest, links.source, |balance| {
                        balance.wrapping_sub(amount)
                    });
                }
                Ok(Command::Transfer) => {
                    self.revert(pending, &operation.source, latest, links.source, |balance| {
                        balance.wrapping_add(amount)
                    });
                    self.revert(pending, &operation.destination, latest, links.destination, |balance| {
                        balance.wrapping_sub(amount)
                    });
                }
                _ => {}
            }
        }
    }

    /// The account's place, if what it was touched by last is that transaction.
    fn touched_by(&self, account: &AccountId, latest: Locator) -> Option<Place> {
        let path = super::account_path(account);
        let group = self.group_of(path);
        let place = self.groups[group].find(&self.pages, fingerprint(path, self.group_depth), account)?;
        let is_touched = self.groups[group].entry(&self.pages, place).latest() == latest;
        is_touched.then_some(Place { path, group, place })
    }

    fn revert(
        &mut self,
        pending: &mut Pending,
        account: &AccountId,
        latest: Locator,
        before: Link,
        balance: impl Fn(u64) -> u64,
    ) {
        if let (Some(place), Some(before)) = (self.touched_by(account, latest), before.locator()) {
            let entry = self.groups[place.group].entry(&self.pages, place.place);
            let balance = balance(entry.balance.get());
            self.update(pending, &place, balance, before);
        }
    }

    fn forget(&mut self, pending: &mut Pending, account: &AccountId, latest: Locator) {
        if let Some(place) = self.touched_by(account, latest) {
            self.groups[place.group].remove(&mut self.pages, place.place);
            pending.mark(self.cell_of(place.path));
            self.accounts -= 1;
        }
    }
}
