//! The header of all frames but the compact one.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// "TP": no compact frame starts so, because commands are small numbers.
pub const MAGIC: u16 = 0x5450;

/// The protocol's version.
pub const VERSION: u8 = 1;

/// Added to a request's type in its reply.
pub const REPLY_BIT: u8 = 0x80;

/// Type of a frame with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameType {
    /// Full transfer frame.
    Full = 0x01,
    /// Batch frame.
    Batch = 0x02,
    /// Proof frame.
    Proof = 0x03,
    /// Headers frame.
    Headers = 0x04,
    /// Info frame.
    Info = 0x05,
    /// Verify frame.
    Verify = 0x06,
}

impl FrameType {
    /// The type in the header of the reply.
    pub const fn reply(self) -> u8 {
        self as u8 | REPLY_BIT
    }
}

impl TryFrom<u8> for FrameType {
    type Error = u8;

    /// The type of a request's code, or the code where there is none.
    fn try_from(code: u8) -> Result<Self, u8> {
        Ok(match code {
            0x01 => Self::Full,
            0x02 => Self::Batch,
            0x03 => Self::Proof,
            0x04 => Self::Headers,
            0x05 => Self::Info,
            0x06 => Self::Verify,
            _ => return Err(code),
        })
    }
}

/// The first 8 bytes of all frames but the compact one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FrameHeader {
    /// [`MAGIC`].
    pub magic: U16,
    /// [`VERSION`].
    pub version: u8,
    /// A [`FrameType`], with [`REPLY_BIT`] in replies; `0xff` is an error.
    pub kind: u8,
    /// Chosen by the client, echoed.
    pub id: U32,
}

impl FrameHeader {
    /// Bytes of the header.
    pub const LENGTH: usize = 8;

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
