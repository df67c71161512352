//! The header of all frames but the compact one.

use crate::{FrameHeader, FrameType, MAGIC, REPLY_BIT, VERSION};
use zerocopy::byteorder::big_endian::{U16, U32};

impl FrameType {
    /// The type in the reply's header.
    pub const fn reply(self) -> u8 {
        self as u8 | REPLY_BIT
    }
}

impl FrameHeader {
    /// The header of a request.
    pub const fn new(kind: FrameType, id: u32) -> Self {
        Self::with_code(kind as u8, id)
    }

    pub(crate) const fn with_code(kind: u8, id: u32) -> Self {
        Self {
            magic: U16::from_bytes(MAGIC.to_be_bytes()),
            version: VERSION,
            kind,
            id: U32::from_bytes(id.to_be_bytes()),
        }
    }

    /// Turns a request's header into its reply's.
    pub fn set_reply(&mut self) {
        self.kind |= REPLY_BIT;
    }
}
