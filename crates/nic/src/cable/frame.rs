//! Frames on the cable: segments and acknowledgements of the link ("TL"), and accesses to registers ("TR").

use wire::{U16, U32};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::layout::{AddressWord, LINK_MAGIC, LinkWord, REGISTER_MAGIC, RegisterWord};
pub use super::layout::{ETHER_TYPE, SEGMENT_BYTES};
use crate::ethernet::Mac;
use crate::rtl::model::Meta;

/// Length of both header words in bytes.
pub const HEADER_BYTES: usize = size_of::<AddressWord>() + size_of::<LinkWord>();

/// Hardware addresses of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The recipient's.
    pub destination: Mac,
    /// The sender's.
    pub source: Mac,
}

/// A part of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its number.
    pub number: u16,
    /// Whether it begins a packet.
    pub first: bool,
    /// Whether it ends a packet.
    pub last: bool,
    /// The packet's kind, port and id.
    pub meta: Meta,
    /// From 1 to [`SEGMENT_BYTES`] bytes.
    pub payload: &'a [u8],
}

/// A frame of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFrame<'a> {
    /// The session, chosen by the node.
    pub session: u32,
    /// The number that the sender expects next.
    pub expected: u16,
    /// `None` in a frame that only acknowledges.
    pub segment: Option<Segment<'a>>,
}

/// An access to a register, or the board's reply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Chosen by the node; the reply has it, too.
    pub tag: u32,
    /// Whether it writes.
    pub is_write: bool,
    /// Whether it is the reply.
    pub is_reply: bool,
    /// The register.
    pub address: u16,
    /// To write, written, or read.
    pub value: u32,
}

/// A frame on the cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A frame of the link.
    Link(LinkFrame<'a>),
    /// An access to a register.
    Access(Access),
}

/// Why bytes are not a frame of the cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It has no room for both header words.
    #[error("frame has {0} bytes; the header takes {HEADER_BYTES}")]
    Short(usize),
    /// It belongs to another protocol.
    #[error("frame has EtherType {ether_type:#06x} and type {magic:#06x}")]
    Foreign {
        /// Its EtherType.
        ether_type: u16,
        /// The two bytes after it.
        magic: u16,
    },
    /// Flags are set that do not exist, or that contradict each other.
    #[error("frame has the flags {0:#x}")]
    Flags(u16),
    /// A segment has no byte, more than [`SEGMENT_BYTES`], or more than the frame.
    #[error("segment of {length} bytes in a frame with {room}")]
    Length {
        /// Length in the header.
        length: u16,
        /// Bytes after the header.
        room: usize,
    },
}

impl<'a> Frame<'a> {
    /// Parses a frame without FCS; it may be padded.
    pub fn parse(bytes: &'a [u8]) -> Result<(Addresses, Self), FrameError> {
        let short = FrameError::Short(bytes.len());
        let (first, rest) = AddressWord::ref_from_prefix(bytes).map_err(|_| short)?;
        let addresses = Addresses { destination: first.destination, source: first.source };
        let foreign = FrameError::Foreign { ether_type: first.ether_type.get(), magic: first.magic.get() };
        if first.ether_type.get() != ETHER_TYPE {
            return Err(foreign);
        }
        let frame = match first.magic.get() {
            LINK_MAGIC => {
                let (word, rest) = LinkWord::ref_from_prefix(rest).map_err(|_| short)?;
                Self::Link(LinkFrame::parse(word, rest)?)
            }
            REGISTER_MAGIC => {
                let (word, _) = RegisterWord::ref_from_prefix(rest).map_err(|_| short)?;
                Self::Access(Access::parse(word)?)
            }
            _ => return Err(foreign),
        };
        Ok((addresses, frame))
    }

    /// Writes the frame into a buffer, without padding and FCS.
    pub fn write(&self, addresses: Addresses, bytes: &mut Vec<u8>) {
        let magic = match self {
            Self::Link(_) => LINK_MAGIC,
            Self::Access(_) => REGISTER_MAGIC,
        };
        let Addresses { destination, source } = addresses;
        let first = AddressWord { destination, source, ether_type: U16::new(ETHER_TYPE), magic: U16::new(magic) };
        bytes.clear();
        bytes.extend_from_slice(first.as_bytes());
        match self {
            Self::Link(frame) => frame.write(bytes),
            Self::Access(access) => bytes.extend_from_slice(access.word().as_bytes()),
        }
    }
}

impl<'a> LinkFrame<'a> {
    fn parse(word: &LinkWord, rest: &'a [u8]) -> Result<Self, FrameError> {
        let flags = word.flags.get();
        let has_data = flags & LinkWord::HAS_DATA != 0;
        if flags & !(LinkWord::HAS_DATA | LinkWord::FIRST | LinkWord::LAST) != 0 || (!has_data && flags != 0) {
            return Err(FrameError::Flags(flags));
        }
        let length = usize::from(word.length.get());
        let segment = if has_data {
            let error = FrameError::Length { length: word.length.get(), room: rest.len() };
            if length == 0 || length > SEGMENT_BYTES {
                return Err(error);
            }
            Some(Segment {
                number: word.number.get(),
                first: flags & LinkWord::FIRST != 0,
                last: flags & LinkWord::LAST != 0,
                meta: Meta { kind: word.kind, port: word.port, id: word.id.get() },
                payload: rest.get(..length).ok_or(error)?,
            })
        } else {
            None
        };
        Ok(Self { session: word.session.get(), expected: word.expected.get(), segment })
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let mut word =
            LinkWord { session: U32::new(self.session), expected: U16::new(self.expected), ..LinkWord::new_zeroed() };
        let mut payload = [].as_slice();
        if let Some(segment) = &self.segment {
            let ends = flag(segment.first, LinkWord::FIRST) | flag(segment.last, LinkWord::LAST);
            payload = &segment.payload[..segment.payload.len().min(SEGMENT_BYTES)];
            word.flags = U16::new(LinkWord::HAS_DATA | ends);
            word.length = U16::new(payload.len() as u16);
            word.number = U16::new(segment.number);
            word.id = U16::new(segment.meta.id);
            (word.port, word.kind) = (segment.meta.port, segment.meta.kind);
        }
        bytes.extend_from_slice(word.as_bytes());
        bytes.extend_from_slice(payload);
    }
}

/// The flag if it is set.
fn flag(is_set: bool, flag: u16) -> u16 {
    if is_set { flag } else { 0 }
}

impl Access {
    fn parse(word: &RegisterWord) -> Result<Self, FrameError> {
        let flags = word.flags.get();
        if flags & !(RegisterWord::IS_WRITE | RegisterWord::IS_REPLY) != 0 {
            return Err(FrameError::Flags(flags));
        }
        Ok(Self {
            tag: word.tag.get(),
            is_write: flags & RegisterWord::IS_WRITE != 0,
            is_reply: flags & RegisterWord::IS_REPLY != 0,
            address: word.address.get(),
            value: word.value.get(),
        })
    }

    fn word(&self) -> RegisterWord {
        let flags = flag(self.is_write, RegisterWord::IS_WRITE) | flag(self.is_reply, RegisterWord::IS_REPLY);
        RegisterWord {
            tag: U32::new(self.tag),
            flags: U16::new(flags),
            address: U16::new(self.address),
            value: U32::new(self.value),
            reserved_end: U32::ZERO,
        }
    }
}
