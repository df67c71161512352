//! The history frame.

use crate::{
    AccountId, Command, FrameHeader, FrameType, HistoryEntry, HistoryFrame, MAX_DATAGRAM, Status, UnknownStatus,
};
use zerocopy::byteorder::big_endian::{U16, U32};

impl HistoryFrame {
    /// Flag: open holds only.
    pub const OPEN_HOLDS: u8 = 1;

    /// Flag: in requests, continue at the cursor; in replies, there may be more.
    pub const CURSOR: u8 = 2;

    /// Flag of replies: earlier transactions are pruned.
    pub const PRUNED: u8 = 4;

    /// Role: the account is the source, the destination, or either.
    pub const ANY_ROLE: u8 = 0;
    /// Role: the account is the source.
    pub const SOURCE: u8 = 1;
    /// Role: the account is the destination, or pays a deposit.
    pub const DESTINATION: u8 = 2;

    /// Maximum number of entries: those that fit in the longest datagram.
    pub const MAX_ENTRIES: usize = (MAX_DATAGRAM - Self::LENGTH) / HistoryEntry::LENGTH;

    /// A request for the newest `count` transactions of an account.
    pub fn new(id: u32, account: AccountId, count: u16) -> Self {
        Self { header: FrameHeader::new(FrameType::History, id), count: U16::new(count), account, ..Self::default() }
    }

    /// The bits of commands, for [`commands`](Self::commands).
    pub fn bits_of(commands: &[Command]) -> U32 {
        U32::new(commands.iter().fold(0, |bits, command| bits | 1 << command.code()))
    }

    /// Whether a command is selected.
    pub fn selects(&self, command: Command) -> bool {
        self.commands.get() == 0 || self.commands.get() & 1 << command.code() != 0
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Length of the whole reply, from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + usize::from(self.count.get()) * HistoryEntry::LENGTH
    }

    /// Turns the request into the reply that refuses it, in place: these 96 bytes.
    pub fn set_refusal(&mut self, status: Status) {
        *self = Self { status: U16::new(status.code()), count: U16::ZERO, ..self.asked() };
        self.header.set_reply();
    }

    pub(crate) fn check(&self) -> Status {
        let executed = Command::ALL.iter().copied().filter(|command| command.is_executed());
        let known = executed.fold(0, |bits, command| bits | 1 << command.code());
        let has_cursor = self.flags & Self::CURSOR != 0;
        let is_known = self.role <= Self::DESTINATION
            && self.flags & !(Self::OPEN_HOLDS | Self::CURSOR) == 0
            && self.commands.get() & !known == 0
            && (has_cursor || (self.cursor_height.get(), self.cursor_position.get()) == (0, 0));
        let is_asked = is_known && self.count.get() > 0 && *self == self.asked();
        if is_asked { Status::Ok } else { Status::Malformed }
    }

    /// The fields of a request, with all others zero.
    fn asked(&self) -> Self {
        Self {
            status: U16::ZERO,
            reserved: U16::ZERO,
            first_retained: U32::ZERO,
            tip_height: Default::default(),
            ..*self
        }
    }
}
