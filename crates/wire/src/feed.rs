//! The feed frame.

use crate::{AccountId, FeedEntry, FeedFrame, FrameHeader, FrameType, MAX_DATAGRAM, Promise, Status, UnknownStatus};
use zerocopy::byteorder::big_endian::{U16, U64};

impl FeedFrame {
    /// Flag: only operations that name the account as source or destination.
    pub const OF_ACCOUNT: u8 = 1;

    /// Maximum number of entries: those that fit in the longest frame of a stream.
    pub const MAX_ENTRIES: usize = (MAX_DATAGRAM - Self::LENGTH) / FeedEntry::LENGTH;

    /// A request for the operations from `cursor` on: all of them, or those of an account.
    pub fn new(id: u32, cursor: u64, account: Option<AccountId>, promise: Promise) -> Self {
        Self {
            header: FrameHeader::new(FrameType::Feed, id),
            promise: promise.code(),
            flags: if account.is_some() { Self::OF_ACCOUNT } else { 0 },
            cursor: U64::new(cursor),
            account: account.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The account whose operations are wanted; `None` for all operations.
    pub fn account(&self) -> Option<AccountId> {
        (self.flags & Self::OF_ACCOUNT != 0).then_some(self.account)
    }

    /// The promise: requested, or made.
    pub fn promise(&self) -> Result<Promise, Status> {
        Promise::try_from(self.promise)
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Length of the whole reply, from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + usize::from(self.count.get()) * FeedEntry::LENGTH
    }

    /// Turns the request into the reply that refuses it, in place: these 72 bytes.
    pub fn set_refusal(&mut self, status: Status) {
        *self = Self { status: U16::new(status.code()), promise: 0, ..self.asked() };
        self.header.set_reply();
    }

    pub(crate) fn check(&self) -> Status {
        let is_known = self.promise().is_ok() && self.flags & !Self::OF_ACCOUNT == 0;
        let is_account = self.account().is_some() || self.account == AccountId::default();
        let is_asked = is_known && is_account && self.cursor.get() != 0 && *self == self.asked();
        if is_asked { Status::Ok } else { Status::Malformed }
    }

    /// The fields of a request, with all others zero.
    fn asked(&self) -> Self {
        let Self { header, promise, flags, cursor, account, .. } = *self;
        Self { header, promise, flags, cursor, account, ..Self::default() }
    }
}

impl FeedEntry {
    /// Whether the operation names the account as source or destination.
    pub fn concerns(&self, account: AccountId) -> bool {
        self.operation.source == account || self.operation.destination == account
    }
}
