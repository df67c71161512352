//! Ethernet headers with up to two VLAN tags.

/// Length of a header without tags, in bytes.
pub const ETHERNET: usize = 14;
/// Length of a tag in bytes.
pub const VLAN: usize = 4;
/// Maximum number of VLAN tags.
pub const VLAN_TAGS: usize = 2;
/// Maximum length of a header in bytes.
const LINK_MOST: usize = ETHERNET + VLAN_TAGS * VLAN;

pub const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
pub const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
pub const ETHERTYPES_VLAN: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];

/// A hardware address.
pub type Mac = [u8; 6];

/// The route of a frame, by which its reply returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via {
    /// The queue of the interface.
    pub queue: u8,
    length: u8,
    /// The reply's link header: the request's, with its addresses exchanged.
    link: [u8; LINK_MOST],
}

impl Via {
    /// A route without VLAN tags, from one hardware address to another.
    pub fn new(queue: u8, [source, destination]: [Mac; 2], ipv6: bool) -> Self {
        let kind = if ipv6 { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 };
        let mut link = [0; LINK_MOST];
        for (byte, from) in link.iter_mut().zip(destination.into_iter().chain(source).chain(kind)) {
            *byte = from;
        }
        Self { queue, length: ETHERNET as u8, link }
    }

    /// The route back to the sender of a frame on a queue, from its link header with at most [`VLAN_TAGS`] tags.
    #[inline]
    pub(crate) fn of_request(queue: u8, link: &[u8]) -> Self {
        let mut via = Self { queue, length: link.len() as u8, link: [0; LINK_MOST] };
        via.link[..link.len()].copy_from_slice(link);
        via.reversed()
    }

    /// The route in the other direction.
    #[inline]
    pub fn reversed(mut self) -> Self {
        self.link[..12].rotate_left(6);
        self
    }

    /// The reply's link header.
    #[inline]
    pub(crate) fn link(&self) -> &[u8] {
        &self.link[..self.length.into()]
    }
}
