//! The batch frame: many operations in one datagram.

use crate::{
    BatchFormat, BatchHeader, CompactEntry, FrameHeader, FrameType, Operation, Promise, SignedOperation, Status,
    UnknownStatus,
};
use zerocopy::FromBytes;
use zerocopy::byteorder::big_endian::U16;

impl BatchFormat {
    /// Length of an entry in bytes.
    #[inline]
    pub const fn entry_length(self) -> usize {
        match self {
            Self::Compact => CompactEntry::LENGTH,
            Self::Operation => Operation::LENGTH,
            Self::Signed => SignedOperation::LENGTH,
        }
    }

    /// Number of entries that fit a datagram of this length.
    pub const fn entries_in(self, datagram: usize) -> usize {
        datagram.saturating_sub(BatchHeader::LENGTH) / self.entry_length()
    }
}

impl BatchHeader {
    /// The header of a request.
    pub const fn new(id: u32, format: BatchFormat, count: u16, promise: Promise) -> Self {
        Self {
            header: FrameHeader::new(FrameType::Batch, id),
            count: U16::from_bytes(count.to_be_bytes()),
            format: format as u8,
            promise: promise.code(),
            status: U16::ZERO,
            reserved: U16::ZERO,
        }
    }

    /// The format of the entries.
    #[inline]
    pub fn format(&self) -> Result<BatchFormat, Status> {
        BatchFormat::try_from(self.format)
    }

    /// The requested or given promise.
    #[inline]
    pub fn promise(&self) -> Result<Promise, Status> {
        Promise::try_from(self.promise)
    }

    /// The status of a reply as a whole.
    #[inline]
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Length of the whole frame, if the format is known.
    pub fn frame_length(&self) -> Result<usize, Status> {
        Ok(Self::LENGTH + usize::from(self.count.get()) * self.format()?.entry_length())
    }

    /// Turns the header into that of the reply, in place. If the status is not `OK`, the header alone is the reply.
    #[inline]
    pub fn set_reply(&mut self, status: Status, promise: Promise) {
        self.header.set_reply();
        self.status = U16::new(status.code());
        self.promise = promise.code();
    }

    /// Checks a request's header, except for the length of the frame.
    pub(crate) fn check(&self) -> Status {
        let fields = self.count.get() != 0
            && self.status.get() == 0
            && self.reserved.get() == 0
            && self.format().is_ok()
            && self.promise().is_ok();
        if fields { Status::Ok } else { Status::Malformed }
    }
}

/// The entries of a batch.
#[derive(Clone, Copy, Debug)]
pub enum BatchEntries<'a> {
    /// Of format 0.
    Compact(&'a [CompactEntry]),
    /// Of format 1.
    Operation(&'a [Operation]),
    /// Of format 2.
    Signed(&'a [SignedOperation]),
}

impl<'a> BatchEntries<'a> {
    /// Parses entries from bytes of exactly their length.
    pub(crate) fn parse(format: BatchFormat, bytes: &'a [u8]) -> Option<Self> {
        Some(match format {
            BatchFormat::Compact => Self::Compact(<[CompactEntry]>::ref_from_bytes(bytes).ok()?),
            BatchFormat::Operation => Self::Operation(<[Operation]>::ref_from_bytes(bytes).ok()?),
            BatchFormat::Signed => Self::Signed(<[SignedOperation]>::ref_from_bytes(bytes).ok()?),
        })
    }

    /// Number of entries.
    pub const fn len(&self) -> usize {
        match self {
            Self::Compact(entries) => entries.len(),
            Self::Operation(entries) => entries.len(),
            Self::Signed(entries) => entries.len(),
        }
    }

    /// Whether there are none; parsed batches have at least one.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The operation of an entry, as a copy.
    pub fn operation(&self, index: usize) -> Option<Operation> {
        match self {
            Self::Compact(entries) => entries.get(index).map(|entry| entry.frame.to_operation()),
            Self::Operation(entries) => entries.get(index).copied(),
            Self::Signed(entries) => entries.get(index).map(|entry| entry.operation),
        }
    }
}

/// The entries of a batch, for replies in place.
#[derive(Debug)]
pub enum BatchEntriesMut<'a> {
    /// Of format 0.
    Compact(&'a mut [CompactEntry]),
    /// Of format 1.
    Operation(&'a mut [Operation]),
    /// Of format 2.
    Signed(&'a mut [SignedOperation]),
}

impl<'a> BatchEntriesMut<'a> {
    /// Parses entries from bytes of exactly their length.
    pub(crate) fn parse(format: BatchFormat, bytes: &'a mut [u8]) -> Option<Self> {
        Some(match format {
            BatchFormat::Compact => Self::Compact(<[CompactEntry]>::mut_from_bytes(bytes).ok()?),
            BatchFormat::Operation => Self::Operation(<[Operation]>::mut_from_bytes(bytes).ok()?),
            BatchFormat::Signed => Self::Signed(<[SignedOperation]>::mut_from_bytes(bytes).ok()?),
        })
    }

    /// Turns an entry into its reply, in place. An index beyond the entries changes nothing.
    #[inline]
    pub fn set_reply(&mut self, index: usize, status: Status, value: u64, promise: Promise) {
        match self {
            Self::Compact(entries) => {
                if let Some(entry) = entries.get_mut(index) {
                    entry.frame.set_reply(status, value);
                }
            }
            Self::Operation(entries) => {
                if let Some(entry) = entries.get_mut(index) {
                    entry.set_reply(status, value);
                }
            }
            Self::Signed(entries) => {
                if let Some(entry) = entries.get_mut(index) {
                    entry.set_reply(status, value, promise);
                }
            }
        }
    }

    /// The entries, for reading.
    pub fn as_ref(&self) -> BatchEntries<'_> {
        match self {
            Self::Compact(entries) => BatchEntries::Compact(entries),
            Self::Operation(entries) => BatchEntries::Operation(entries),
            Self::Signed(entries) => BatchEntries::Signed(entries),
        }
    }
}

/// A batch frame.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Its header.
    pub header: &'a BatchHeader,
    /// Its entries; each must be checked separately.
    pub entries: BatchEntries<'a>,
}

/// A batch frame, for replies in place.
#[derive(Debug)]
pub struct BatchMut<'a> {
    /// Its header.
    pub header: &'a mut BatchHeader,
    /// Its entries; each must be checked separately.
    pub entries: BatchEntriesMut<'a>,
}
