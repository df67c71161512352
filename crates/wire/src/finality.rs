//! The finality frame.

use crate::{FinalityFrame, FrameHeader, FrameType, Status, UnknownStatus};

impl FinalityFrame {
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
