//! Network frames around datagrams: Ethernet, up to two VLAN tags, IPv4 without options or IPv6 without extension
//! headers, UDP. The XDP program redirects only such frames. Twin of `bpf/packet.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

use crate::backend::Peer;
use crate::ethernet::{ETHERNET, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPES_VLAN, VLAN, VLAN_TAGS};
pub use crate::ethernet::{Mac, Via};

const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;

const PROTOCOL_UDP: u8 = 17;

/// The usual default (RFC 1700).
const TIME_TO_LIVE: u8 = 64;

/// The sum of the Internet checksum (RFC 1071), in the machine's byte order, on which it does not depend.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum::<u64>() + u64::from(u32::from_ne_bytes(last))
}

/// Folds a sum to 16 bits.
fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The Internet checksum of a part of a packet: 0 if the part contains a correct one.
pub fn checksum(bytes: &[u8]) -> u16 {
    !fold(sum(bytes)).to_be()
}

/// The sum of the pseudo header: addresses, protocol, length.
fn pseudo(addresses: &[u8], length: u16) -> u64 {
    let [high, low] = length.to_be_bytes();
    sum(addresses) + sum(&[0, PROTOCOL_UDP, high, low])
}

fn number(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Parses a frame from a queue: returns the datagram's sender, and the range of its payload. `None` for other frames,
/// and if a checksum is wrong.
pub fn parse(frame: &[u8], queue: u8) -> Option<(Peer, Range<usize>)> {
    let mut link = ETHERNET;
    let mut kind: [u8; 2] = frame.get(12..14)?.try_into().ok()?;
    for _ in 0..VLAN_TAGS {
        if ETHERTYPES_VLAN.contains(&kind) {
            kind = frame.get(link + 2..link + 4)?.try_into().ok()?;
            link += VLAN;
        }
    }
    let packet = &frame[link..];
    // Length of the header, position of its addresses, and length of what follows.
    let (header, addresses, length) = match kind {
        ETHERTYPE_IPV4 => {
            let ip = packet.get(..IPV4)?;
            let is_whole = number(ip, 6) & 0x3fff == 0;
            if ip[0] != 0x45 || !is_whole || ip[9] != PROTOCOL_UDP || fold(sum(ip)) != 0xffff {
                return None;
            }
            (IPV4, 12..20, usize::from(number(ip, 2)).checked_sub(IPV4)?)
        }
        ETHERTYPE_IPV6 => {
            let ip = packet.get(..IPV6)?;
            if ip[0] >> 4 != 6 || ip[6] != PROTOCOL_UDP {
                return None;
            }
            (IPV6, 8..40, usize::from(number(ip, 4)))
        }
        _ => return None,
    };
    let datagram = packet.get(header..header + length)?;
    if length < UDP || usize::from(number(datagram, 4)) != length {
        return None;
    }
    let addresses = &packet[addresses];
    if !checksum_is_right(datagram, pseudo(addresses, length as u16), header == IPV6) {
        return None;
    }
    let ip = |bytes: &[u8]| match <[u8; 4]>::try_from(bytes) {
        Ok(v4) => Some(IpAddr::V4(Ipv4Addr::from(v4))),
        Err(_) => <[u8; 16]>::try_from(bytes).ok().map(|v6| IpAddr::V6(Ipv6Addr::from(v6))),
    };
    let (source, destination) = addresses.split_at(addresses.len() / 2);
    let (source, destination) = (ip(source)?, ip(destination)?);
    // IPv4 addresses mapped into IPv6 do not appear on a wire.
    if source.to_canonical() != source || destination.to_canonical() != destination {
        return None;
    }
    let via = Via::of_request(queue, &frame[..link]);
    let start = link + header + UDP;
    let mut peer = Peer::new(SocketAddr::new(source, number(datagram, 0)));
    (peer.local, peer.via) = (Some(destination), Some(via));
    Some((peer, start..link + header + length))
}

/// Whether the checksum of a datagram is correct.
fn checksum_is_right(datagram: &[u8], pseudo: u64, ipv6: bool) -> bool {
    match u16::from_ne_bytes([datagram[6], datagram[7]]) {
        // No checksum was sent, which IPv6 does not allow.
        0 => !ipv6,
        // Not computed, because the sender is on this machine and left it to a device.
        checksum if checksum == fold(pseudo) => true,
        _ => fold(pseudo + sum(datagram)) == 0xffff,
    }
}

/// Length of the headers before a payload to a peer on this route.
pub fn headers_length(peer: &Peer, via: &Via) -> usize {
    via.link().len() + if peer.address.is_ipv4() { IPV4 } else { IPV6 } + UDP
}

/// Writes the headers of a reply from `port` before its payload, which ends `frame`. They are as long as those of the
/// request.
pub fn write_headers(frame: &mut [u8], peer: &Peer, via: &Via, port: u16) {
    let (link, packet) = frame.split_at_mut(via.link().len());
    link.copy_from_slice(via.link());
    let total = packet.len() as u16;
    let (header, addresses) = match (peer.local, peer.address.ip()) {
        (Some(IpAddr::V4(local)), IpAddr::V4(remote)) => {
            let ip = &mut packet[..IPV4];
            // Do not fragment, so no identification is needed (RFC 6864).
            ip[..10].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, TIME_TO_LIVE, PROTOCOL_UDP]);
            ip[2..4].copy_from_slice(&total.to_be_bytes());
            ip[10..12].fill(0);
            ip[12..16].copy_from_slice(&local.octets());
            ip[16..20].copy_from_slice(&remote.octets());
            let checksum = !fold(sum(ip));
            ip[10..12].copy_from_slice(&checksum.to_ne_bytes());
            (IPV4, 12..20)
        }
        (Some(IpAddr::V6(local)), IpAddr::V6(remote)) => {
            let ip = &mut packet[..IPV6];
            ip[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, PROTOCOL_UDP, TIME_TO_LIVE]);
            ip[4..6].copy_from_slice(&(total - IPV6 as u16).to_be_bytes());
            ip[8..24].copy_from_slice(&local.octets());
            ip[24..40].copy_from_slice(&remote.octets());
            (IPV6, 8..40)
        }
        _ => unreachable!("a peer that came on a frame has both addresses, of one family"),
    };
    let (ip, datagram) = packet.split_at_mut(header);
    let length = datagram.len() as u16;
    for (field, value) in datagram.as_chunks_mut::<2>().0.iter_mut().zip([port, peer.address.port(), length, 0]) {
        *field = value.to_be_bytes();
    }
    let checksum = match !fold(pseudo(&ip[addresses], length) + sum(datagram)) {
        // Sent in its other representation: zero means no checksum (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    datagram[6..8].copy_from_slice(&checksum.to_ne_bytes());
}
