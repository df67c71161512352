//! An account's history: a walk along its back-links, and pages of the transactions that a filter selects.
use super::chain_state::ChainState;
use super::error::Error;
use super::partition_point::partition_point;
use super::reader::OwnReader;
use crate::index::hold_id;
use spv::Locator;
use std::ops::Range;
use std::sync::Arc;
use wire::{AccountId, Command, Operation};

/// The transactions of an account, newest first: a walk along the back-links.
#[derive(Debug)]
pub struct History {
    chain_state: Arc<ChainState>,
    account: AccountId,
    next: Option<Locator>,
}

impl History {
    pub(super) fn new(chain_state: Arc<ChainState>, account: AccountId, next: Option<Locator>) -> Self {
        Self { chain_state, account, next }
    }

    /// The place of the next transaction, if any; reads nothing.
    pub fn next_place(&self) -> Option<Locator> {
        self.next
    }
}

impl Iterator for History {
    type Item = Result<(Locator, Operation), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next.take()?;
        Some(self.chain_state.step(&self.account, at).map(|(operation, before)| {
            self.next = before;
            (at, operation)
        }))
    }
}

/// The part that an account has in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The transaction is about the account: it pays, holds, receives an ISSUE, or is created.
    Source,
    /// The other account: the receiver, or the payer of a deposit.
    Destination,
}

/// Selects transactions of an account's history. The default selects all.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The commands to select; empty for all.
    pub commands: Vec<Command>,
    /// Select transactions with this other account only.
    pub counterpart: Option<AccountId>,
    /// Select transactions in which the account has this part only.
    pub role: Option<Role>,
    /// Select open holds only.
    pub is_open_hold: bool,
    /// The places to select from. The walk starts at the newest transaction nevertheless, and ends at the first place.
    pub places: Range<Locator>,
    /// The times of blocks to select from, in microseconds since the Unix epoch.
    pub times: Range<u64>,
}

impl Filter {
    /// After the last place of any chain.
    pub const END: Locator = Locator { height: u32::MAX, position: u32::MAX };

    /// The first place of a block, or [`END`](Self::END) if no chain has this height.
    pub fn start_of(height: u64) -> Locator {
        u32::try_from(height).map_or(Self::END, |height| Locator { height, position: 0 })
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            counterpart: None,
            role: None,
            is_open_hold: false,
            places: Locator { height: 0, position: 0 }..Self::END,
            times: 0..u64::MAX,
        }
    }
}

/// Limits of a page.
#[derive(Clone, Copy, Debug)]
pub struct PageLimits {
    /// Maximum number of transactions to return.
    pub rows: usize,
    /// Maximum number of transactions to examine. Otherwise a filter that selects nothing would walk the whole history.
    pub examined: usize,
}

/// A page of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Height of the tip: the page has the transactions up to this block, and none after it.
    pub height: u64,
    /// The selected transactions, newest first.
    pub transactions: Vec<(Locator, Operation)>,
    /// The last transaction examined, if there may be more: the next page is before it. Later blocks do not move it.
    pub next: Option<Locator>,
    /// The account's next transaction is in a block before this one, the first retained block: it is pruned.
    pub first_retained: Option<u64>,
}

impl OwnReader {
    /// The transactions of an account before the one at `before`, or else the newest ones, that a filter selects.
    /// `None` if the transaction at `before` is not the account's.
    pub fn page(
        &self,
        account: &AccountId,
        filter: &Filter,
        before: Option<Locator>,
        limits: PageLimits,
    ) -> Result<Option<Page>, Error> {
        // Read first: later blocks are not in the page, whatever their times are.
        let height = self.tip().height();
        let places = self.places(filter, height)?;
        let walk = match before {
            Some(at) => self.history_before(account, at)?,
            None => Some(self.history(account)?),
        };
        let Some(mut walk) = walk else { return Ok(None) };
        let mut page = Page { height, ..Page::default() };
        for _ in 0..limits.examined {
            if page.transactions.len() == limits.rows || !is_within(&walk, &places) {
                break;
            }
            let (at, operation) = match walk.next() {
                Some(Ok(step)) => step,
                Some(Err(Error::Pruned { first, .. })) => {
                    page.first_retained = Some(first);
                    break;
                }
                Some(Err(error)) => return Err(error),
                None => break,
            };
            page.next = Some(at);
            if places.contains(&at) && self.selects(filter, account, at, &operation)? {
                page.transactions.push((at, operation));
            }
        }
        page.next = page.next.filter(|_| is_within(&walk, &places));
        Ok(Some(page))
    }

    /// The places that a filter selects from, up to the block at `height`.
    fn places(&self, filter: &Filter, height: u64) -> Result<Range<Locator>, Error> {
        let Filter { places, times, .. } = filter;
        let (mut start, mut end) = (places.start, places.end.min(Filter::start_of(height + 1)));
        if times.start > 0 {
            start = start.max(Filter::start_of(self.first_since_up_to(times.start, height)?));
        }
        if times.end < u64::MAX {
            end = end.min(Filter::start_of(self.first_since_up_to(times.end, height)?));
        }
        Ok(start..end)
    }

    /// The height of the first block that was made at a time, in microseconds since the Unix epoch, or later; the
    /// height after the tip if all are older. The times of blocks never fall.
    pub fn first_since(&self, time: u64) -> Result<u64, Error> {
        self.first_since_up_to(time, self.tip().height())
    }

    fn first_since_up_to(&self, time: u64, tip: u64) -> Result<u64, Error> {
        partition_point(0..tip + 1, |height| Ok(self.time(height)? < time))
    }

    /// Whether the hold that the HOLD at a place makes is open.
    pub fn is_open_hold(&self, at: Locator, operation: &Operation) -> Result<bool, Error> {
        // A hold that ended can be made again once the ledger no longer remembers its id: the entry is of the last one.
        let entry = self.account(&hold_id(operation))?;
        Ok(entry.is_some_and(|entry| entry.is_hold() && entry.latest() == at))
    }

    fn selects(&self, filter: &Filter, account: &AccountId, at: Locator, operation: &Operation) -> Result<bool, Error> {
        let Ok(command) = operation.command() else { return Ok(false) };
        let is_source = operation.source == *account;
        let counterpart = if is_source { operation.other_account() } else { Some(operation.source) };
        let is_selected = (filter.commands.is_empty() || filter.commands.contains(&command))
            && filter.counterpart.is_none_or(|wanted| counterpart == Some(wanted))
            && filter.role.is_none_or(|role| is_source == (role == Role::Source));
        Ok(is_selected && (!filter.is_open_hold || command == Command::Hold && self.is_open_hold(at, operation)?))
    }
}

/// Whether a walk's next transaction, if any, is in or after some places.
fn is_within(walk: &History, places: &Range<Locator>) -> bool {
    walk.next_place().is_some_and(|at| at >= places.start)
}
