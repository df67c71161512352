//! The headers frame.

use crate::{Chain, FrameHeader, FrameType, HeadersFrame, Status, UnknownStatus};
use zerocopy::byteorder::big_endian::{U16, U64};

impl HeadersFrame {
    /// A request for `count` headers from a height on; 0 to ask for the tip only.
    pub const fn new(id: u32, chain: Chain, first_height: u64, count: u16) -> Self {
        Self {
            header: FrameHeader::new(FrameType::Headers, id),
            chain: chain.code(),
            reserved: 0,
            status: U16::ZERO,
            count: U16::from_bytes(count.to_be_bytes()),
            header_size: U16::ZERO,
            first_height: U64::from_bytes(first_height.to_be_bytes()),
            tip_height: U64::ZERO,
            tip_hash: [0; 32],
        }
    }

    /// Bytes of a chain's header; a header of the own chain includes its seal.
    pub const fn size_of_header(chain: Chain) -> usize {
        match chain {
            Chain::Own => 192,
            Chain::Bitcoin => 80,
        }
    }

    /// The chain, or `UNKNOWN_CHAIN`.
    pub fn chain(&self) -> Result<Chain, Status> {
        Chain::try_from(self.chain)
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Bytes of the whole reply, computed from its own fields.
    pub fn frame_length(&self) -> usize {
        Self::LENGTH + usize::from(self.count.get()) * usize::from(self.header_size.get())
    }

    /// Turns the first 64 bytes of the request into the reply's, in place.
    ///
    /// The caller makes sure that `given` headers fit the request's length.
    pub fn set_reply(&mut self, chain: Chain, given: u16, tip_height: u64, tip_hash: [u8; 32]) {
        self.header.set_reply();
        self.status = U16::new(Status::Ok.code());
        self.count = U16::new(given);
        self.header_size = U16::new(Self::size_of_header(chain) as u16);
        self.tip_height = U64::new(tip_height);
        self.tip_hash = tip_hash;
    }

    /// Turns the request into a refusal, in place: these 64 bytes.
    pub fn set_refusal(&mut self, status: Status) {
        self.header.set_reply();
        self.status = U16::new(status.code());
        self.count = U16::ZERO;
    }

    pub(crate) fn check(&self) -> Status {
        let reserved = self.reserved == 0
            && self.status.get() == 0
            && self.header_size.get() == 0
            && self.tip_height.get() == 0
            && self.tip_hash == [0; 32];
        match self.chain() {
            _ if !reserved => Status::Malformed,
            Ok(_) => Status::Ok,
            Err(status) => status,
        }
    }
}
