//! Requests and replies in datagrams (memcached's protocol.txt): eight bytes in front of each.

use crate::store::MAX_KEY;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, byteorder::network_endian::U16};

/// Bytes of a frame's header.
pub const HEADER: usize = size_of::<Frame>();

/// Longest datagram sent, which fits an Ethernet frame with room for tunnels. memcached's is as long.
pub const LONGEST: usize = 1400;

/// The header of every datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Frame {
    /// The client's number of the request, the same in all datagrams of the reply.
    pub request: U16,
    /// Which of the reply's datagrams this is.
    pub sequence: U16,
    /// How many there are.
    pub count: U16,
    /// Reserved.
    pub reserved: U16,
}

/// Splits a datagram into frame header and request; `None` if it is too short. A request in several datagrams is not
/// supported.
pub fn parse(datagram: &[u8]) -> Option<(&Frame, &[u8])> {
    Frame::ref_from_prefix(datagram).ok()
}

impl Frame {
    /// Whether the request is whole.
    pub fn is_single(&self) -> bool {
        self.count.get() <= 1 && self.sequence.get() == 0
    }
}

/// The key of a `get` of one key, by the same rules as `bpf/kv.h`: only spaces follow the key.
pub fn only_key(datagram: &[u8]) -> Option<&[u8]> {
    let (frame, text) = parse(datagram)?;
    let key = text.strip_prefix(b"get ")?.strip_suffix(b"\r\n")?.trim_ascii_end();
    let is_key = (1..=MAX_KEY).contains(&key.len()) && !key.iter().any(|byte| *byte <= b' ');
    (frame.is_single() && is_key).then_some(key)
}

/// Splits a reply into datagrams, each with its header. `None` if there are too many to number.
pub fn datagrams(request: U16, reply: &[u8], longest: usize) -> Option<impl Iterator<Item = (Frame, &[u8])>> {
    let room = longest - HEADER;
    let count = u16::try_from(reply.len().div_ceil(room)).ok()?;
    Some(reply.chunks(room).zip(0_u16..).map(move |(part, sequence)| {
        let frame = Frame { request, sequence: sequence.into(), count: count.into(), reserved: 0.into() };
        (frame, part)
    }))
}
