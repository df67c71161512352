//! The compact transfer frame, and the entry that carries it in a batch.

use crate::{AccountId, Command, CompactEntry, CompactFrame, Operation, Status, TransactionId, UnknownStatus};
use zerocopy::byteorder::big_endian::{U16, U32, U64};

impl CompactFrame {
    /// A requested frame.
    #[inline]
    pub const fn new(command: Command, transaction: u32, source: u32, destination: u32, amount: u32) -> Self {
        Self {
            command: U32::from_bytes((command.code() as u32).to_be_bytes()),
            transaction: U32::from_bytes(transaction.to_be_bytes()),
            source: U32::from_bytes(source.to_be_bytes()),
            destination: U32::from_bytes(destination.to_be_bytes()),
            amount: U32::from_bytes(amount.to_be_bytes()),
            status: U16::ZERO,
        }
    }

    /// The frame of a requested operation; `None` if a field does not fit.
    pub fn from_operation(operation: &Operation) -> Option<Self> {
        if operation.flags != 0 || operation.contract.get() != 0 || operation.status.get() != 0 {
            return None;
        }
        Some(Self::new(
            operation.command().ok().filter(|command| command.is_compact())?,
            operation.transaction.to_compact()?,
            operation.source.to_compact()?,
            operation.destination.to_compact()?,
            u32::try_from(operation.amount()).ok()?,
        ))
    }

    /// The operation that the frame requests. A command that compact frames do not have becomes 0, which is unknown.
    #[inline]
    pub fn to_operation(&self) -> Operation {
        Operation {
            flags: 0,
            command: self.command().map_or(0, Command::code),
            status: self.status,
            contract: U32::ZERO,
            transaction: TransactionId::from(self.transaction.get()),
            source: AccountId::from(self.source.get()),
            destination: AccountId::from(self.destination.get()),
            amount: U64::new(u64::from(self.amount.get())),
        }
    }

    /// The command, or `UNKNOWN_COMMAND`.
    #[inline]
    pub fn command(&self) -> Result<Command, Status> {
        let command =
            u8::try_from(self.command.get()).map_err(|_| Status::UnknownCommand).and_then(Command::try_from)?;
        if command.is_compact() { Ok(command) } else { Err(Status::UnknownCommand) }
    }

    /// The status in a reply.
    #[inline]
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// The value of a reply; `u32::MAX` stands for all values from there on.
    #[inline]
    pub fn value(&self) -> u32 {
        self.amount.get()
    }

    /// Checks a request without the ledger: `OK`, or the status that refuses it.
    #[inline]
    pub fn check(&self) -> Status {
        self.to_operation().check()
    }

    /// Turns the request into its reply, in place.
    #[inline]
    pub fn set_reply(&mut self, status: Status, value: u64) {
        self.status = U16::new(status.code());
        self.amount = U32::new(u32::try_from(value).unwrap_or(u32::MAX));
    }
}

impl CompactEntry {
    /// Checks a request without the ledger: `OK`, or the status that refuses it.
    #[inline]
    pub fn check(&self) -> Status {
        match self.frame.check() {
            Status::Ok if self.reserved.get() != 0 => Status::Malformed,
            status => status,
        }
    }
}

impl From<CompactFrame> for CompactEntry {
    #[inline]
    fn from(frame: CompactFrame) -> Self {
        Self { frame, reserved: U16::ZERO }
    }
}
