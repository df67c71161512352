//! The full transfer frame.

use crate::{FrameHeader, FrameType, Operation, Promise, SignedOperation, Status};
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Request of one signed operation, 192 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FullFrame {
    /// Its id is the paper's serial transaction id.
    pub header: FrameHeader,
    /// The operation.
    pub signed: SignedOperation,
}

impl FullFrame {
    /// Bytes of the request.
    pub const LENGTH: usize = 192;

    /// The request of a signed operation.
    pub const fn new(id: u32, signed: SignedOperation) -> Self {
        Self { header: FrameHeader::new(FrameType::Full, id), signed }
    }

    /// Makes the reply, in place: its first [`FullReply::LENGTH`] bytes are to be sent.
    pub fn set_reply(&mut self, status: Status, value: u64, promise: Promise) {
        self.header.set_reply();
        self.signed.operation.set_reply(status, value);
        self.signed.promise = promise.code();
    }
}

/// Reply to a full transfer frame: the request's first 88 bytes with status, value and promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FullReply {
    /// Header with the request's id.
    pub header: FrameHeader,
    /// Status and value are set, the rest is the request's.
    pub operation: Operation,
    /// The request's.
    pub timestamp: U64,
    /// The request's.
    pub nonce: U32,
    /// A [`Promise`]: the one given.
    pub promise: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

impl FullReply {
    /// Bytes of the reply.
    pub const LENGTH: usize = 88;
}
