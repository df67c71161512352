//! The member change frame.

use crate::{ChangeFrame, FrameHeader, FrameType, Status, UnknownStatus};
use zerocopy::byteorder::big_endian::U16;

impl ChangeFrame {
    /// Bytes of an approval.
    pub const APPROVAL: usize = 184;

    /// A request.
    pub const fn new(id: u32, approval: [u8; Self::APPROVAL]) -> Self {
        Self { header: FrameHeader::new(FrameType::Change, id), status: U16::ZERO, reserved: [0; 6], approval }
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Turns the request into the reply, in place.
    pub fn set_reply(&mut self, status: Status) {
        self.header.set_reply();
        self.status = status.code().into();
        self.reserved = [0; 6];
    }

    pub(crate) fn check(&self) -> Status {
        if self.status == U16::ZERO && self.reserved == [0; 6] { Status::Ok } else { Status::Malformed }
    }
}
