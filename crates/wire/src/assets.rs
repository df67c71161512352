//! The assets frame.

use crate::{AssetTotal, AssetsFrame, FrameHeader, FrameType, MAX_DATAGRAM, Status, UnknownStatus};
use zerocopy::byteorder::big_endian::{U16, U32};

impl AssetsFrame {
    /// Maximum number of entries: those that fit in the longest datagram.
    pub const MAX_ENTRIES: usize = (MAX_DATAGRAM - Self::LENGTH) / AssetTotal::LENGTH;

    /// A request for `count` assets, from the code `first` on.
    pub fn new(id: u32, first: u32, count: u16) -> Self {
        Self {
            header: FrameHeader::new(FrameType::Assets, id),
            count: U16::new(count),
            first_asset: U32::new(first),
            ..Self::default()
        }
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Length of the whole reply, from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + usize::from(self.count.get()) * AssetTotal::LENGTH
    }

    /// Turns the request into the reply that refuses it, in place: these 32 bytes.
    pub fn set_refusal(&mut self, status: Status) {
        *self = Self { status: U16::new(status.code()), count: U16::ZERO, ..self.asked() };
        self.header.set_reply();
    }

    pub(crate) fn check(&self) -> Status {
        if self.count.get() > 0 && *self == self.asked() { Status::Ok } else { Status::Malformed }
    }

    /// The fields of a request, with all others zero.
    fn asked(&self) -> Self {
        let Self { header, count, first_asset, .. } = *self;
        Self { header, count, first_asset, ..Self::default() }
    }
}

impl AssetTotal {
    /// The issued amount of an asset.
    pub fn new(asset: u32, issued: u128) -> Self {
        Self { asset: U32::new(asset), reserved: U32::ZERO, issued: issued.to_be_bytes() }
    }

    /// The issued amount.
    pub fn issued(&self) -> u128 {
        u128::from_be_bytes(self.issued)
    }
}
