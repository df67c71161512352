//! Ethernet headers, with up to two VLAN tags: what is around the packets of a frame.

/// Bytes of a header without tags.
pub const ETHERNET: usize = 14;
/// Bytes of a tag.
pub const VLAN: usize = 4;
/// Tags at most.
pub const VLAN_TAGS: usize = 2;
/// Bytes of the longest header.
const LINK_MOST: usize = ETHERNET + VLAN_TAGS * VLAN;

pub const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
pub const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
pub const ETHERTYPES_VLAN: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];

/// A hardware address.
pub type Mac = [u8; 6];

/// The way that a frame came, and by which its reply goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via {
    /// The queue of the interface.
    pub queue: u8,
    length: u8,
    /// The reply's header of the link: its addresses are those of the request, exchanged.
    link: [u8; LINK_MOST],
}

impl Via {
    /// A way without VLAN tags, from one hardware address to another.
    pub fn new(queue: u8, [source, destination]: [Mac; 2], ipv6: bool) -> Self {
        let kind = if ipv6 { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 };
        let mut link = [0; LINK_MOST];
        for (byte, from) in link.iter_mut().zip(destination.into_iter().chain(source).chain(kind)) {
            *byte = from;
        }
        Self { queue, length: ETHERNET as u8, link }
    }

    /// The way back to where a frame came from on a queue, by its header of the link, which has [`VLAN_TAGS`] at most.
    #[inline]
    pub(crate) fn of_request(queue: u8, link: &[u8]) -> Self {
        let mut via = Self { queue, length: link.len() as u8, link: [0; LINK_MOST] };
        via.link[..link.len()].copy_from_slice(link);
        via.reversed()
    }

    /// The way back.
    #[inline]
    pub fn reversed(mut self) -> Self {
        self.link[..12].rotate_left(6);
        self
    }

    /// The reply's header of the link.
    #[inline]
    pub(crate) fn link(&self) -> &[u8] {
        &self.link[..self.length.into()]
    }
}
