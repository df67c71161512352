//! The finality frame.

use crate::{FrameHeader, FrameType, Status, UnknownStatus};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Request of what replicas vouch for, 72 bytes, and the first 72 bytes of its reply; the keys of the replicas of a generation and
/// a certificate follow.
///
/// Of the newest generation the certificate is the newest one. Of one before it is the change that ended the generation, with the
/// signatures that make it hold.
///
/// Zeros follow in the request up to the length of the largest reply that the client will take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FinalityFrame {
    /// Header.
    pub header: FrameHeader,
    /// A [`Status`]; 0 in requests.
    pub status: U16,
    /// Bytes of the certificate, 0 where there is none yet; 0 in requests, as are all fields behind but the generation.
    pub certificate_size: U16,
    /// How many replicas the generation has.
    pub replicas: u8,
    /// The number of the one that answers in the set that votes, or [`Self::NO_REPLICA`].
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
    /// The generation that is asked for, and that the reply is about.
    pub generation: U32,
    /// The newest generation.
    pub generations: U32,
}

impl FinalityFrame {
    /// Bytes of the request without its padding.
    pub const LENGTH: usize = 72;

    /// The number of who votes in no set: who is to join, or has left.
    pub const NO_REPLICA: u8 = u8::MAX;

    /// Bytes of a replica's key.
    pub const KEY: usize = 32;

    /// A request of this generation.
    pub fn new(id: u32, generation: u32) -> Self {
        Self { header: FrameHeader::new(FrameType::Finality, id), generation: generation.into(), ..Self::default() }
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Bytes of the whole reply, from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + usize::from(self.replicas) * Self::KEY + usize::from(self.certificate_size.get())
    }

    /// Makes the reply that refuses the request, in place: these 72 bytes.
    pub fn set_refusal(&mut self, status: Status) {
        *self = Self { status: status.code().into(), ..self.asked() };
        self.header.set_reply();
    }

    pub(crate) fn check(&self) -> Status {
        if *self == self.asked() { Status::Ok } else { Status::Malformed }
    }

    /// The fields that a request has, and nothing else.
    fn asked(&self) -> Self {
        Self { header: self.header, generation: self.generation, ..Self::default() }
    }
}
