//! The full transfer frame.

use crate::{FrameHeader, FrameType, FullFrame, Promise, SignedOperation, Status};

impl FullFrame {
    /// The request of a signed operation.
    pub const fn new(id: u32, signed: SignedOperation) -> Self {
        Self { header: FrameHeader::new(FrameType::Full, id), signed }
    }

    /// Makes the reply, in place: its first [`FullReply::LENGTH`](crate::FullReply::LENGTH) bytes are to be sent.
    pub fn set_reply(&mut self, status: Status, value: u64, promise: Promise) {
        self.header.set_reply();
        self.signed.operation.set_reply(status, value);
        self.signed.promise = promise.code();
    }
}
