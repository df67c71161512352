//! The finality frame.

use crate::{FinalityFrame, FrameHeader, FrameType, Status, UnknownStatus};

impl FinalityFrame {
    /// The number of a node that votes in no set, because it will join or has left.
    pub const NO_REPLICA: u8 = u8::MAX;

    /// Length of a replica's key in bytes.
    pub const KEY: usize = 32;

    /// A request for this generation.
    pub fn new(id: u32, generation: u32) -> Self {
        Self { header: FrameHeader::new(FrameType::Finality, id), generation: generation.into(), ..Self::default() }
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Length of the whole reply, from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + usize::from(self.replicas) * Self::KEY + usize::from(self.certificate_size.get())
    }

    /// Turns the request into the reply that refuses it, in place: these 72 bytes.
    pub fn set_refusal(&mut self, status: Status) {
        *self = Self { status: status.code().into(), ..self.asked() };
        self.header.set_reply();
    }

    pub(crate) fn check(&self) -> Status {
        if *self == self.asked() { Status::Ok } else { Status::Malformed }
    }

    /// The fields of a request, with all others zero.
    fn asked(&self) -> Self {
        Self { header: self.header, generation: self.generation, ..Self::default() }
    }
}
