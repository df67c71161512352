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

/// The index, and the block that it is as of.
#[derive(Debug)]
pub(super) struct State {
    pub(super) index: Index,
    pub(super) tip: Tip,
    /// The next block, while it is applied to the index: it is not in the chain before its commit, so readers take back what
    /// it did.
    pub(super) open: Option<Open>,
}

/// A block that is being applied.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) height: u32,
    /// Where its operations are in the blocks file.
    pub(super) offset: u64,
    /// The links of what is applied so far, and room for the others.
    pub(super) links: Vec<Links>,
}

impl Shared {
    pub(super) fn new(store: Store, genesis: BlockHeader, index: Index, tip: Tip) -> Self {
        Self {
            store,
            genesis,
            state: RwLock::new(State { index, tip, open: None }),
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
    pub(super) fn account(&self, account: &AccountId) -> Result<(Tip, Option<IndexEntry>), Error> {
        let state = self.state();
        let entry = match state.index.get(account) {
            Some(entry) => self.before(&state, &entry)?,
            None => None,
        };
        Ok((state.tip, entry))
    }

    /// The proof of that.
    pub(super) fn prove(&self, account: &AccountId) -> Result<(Tip, IndexAnswer), Error> {
        let state = self.state();
        let answer = state.index.prove(account, |entry| self.before(&state, entry))?;
        Ok((state.tip, answer))
    }

    /// What an entry was as of the tip: takes back what the open block did to it, along its links. Nothing where the block
    /// created the account.
    fn before(&self, state: &State, entry: &IndexEntry) -> Result<Option<IndexEntry>, Error> {
        let mut entry = *entry;
        let Some(open) = &state.open else { return Ok(Some(entry)) };
        while entry.height.get() == open.height {
            let position = entry.position.get();
            let operation = self.store.staged_operation(open.offset, position)?;
            let links = open.links.get(position as usize).copied().unwrap_or(Links::NONE);
            let Some(step) = Step::of(&operation, links, &AccountId(entry.account)) else {
                return Err(Error::Damaged { height: open.height.into(), damage: Damage::Links });
            };
            let Some(before) = step.before else { return Ok(None) };
            entry.balance = entry.balance.get().wrapping_sub(step.change).into();
            entry.height = before.height.into();
            entry.position = before.position.into();
        }
        Ok(Some(entry))
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
            Ok::<_, Error>(Step::of(&operation, links, account).map(|step| (operation, step.before)))
        };
        // Links lead back, so a walk ends.
        match step(&record)? {
            Some((operation, before)) if before.is_none_or(|before| before < at) => Ok((operation, before)),
            _ => Err(damaged(&record, Damage::Links)),
        }
    }
}

/// What a transaction did to an account.
struct Step {
    /// What was added to the balance; a subtraction is the addition of its complement.
    change: u64,
    /// Where the account's transaction before is: none where this one created it.
    before: Option<Locator>,
}

impl Step {
    /// The step of `account`; none where the transaction is none of the account's, or where only other than the creating one has
    /// nothing before it: whatever led here is not what was written.
    fn of(operation: &Operation, links: Links, account: &AccountId) -> Option<Self> {
        let amount = operation.amount.get();
        let is_source = operation.source == *account;
        let (change, link): (u64, Link) = match operation.command().ok()? {
            Command::Create if is_source && links == Links::NONE => return Some(Self { change: 0, before: None }),
            Command::Issue if is_source => (amount, links.source),
            Command::Transfer if is_source => (amount.wrapping_neg(), links.source),
            Command::Transfer if operation.destination == *account => (amount, links.destination),
            _ => return None,
        };
        Some(Self { change, before: Some(link.locator()?) })
    }
}
