//! Histories of accounts, and the issued amounts of assets.

use std::ops::Range;

use spv::Locator;
use wire::{
    AccountId, AssetTotal, AssetsFrame, Command, HistoryEntry, HistoryFrame, HistoryReply, Operation, Reply, U32,
};
use zerocopy::IntoBytes;

use crate::{Client, Error};

/// The part of an account in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The account pays, or the transaction is about it alone.
    Source,
    /// The account receives, or pays a deposit.
    Destination,
}

/// Selects transactions of a history. The default selects all.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// The commands; empty for all.
    pub commands: Vec<Command>,
    /// The part of the account.
    pub role: Option<Role>,
    /// The other account.
    pub counterpart: Option<AccountId>,
    /// HOLDs whose amount is still held.
    pub is_open_hold: bool,
    /// Heights of blocks; an end of 0 for none.
    pub heights: Range<u32>,
    /// Times of blocks, in microseconds since the Unix epoch; an end of 0 for none.
    pub times: Range<u64>,
}

/// A transaction of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastTransaction {
    /// Where it is. [`Client::prove_locator`] proves it.
    pub at: Locator,
    /// When its block was made, in microseconds since the Unix epoch.
    pub time: u64,
    /// The operation, as in the block.
    pub operation: Operation,
}

/// A page of a history. Nothing in it is proved.
#[derive(Clone, Debug, Default)]
pub struct HistoryPage {
    /// Height of the node's tip.
    pub tip_height: u64,
    /// The transactions, the newest first. A page can be short, or empty, and still have more after it.
    pub transactions: Vec<PastTransaction>,
    /// The cursor of the next page, if there may be more transactions.
    pub next: Option<Locator>,
    /// Height of the first block that is not pruned, if earlier transactions are.
    pub first_retained: Option<u32>,
}

/// A part of the issued amounts by asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetPage {
    /// Height of the block that the amounts are as of.
    pub height: u64,
    /// Codes and issued amounts, by ascending code; asset 0 less the deposits that were paid.
    pub issued: Vec<(u32, u128)>,
    /// The first asset of the next page, if there are more.
    pub next: Option<u32>,
}

impl Client {
    /// Fetches a page of an account's history: at most `count` transactions, from the newest one or `cursor` on.
    ///
    /// An account that no block has is [`NOT_FOUND`](wire::Status::NotFound).
    pub fn history(
        &mut self,
        account: AccountId,
        filter: &HistoryFilter,
        cursor: Option<Locator>,
        count: u16,
    ) -> Result<HistoryPage, Error> {
        self.exchange(
            |id, datagram| {
                let count = fitting::<HistoryEntry>(count, HistoryFrame::LENGTH, datagram);
                let request = filter.request(id, account, cursor, count);
                Ok(padded::<HistoryEntry>(request.as_bytes(), count))
            },
            |reply, _| match reply {
                Reply::History(reply) if reply.fixed.count.get() <= count => {
                    Some(HistoryPage::from(reply)).filter(|page| page.follows(cursor)).ok_or(Error::WrongReply)
                }
                _ => Err(Error::WrongReply),
            },
        )
    }

    /// Fetches the issued amounts of at most `count` assets, from the code `first` on.
    pub fn assets(&mut self, first: u32, count: u16) -> Result<AssetPage, Error> {
        self.exchange(
            |id, datagram| {
                let count = fitting::<AssetTotal>(count, AssetsFrame::LENGTH, datagram);
                Ok(padded::<AssetTotal>(AssetsFrame::new(id, first, count).as_bytes(), count))
            },
            |reply, _| match reply {
                Reply::Assets(reply) if reply.fixed.count.get() <= count => {
                    let issued: Vec<_> = reply.totals.iter().map(|total| (total.asset.get(), total.issued())).collect();
                    let next = Some(reply.fixed.next_asset.get()).filter(|next| *next != 0);
                    // Otherwise a client that continues at `next` might not end, or count an asset twice.
                    let is_within = |(asset, _): &(u32, u128)| *asset >= first && next.is_none_or(|next| *asset < next);
                    let is_sorted = issued.is_sorted_by(|a, b| a.0 < b.0) && issued.iter().all(is_within);
                    if !is_sorted || next.is_some_and(|next| next <= first) {
                        return Err(Error::WrongReply);
                    }
                    Ok(AssetPage { height: reply.fixed.tip_height.get(), issued, next })
                }
                _ => Err(Error::WrongReply),
            },
        )
    }
}

impl HistoryFilter {
    fn request(&self, id: u32, account: AccountId, cursor: Option<Locator>, count: u16) -> HistoryFrame {
        let mut flags = if self.is_open_hold { HistoryFrame::OPEN_HOLDS } else { 0 };
        if cursor.is_some() {
            flags |= HistoryFrame::CURSOR;
        }
        let role = match self.role {
            None => HistoryFrame::ANY_ROLE,
            Some(Role::Source) => HistoryFrame::SOURCE,
            Some(Role::Destination) => HistoryFrame::DESTINATION,
        };
        let cursor = cursor.unwrap_or(Locator { height: 0, position: 0 });
        HistoryFrame {
            role,
            flags,
            commands: HistoryFrame::bits_of(&self.commands),
            first_height: U32::new(self.heights.start),
            end_height: U32::new(self.heights.end),
            first_time: self.times.start.into(),
            end_time: self.times.end.into(),
            cursor_height: U32::new(cursor.height),
            cursor_position: U32::new(cursor.position),
            counterpart: self.counterpart.unwrap_or_default(),
            ..HistoryFrame::new(id, account, count)
        }
    }
}

impl HistoryPage {
    /// Whether all of it is before the cursor of the request, and ends at its own. Otherwise a client that continues
    /// there might not end, or count a transaction twice.
    fn follows(&self, cursor: Option<Locator>) -> bool {
        let places = || self.transactions.iter().map(|past| past.at);
        places().is_sorted_by(|a, b| a > b)
            && cursor.is_none_or(|cursor| self.next.into_iter().chain(places()).all(|at| at < cursor))
            && self.next.is_none_or(|next| places().all(|at| at >= next))
    }
}

impl From<HistoryReply<'_>> for HistoryPage {
    fn from(reply: HistoryReply<'_>) -> Self {
        let flag = |flag: u8| reply.fixed.flags & flag != 0;
        let (height, position) = (reply.fixed.cursor_height.get(), reply.fixed.cursor_position.get());
        Self {
            tip_height: reply.fixed.tip_height.get(),
            transactions: reply.entries.iter().map(PastTransaction::from).collect(),
            next: flag(HistoryFrame::CURSOR).then_some(Locator { height, position }),
            first_retained: flag(HistoryFrame::PRUNED).then_some(reply.fixed.first_retained.get()),
        }
    }
}

impl From<&HistoryEntry> for PastTransaction {
    fn from(entry: &HistoryEntry) -> Self {
        let at = Locator { height: entry.height.get(), position: entry.position.get() };
        Self { at, time: entry.time.get(), operation: entry.operation }
    }
}

/// Number of entries that are wanted and fit a datagram, at least 1.
fn fitting<T>(count: u16, fixed: usize, datagram: usize) -> u16 {
    let room = datagram.saturating_sub(fixed) / size_of::<T>();
    count.min(u16::try_from(room).unwrap_or(u16::MAX)).max(1)
}

/// A request with room for this number of entries.
fn padded<T>(request: &[u8], count: u16) -> Vec<u8> {
    let mut frame = request.to_vec();
    frame.resize(request.len() + usize::from(count) * size_of::<T>(), 0);
    frame
}
