//! The info frame.

use crate::{FrameHeader, FrameType, Promise, Status, UnknownStatus};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Request and reply of what a node is, 128 bytes; all zero behind the header in requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct InfoFrame {
    /// Header.
    pub header: FrameHeader,
    /// A [`Status`].
    pub status: U16,
    /// A [`Promise`]: the one that compact frames are answered under.
    pub promise: u8,
    /// [`Self::SERVES_BITCOIN`], [`Self::READS_ONLY`].
    pub flags: u8,
    /// Length of the largest datagram that is taken.
    pub max_datagram: U32,
    /// Hash of the genesis header.
    pub network: [u8; 32],
    /// Height of the own tip.
    pub tip_height: U64,
    /// Hash of the own tip.
    pub tip_hash: [u8; 32],
    /// Height of the Bitcoin tip.
    pub bitcoin_height: U64,
    /// Number of accounts.
    pub accounts: U64,
    /// Last durable sequence.
    pub durable_sequence: U64,
    /// Program version, ASCII, zero padded.
    pub program: [u8; 12],
    /// For how many milliseconds after an operation its retry is recognised; 0 where a node does not tell.
    pub retry_milliseconds: U32,
}

impl InfoFrame {
    /// Bytes of the frame.
    pub const LENGTH: usize = 128;

    /// Flag: the node serves Bitcoin.
    pub const SERVES_BITCOIN: u8 = 1;

    /// Flag: the node answers reads only, because its storage failed.
    pub const READS_ONLY: u8 = 2;

    /// A request.
    pub fn new(id: u32) -> Self {
        Self { header: FrameHeader::new(FrameType::Info, id), ..Self::default() }
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// The promise of compact frames.
    pub fn promise(&self) -> Result<Promise, Status> {
        Promise::try_from(self.promise)
    }

    /// Whether the node serves Bitcoin.
    pub fn serves_bitcoin(&self) -> bool {
        self.flags & Self::SERVES_BITCOIN != 0
    }

    /// Whether the node answers reads only.
    pub fn reads_only(&self) -> bool {
        self.flags & Self::READS_ONLY != 0
    }

    /// The program's version, as far as it is ASCII.
    pub fn program(&self) -> &str {
        let end = self.program.iter().position(|&byte| !byte.is_ascii_graphic()).unwrap_or(self.program.len());
        self.program.get(..end).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or("")
    }

    /// The field of a version, cut where it is longer.
    pub fn program_field(version: &str) -> [u8; 12] {
        let mut field = [0; 12];
        for (to, from) in field.iter_mut().zip(version.bytes()) {
            *to = from;
        }
        field
    }

    pub(crate) fn check(&self) -> Status {
        let request = Self { header: self.header, ..Self::default() };
        if *self == request { Status::Ok } else { Status::Malformed }
    }
}
