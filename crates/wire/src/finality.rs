//! The finality frame.

use crate::{FrameHeader, FrameType, Status, UnknownStatus};
use zerocopy::byteorder::big_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Request of what replicas vouch for, 64 bytes, and the first 64 bytes of its reply; the keys of the replicas and the newest
/// certificate follow.
///
/// Zeros follow in the request up to the length of the largest reply that the client will take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FinalityFrame {
    /// Header.
    pub header: FrameHeader,
    /// A [`Status`]; 0 in requests.
    pub status: U16,
    /// Bytes of the certificate, 0 where there is none yet; 0 in requests, as are all fields behind.
    pub certificate_size: U16,
    /// How many replicas there are.
    pub replicas: u8,
    /// The number of the one that answers.
    pub replica: u8,
    /// The number of the one that leads.
    pub leader: u8,
    /// Zero.
    pub reserved: u8,
    /// The view that it leads.
    pub view: U64,
    /// Height of the last block that is final and executed by the one that answers.
    pub height: U64,
    /// Hash of its header.
    pub hash: [u8; 32],
}

impl FinalityFrame {
    /// Bytes of the request without its padding.
    pub const LENGTH: usize = 64;

    /// Bytes of a replica's key.
    pub const KEY: usize = 32;

    /// A request.
    pub fn new(id: u32) -> Self {
        Self { header: FrameHeader::new(FrameType::Finality, id), ..Self::default() }
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Bytes of the whole reply, from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + usize::from(self.replicas) * Self::KEY + usize::from(self.certificate_size.get())
    }

    /// Makes the reply that refuses the request, in place: these 64 bytes.
    pub fn set_refusal(&mut self, status: Status) {
        *self = Self { header: self.header, status: status.code().into(), ..Self::default() };
        self.header.set_reply();
    }

    pub(crate) fn check(&self) -> Status {
        let request = Self { header: self.header, ..Self::default() };
        if *self == request { Status::Ok } else { Status::Malformed }
    }
}
