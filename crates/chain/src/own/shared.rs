//! What the block builder and readers of the own chain share.
use super::chain::Tip;
use super::error::{Damage, Error};
use super::record::Record;
use super::store::{Store, damaged};
use crate::index::{Index, IndexAnswer};
use crate::links::{Link, Links};
use spv::{BlockHeader, IndexEntry, Locator};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use wire::{AccountId, Command, Operation};

/// How often the builder offers its processor to readers that wait, before it goes on: they need to wake up, no more.
const OFFERS: usize = 100;

/// The store, and the state as of the tip.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) genesis: BlockHeader,
    state: RwLock<State>,
    /// The tip once more, for those who need no index.
    tip: RwLock<Tip>,
    /// Readers that wait for the state.
    waiting: AtomicUsize,
}

/// The index, and the block that it is published as of.
#[derive(Debug)]
pub(super) struct State {
    pub(super) index: Index,
    pub(super) tip: Tip,
}

impl Shared {
    pub(super) fn new(store: Store, genesis: BlockHeader, index: Index, tip: Tip) -> Self {
        Self {
            store,
            genesis,
            state: RwLock::new(State { index, tip }),
            tip: RwLock::new(tip),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        state
    }

    pub(super) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets readers in that wait: the lock would go to the builder again and again, which is awake when it is given free.
    pub(super) fn let_readers_in(&self) {
        for _ in 0..OFFERS {
            if self.waiting.load(Ordering::Relaxed) == 0 {
                return;
            }
            thread::yield_now();
        }
    }

    pub(super) fn tip(&self) -> Tip {
        *self.tip.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_tip(&self, tip: Tip) {
        *self.tip.write().unwrap_or_else(PoisonError::into_inner) = tip;
    }

    /// What the index holds of an account as of the tip.
    pub(super) fn account(&self, account: &AccountId) -> (Tip, Option<IndexEntry>) {
        let state = self.state();
        (state.tip, state.index.published(account))
    }

    /// The proof of that. The builder does not wait for the hashing.
    pub(super) fn prove(&self, account: &AccountId) -> (Tip, IndexAnswer) {
        let state = self.state();
        let (tip, leaf) = (state.tip, state.index.leaf(account));
        drop(state);
        (tip, leaf.prove())
    }

    /// A transaction of an account, and where the one before it is.
    pub(super) fn step(&self, account: &AccountId, at: Locator) -> Result<(Operation, Option<Locator>), Error> {
        let record = self.store.record(at.height.into())?;
        let step = |record: &Record| {
            if at.position >= record.transactions() {
                return Ok(None);
            }
            let operation = self.store.operation(record, at.position)?;
            let links = self.store.links(record, at.position)?;
            Ok::<_, Error>(before(&operation, links, account).map(|before| (operation, before)))
        };
        // Links lead back, so a walk ends.
        match step(&record)? {
            Some((operation, before)) if before.is_none_or(|before| before < at) => Ok((operation, before)),
            _ => Err(damaged(&record, Damage::Links)),
        }
    }
}

/// Where the account's transaction before this one is: nowhere where this one created it. None where the transaction is none of the
/// account's, or where only other than the creating one has nothing before it: whatever led here is not what was written.
fn before(operation: &Operation, links: Links, account: &AccountId) -> Option<Option<Locator>> {
    let is_source = operation.source == *account;
    let link: Link = match operation.command().ok()? {
        Command::Create if is_source => return (links.source == Link::NONE).then_some(None),
        Command::Create if operation.payer() == Some(*account) => links.destination,
        Command::Issue | Command::Transfer if is_source => links.source,
        Command::Transfer if operation.destination == *account => links.destination,
        _ => return None,
    };
    Some(Some(link.locator()?))
}
