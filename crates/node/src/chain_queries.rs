//! Queries about the own chain that take longer than the data path may: histories and issued amounts.

use chain::own::{Error, Filter, OwnReader, Page, PageLimits, Role};
use nic::generator;
use spv::Locator;
use wire::{AccountId, AssetTotal, AssetsFrame, Command, FrameMut, HistoryEntry, HistoryFrame, Status};
use zerocopy::IntoBytes;

/// Maximum number of transactions that a request examines. Each takes three reads, and the thread answers nothing else
/// meanwhile.
const MAX_EXAMINED: usize = 256;

/// Answers history and assets frames, on threads that may wait for the disk and for the block builder.
#[derive(Clone, Debug)]
pub struct ChainQueries(OwnReader);

/// Status and detail of a refusal.
type Refusal = (Status, u32);

impl ChainQueries {
    /// Answers out of the chain of `reader`.
    pub fn new(reader: OwnReader) -> Self {
        Self(reader)
    }

    /// Answers a request in place, and returns the length of the reply.
    pub fn answer(&self, datagram: &mut [u8]) -> usize {
        let answered = match FrameMut::parse(datagram) {
            Ok(FrameMut::History(request, room)) => self.history(request, room),
            Ok(FrameMut::Assets(request, room)) => self.assets(request, room),
            Ok(_) => Err((Status::Malformed, 0)),
            Err(error) => Err((error.status, 0)),
        };
        answered.unwrap_or_else(|(status, detail)| generator::refuse(datagram, status, detail))
    }

    fn history(&self, request: &mut HistoryFrame, room: &mut [u8]) -> Result<usize, Refusal> {
        let rows = rows::<HistoryEntry>(request.count.get(), HistoryFrame::LENGTH, room)?;
        let account = request.account;
        let has_cursor = request.flags & HistoryFrame::CURSOR != 0;
        let cursor = Locator { height: request.cursor_height.get(), position: request.cursor_position.get() };
        let limits = PageLimits { rows, examined: MAX_EXAMINED };
        let page = match self.0.page(&account, &filter(request), has_cursor.then_some(cursor), limits) {
            // The cursor was pruned since the page that named it.
            Err(Error::Pruned { first, .. }) => {
                Page { height: self.0.tip().height(), first_retained: Some(first), ..Page::default() }
            }
            // Without a page the cursor is no transaction of the account.
            page => page.map_err(refusal)?.ok_or((Status::NotFound, 0))?,
        };
        if page.transactions.is_empty() && !has_cursor && self.0.account(&account).map_err(refusal)?.is_none() {
            return Err((Status::NotFound, 0));
        }
        let mut length = 0;
        for ((at, operation), room) in page.transactions.iter().zip(room.chunks_exact_mut(HistoryEntry::LENGTH)) {
            let time = self.0.time(at.height.into()).map_err(refusal)?;
            let entry = HistoryEntry {
                height: at.height.into(),
                position: at.position.into(),
                time: time.into(),
                operation: *operation,
            };
            room.copy_from_slice(entry.as_bytes());
            length += HistoryEntry::LENGTH;
        }
        request.header.set_reply();
        request.count.set(page.transactions.len() as u16);
        request.flags &= HistoryFrame::OPEN_HOLDS;
        if page.next.is_some() {
            request.flags |= HistoryFrame::CURSOR;
        }
        if page.first_retained.is_some() {
            request.flags |= HistoryFrame::PRUNED;
        }
        let next = page.next.unwrap_or(Locator { height: 0, position: 0 });
        (request.cursor_height, request.cursor_position) = (next.height.into(), next.position.into());
        // A chain has fewer blocks than there are numbers of 32 bits.
        request.first_retained.set(page.first_retained.unwrap_or_else(|| self.0.first_retained()) as u32);
        request.tip_height.set(page.height);
        Ok(HistoryFrame::LENGTH + length)
    }

    fn assets(&self, request: &mut AssetsFrame, room: &mut [u8]) -> Result<usize, Refusal> {
        let rows = rows::<AssetTotal>(request.count.get(), AssetsFrame::LENGTH, room)?;
        let page = self.0.issued(request.first_asset.get(), rows);
        for ((asset, issued), room) in page.amounts.iter().zip(room.chunks_exact_mut(AssetTotal::LENGTH)) {
            room.copy_from_slice(AssetTotal::new(*asset, *issued).as_bytes());
        }
        request.header.set_reply();
        request.count.set(page.amounts.len() as u16);
        request.next_asset.set(page.next.unwrap_or(0));
        request.tip_height.set(page.height);
        Ok(AssetsFrame::LENGTH + page.amounts.len() * AssetTotal::LENGTH)
    }
}

/// The conditions of a request.
fn filter(request: &HistoryFrame) -> Filter {
    // The end of a range is 0 if it has none.
    let end = |end: u64| if end == 0 { u64::MAX } else { end };
    let commands = if request.commands.get() == 0 { [].iter() } else { Command::ALL.iter() };
    Filter {
        commands: commands.copied().filter(|command| request.selects(*command)).collect(),
        counterpart: Some(request.counterpart).filter(|counterpart| *counterpart != AccountId::ZERO),
        role: match request.role {
            HistoryFrame::SOURCE => Some(Role::Source),
            HistoryFrame::DESTINATION => Some(Role::Destination),
            _ => None,
        },
        is_open_hold: request.flags & HistoryFrame::OPEN_HOLDS != 0,
        places: Filter::start_of(request.first_height.get().into())
            ..Filter::start_of(end(request.end_height.get().into())),
        times: request.first_time.get()..end(request.end_time.get()),
    }
}

/// Number of rows that are requested and have room; refused if not even one has.
fn rows<T>(count: u16, fixed: usize, room: &[u8]) -> Result<usize, Refusal> {
    match usize::from(count).min(room.len() / size_of::<T>()) {
        0 => Err((Status::ReplyTooLarge, (fixed + size_of::<T>()) as u32)),
        rows => Ok(rows),
    }
}

fn refusal(error: Error) -> Refusal {
    tracing::error!(%error, "cannot read the chain");
    (Status::StorageFailed, 0)
}
