//! The full transfer frame.

use crate::{FrameHeader, FrameType, FullFrame, FullReply, Promise, SignedOperation, Status};

impl FullFrame {
    /// The request for a signed operation.
    pub const fn new(id: u32, signed: SignedOperation) -> Self {
        Self { header: FrameHeader::new(FrameType::Full, id), signed }
    }

    /// Turns the request into the reply, in place. Only its first [`FullReply::LENGTH`](crate::FullReply::LENGTH) bytes
    /// are sent.
    pub fn set_reply(&mut self, status: Status, value: u64, promise: Promise) {
        self.header.set_reply();
        self.signed.operation.set_reply(status, value);
        self.signed.promise = promise.code();
    }
}

impl FullReply {
    /// Turns the request, or another reply, into a refusal, in place.
    pub(crate) fn set_refusal(&mut self, status: Status) {
        self.header.set_reply();
        self.operation.set_reply(status, 0);
        self.promise = Promise::Default.code();
    }
}
