//! Packet functions of the simulated NIC and its host besides [`frame`]: creating packets, finding their destination,
//! and replies to packets other than UDP.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;

use wire::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::backend::Peer;
use crate::frame::{self, Mac, Via, checksum};

const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const ICMP: u8 = 1;
/// Version 4, a header of five words.
const VERSION: u8 = 0x45;
/// All fragment bits except "do not fragment".
const FRAGMENT: u16 = 0xbfff;
const TIME_TO_LIVE: u8 = 64;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
/// Ethernet and IPv4, with their lengths (RFC 826).
const ARP_KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ARP_REQUEST: u16 = 1;
const ARP_REPLY: u16 = 2;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Ethernet {
    destination: Mac,
    source: Mac,
    kind: U16,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Ipv4 {
    version: u8,
    service: u8,
    length: U16,
    identification: U16,
    fragment: U16,
    time_to_live: u8,
    protocol: u8,
    checksum: U16,
    source: [u8; 4],
    destination: [u8; 4],
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Arp {
    kind: [u8; 6],
    operation: U16,
    sender_mac: Mac,
    sender: [u8; 4],
    target_mac: Mac,
    target: [u8; 4],
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Echo {
    kind: u8,
    code: u8,
    checksum: U16,
    rest: U32,
}

/// Creates a packet with a datagram to a peer, from `port` of the peer's `local` address. Both that and the route must
/// be known.
pub fn build(packet: &mut Vec<u8>, peer: &Peer, via: &Via, port: u16, payload: &[u8]) {
    packet.clear();
    packet.resize(frame::headers_length(peer, via), 0);
    packet.extend_from_slice(payload);
    frame::write_headers(packet, peer, via, port);
}

/// The destination of the datagram in a packet, as the peer to send it to, and the range of its payload.
pub fn destination(packet: &[u8], port: u8) -> Option<(Peer, Range<usize>)> {
    let (sender, place) = frame::parse(packet, port)?;
    // UDP's header ends where the payload begins.
    let (to, _) = U16::ref_from_prefix(&packet[place.start - 6..]).ok()?;
    let address = SocketAddr::new(sender.local?, to.get());
    let via = sender.via.map(Via::reversed);
    Some((Peer { address, local: Some(sender.address.ip()), connection: None, via }, place))
}

/// Replaces a packet that is not a datagram by the reply of a host with this address and hardware address. Returns
/// false if there is none.
pub fn answer(packet: &mut [u8], mac: Mac, address: Ipv4Addr) -> bool {
    answer_arp(packet, mac, address).or_else(|| answer_echo(packet, mac, address)).is_some()
}

/// Answers an ARP request for the host's hardware address.
fn answer_arp(packet: &mut [u8], mac: Mac, address: Ipv4Addr) -> Option<()> {
    let (ethernet, rest) = Ethernet::mut_from_prefix(packet).ok()?;
    let (arp, _) = Arp::mut_from_prefix(rest).ok()?;
    let asks = ethernet.kind.get() == ARP && arp.kind == ARP_KIND && arp.operation.get() == ARP_REQUEST;
    if !asks || arp.target != address.octets() {
        return None;
    }
    ethernet.destination = ethernet.source;
    ethernet.source = mac;
    arp.operation = U16::new(ARP_REPLY);
    (arp.target_mac, arp.sender_mac) = (arp.sender_mac, mac);
    std::mem::swap(&mut arp.sender, &mut arp.target);
    Some(())
}

/// Answers an echo request to the host.
fn answer_echo(packet: &mut [u8], mac: Mac, address: Ipv4Addr) -> Option<()> {
    let (ethernet, rest) = Ethernet::mut_from_prefix(packet).ok()?;
    let (ip, rest) = Ipv4::mut_from_prefix(rest).ok()?;
    let is_plain = ethernet.kind.get() == IPV4 && ip.version == VERSION && ip.fragment.get() & FRAGMENT == 0;
    if !is_plain || ip.protocol != ICMP || ip.destination != address.octets() || checksum(ip.as_bytes()) != 0 {
        return None;
    }
    // Short packets are padded.
    let body = rest.get_mut(..usize::from(ip.length.get()).checked_sub(size_of::<Ipv4>())?)?;
    let is_right = checksum(body) == 0;
    let (echo, _) = Echo::mut_from_prefix(body).ok()?;
    if !is_right || (echo.kind, echo.code) != (ECHO_REQUEST, 0) {
        return None;
    }
    ethernet.destination = ethernet.source;
    ethernet.source = mac;
    std::mem::swap(&mut ip.source, &mut ip.destination);
    ip.time_to_live = TIME_TO_LIVE;
    ip.checksum = U16::ZERO;
    ip.checksum = U16::new(checksum(ip.as_bytes()));
    echo.kind = ECHO_REPLY;
    echo.checksum = U16::ZERO;
    let sum = checksum(body);
    Echo::mut_from_prefix(body).ok()?.0.checksum = U16::new(sum);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: Mac = [2, 0, 0, 0, 0, 1];
    const OTHER: Mac = [2, 0, 0, 0, 0, 2];

    /// An echo request without data, and an ARP request, as Linux sends them.
    const PING: &str = "02000000000102000000000208004500001c00014000400126440a4d00020a4d00010800f7fd00010001";
    const WHO_HAS: &str = "ffffffffffff02000000000208060001080006040001020000000002\
                           0a4d00020000000000000a4d0001";

    fn bytes(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, last)
    }

    #[test]
    fn an_echo_is_answered() {
        let mut packet = bytes(PING);
        assert!(!answer(&mut packet.clone(), OWN, address(3)), "of another address");
        for at in 34..packet.len() {
            let mut damaged = packet.clone();
            damaged[at] ^= 1;
            assert!(!answer(&mut damaged, OWN, address(1)), "damaged at {at}");
        }
        assert!(answer(&mut packet, OWN, address(1)));
        assert_eq!(packet[..12], bytes("020000000002020000000001"));
        assert_eq!(packet[26..34], [10, 77, 0, 1, 10, 77, 0, 2]);
        assert_eq!((packet[34], checksum(&packet[14..34]), checksum(&packet[34..])), (0, 0, 0));
        assert!(!answer(&mut packet, OWN, address(2)), "an answer is not answered");
    }

    #[test]
    fn a_question_for_the_address_is_answered() {
        let mut packet = bytes(WHO_HAS);
        assert!(!answer(&mut packet.clone(), OWN, address(3)), "of another address");
        assert!(answer(&mut packet, OWN, address(1)));
        let expected = "02000000000202000000000108060001080006040002020000000001\
                        0a4d00010200000000020a4d0002";
        assert_eq!(packet, bytes(expected));
        assert!(!answer(&mut packet, OWN, address(2)), "an answer is not answered");
    }

    proptest! {
        #[test]
        fn what_is_built_is_for_whom_it_was_built(
            payload in proptest::collection::vec(any::<u8>(), 0..200), from: u16, to: u16, port: u8, ipv6: bool,
        ) {
            let ip = |last: u8| match ipv6 {
                true => std::net::Ipv6Addr::from([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]).into(),
                false => address(last).into(),
            };
            let via = Via::new(port, [OWN, OTHER], ipv6);
            let peer = Peer { local: Some(ip(1)), via: Some(via), ..Peer::new(SocketAddr::new(ip(2), to)) };
            let mut packet = vec![7; 3];
            build(&mut packet, &peer, &via, from, &payload);
            prop_assert_eq!(&packet[..12], [OTHER, OWN].as_flattened());
            let (found, place) = destination(&packet, port).unwrap();
            prop_assert_eq!((found, &packet[place]), (peer, payload.as_slice()));
            let (sender, _) = frame::parse(&packet, port).unwrap();
            prop_assert_eq!(sender.address, SocketAddr::new(ip(1), from));
        }

        #[test]
        fn anything_may_come(mut packet in proptest::collection::vec(any::<u8>(), 0..120), kind in 0..4) {
            if packet.len() > 24 {
                packet[12..14].copy_from_slice(&[[8, 0], [8, 6], [0x81, 0], [8, 0]][kind as usize]);
                packet[14] = 0x45;
            }
            let length = packet.len();
            answer(&mut packet, OWN, address(1));
            prop_assert_eq!(packet.len(), length);
        }
    }
}
