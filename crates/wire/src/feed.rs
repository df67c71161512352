//! The feed frame.

use crate::{
    AccountId, FeedEntry, FeedFrame, FeedTail, FrameHeader, FrameType, MAX_DATAGRAM, Operation, Promise,
    SignedOperation, Status, UnknownStatus,
};
use zerocopy::byteorder::big_endian::{U16, U64};

impl FeedFrame {
    /// Flag: only operations that name the account as source or destination.
    pub const OF_ACCOUNT: u8 = 1;

    /// Flag: the tails of signed operations follow the entries.
    pub const WITH_TAILS: u8 = 2;

    /// Maximum number of entries: those that fit in the longest frame of a stream.
    pub const MAX_ENTRIES: usize = (MAX_DATAGRAM - Self::LENGTH) / FeedEntry::LENGTH;

    /// Maximum number of entries that all have tails.
    pub const MAX_SIGNED: usize = (MAX_DATAGRAM - Self::LENGTH) / (FeedEntry::LENGTH + FeedTail::LENGTH);

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

    /// The request with another flag: for the tails of signed operations.
    pub fn with_tails(self) -> Self {
        Self { flags: self.flags | Self::WITH_TAILS, ..self }
    }

    /// Whether the tails of signed operations are wanted.
    pub fn has_tails(&self) -> bool {
        self.flags & Self::WITH_TAILS != 0
    }

    /// Maximum number of entries of a reply to this request: its tails have room, too.
    pub fn max_entries(&self) -> usize {
        if self.has_tails() { Self::MAX_SIGNED } else { Self::MAX_ENTRIES }
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
        let (entries, tails) = (usize::from(self.count.get()), usize::from(self.signed.get()));
        Self::LENGTH + entries * FeedEntry::LENGTH + tails * FeedTail::LENGTH
    }

    /// Turns the request into the reply that refuses it, in place: these 72 bytes.
    pub fn set_refusal(&mut self, status: Status) {
        *self = Self { status: U16::new(status.code()), promise: 0, ..self.asked() };
        self.header.set_reply();
    }

    pub(crate) fn check(&self) -> Status {
        let is_known = self.promise().is_ok() && self.flags & !(Self::OF_ACCOUNT | Self::WITH_TAILS) == 0;
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

impl FeedTail {
    /// The tail of a signed operation with this sequence.
    pub fn new(sequence: u64, signed: &SignedOperation) -> Self {
        Self { sequence: U64::new(sequence), tail: *signed.tail() }
    }

    /// The signed operation whose entry has this operation.
    pub fn join(&self, operation: &Operation) -> SignedOperation {
        SignedOperation::join(operation, &self.tail)
    }
}

impl FeedEntry {
    /// Whether the operation names the account as source or destination.
    pub fn concerns(&self, account: AccountId) -> bool {
        self.operation.source == account || self.operation.destination == account
    }
}
