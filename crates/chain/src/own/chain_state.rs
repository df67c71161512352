//! State that the block builder and readers of our own chain share.
use super::error::{Damage, Error};
use super::reader::IssuedPage;
use super::record::Record;
use super::store::Store;
use super::tip::Tip;
use crate::index::{Index, IndexAnswer, hold_id};
use crate::links::{Link, Links};
use spv::{BlockHeader, IndexEntry, Locator};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use wire::{AccountId, Command, Operation};

/// How often the builder yields its processor to waiting readers before it continues: they only need to wake up.
const OFFERS: usize = 100;

/// A transaction of an account, and the position of the account's previous one, if any.
pub(super) type Step = (Operation, Option<Locator>);

/// The store, and the state as of the tip.
#[derive(Debug)]
pub(super) struct ChainState {
    pub(super) store: Store,
    pub(super) genesis: BlockHeader,
    state: RwLock<PublishedIndex>,
    /// A copy of the tip, for readers that need no index.
    tip: RwLock<Tip>,
    /// Number of readers that wait for the state.
    waiting: AtomicUsize,
}

/// The index, and the block as of which it is published.
#[derive(Debug)]
pub(super) struct PublishedIndex {
    pub(super) index: Index,
    pub(super) tip: Tip,
}

impl ChainState {
    pub(super) fn new(store: Store, genesis: BlockHeader, index: Index, tip: Tip) -> Self {
        Self {
            store,
            genesis,
            state: RwLock::new(PublishedIndex { index, tip }),
            tip: RwLock::new(tip),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(super) fn state(&self) -> RwLockReadGuard<'_, PublishedIndex> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        state
    }

    pub(super) fn state_mut(&self) -> RwLockWriteGuard<'_, PublishedIndex> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets waiting readers in. Otherwise the builder, which is awake when the lock is released, would take it again
    /// each time.
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

    /// The index entry of an account as of the tip.
    pub(super) fn account(&self, account: &AccountId) -> (Tip, Option<IndexEntry>) {
        let state = self.state();
        (state.tip, state.index.committed(account))
    }

    /// The issued amounts of at most `limit` assets as of the last block, from the asset `first` on.
    pub(super) fn issued(&self, first: u32, limit: usize) -> IssuedPage {
        let state = self.state();
        let of_0 = state.tip.issued.saturating_sub(state.index.issued_of_assets());
        let of_0 = (first == 0).then_some((0, of_0));
        let of_others = state.index.issued_by_asset().range(first..).map(|(asset, issued)| (*asset, *issued));
        let mut all = of_0.into_iter().chain(of_others);
        let amounts = all.by_ref().take(limit).collect();
        IssuedPage { height: state.tip.height(), amounts, next: all.next().map(|(asset, _)| asset) }
    }

    /// The height of the last stated index root, and the first `limit` accounts after `after` as of it, in the index's
    /// order.
    pub(super) fn accounts(&self, after: Option<&AccountId>, limit: usize) -> (u64, Vec<IndexEntry>) {
        let state = self.state();
        (state.tip.index_height, state.index.listing(after, limit))
    }

    /// The height of the last stated index root, and the proof of an account's entry. The builder does not wait for the
    /// hashing.
    pub(super) fn prove(&self, account: &AccountId) -> (u64, IndexAnswer) {
        let state = self.state();
        let (height, leaf) = (state.tip.index_height, state.index.leaf(account));
        drop(state);
        (height, leaf.prove())
    }

    /// A transaction of an account, and the position of the previous one.
    pub(super) fn step(&self, account: &AccountId, at: Locator) -> Result<Step, Error> {
        let record = self.store.record(at.height.into())?;
        self.step_in(&record, account, at.position)?.ok_or_else(|| self.store.damaged(&record, Damage::Links))
    }

    /// The same for a block whose transaction at the position may be another account's.
    pub(super) fn step_in(&self, record: &Record, account: &AccountId, position: u32) -> Result<Option<Step>, Error> {
        if position >= record.transactions() {
            return Ok(None);
        }
        let operation = self.store.operation(record, position)?;
        let links = self.store.links(record, position)?;
        let Some(before) = before(&operation, links, account) else { return Ok(None) };
        let at = Locator { height: record.header.height.get() as u32, position };
        // Links lead back, so a walk terminates.
        if before.is_some_and(|before| before >= at) {
            return Err(self.store.damaged(record, Damage::Links));
        }
        Ok(Some((operation, before)))
    }
}

/// The position of the account's previous transaction; `Some(None)` if this one created it, or opened it again. `None`
/// if the transaction is not the account's, or if it has no previous one although it did not create the account: then
/// the link that led here is damaged.
fn before(operation: &Operation, links: Links, account: &AccountId) -> Option<Option<Locator>> {
    let is_source = operation.source == *account;
    let link: Link = match operation.command().ok()? {
        Command::Create | Command::Open if is_source => return (links.source == Link::NONE).then_some(None),
        Command::Issue | Command::Transfer | Command::Hold if is_source => links.source,
        Command::Freeze | Command::Unfreeze | Command::Close if is_source => links.source,
        Command::Capture | Command::Release | Command::Reclaim if is_source => return Some(links.source.locator()),
        _ if operation.other_account() == Some(*account) => links.destination,
        Command::Hold if hold_id(operation) == *account => return Some(None),
        Command::Create | Command::Open | Command::Issue | Command::Transfer | Command::Refer => return None,
        Command::Hold | Command::Capture | Command::Release | Command::Reclaim => return None,
        Command::Freeze | Command::Unfreeze | Command::Close => return None,
    };
    Some(Some(link.locator()?))
}
