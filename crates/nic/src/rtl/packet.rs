//! Packets as they are on the network: Ethernet, IPv4 and UDP; ARP and echo requests.
//!
//! Only what the simulated NIC and its host need: no VLAN tags, no IPv4 options, no fragments. What is not understood is
//! [`Packet::Other`], and left alone.

use std::net::{Ipv4Addr, SocketAddrV4};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use wire::{U16, U32};

/// A hardware address.
pub type Mac = [u8; 6];

/// Goes to everybody.
pub const BROADCAST: Mac = [0xff; 6];

/// Headers before a UDP payload.
pub const HEADERS: usize = size_of::<Ethernet>() + size_of::<Ipv4>() + size_of::<Udp>();

const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const ICMP: u8 = 1;
const UDP: u8 = 17;
/// Version 4, a header of five words.
const VERSION: u8 = 0x45;
const DONT_FRAGMENT: u16 = 0x4000;
/// All fragment bits but [`DONT_FRAGMENT`].
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
struct Udp {
    source: U16,
    destination: U16,
    length: U16,
    checksum: U16,
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

/// What a packet is.
#[derive(Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A datagram, whose checksums are right.
    Datagram {
        /// Hardware address of the sender.
        mac: Mac,
        /// From whom.
        from: SocketAddrV4,
        /// To whom.
        to: SocketAddrV4,
        /// What.
        payload: &'a [u8],
    },
    /// Somebody asks which hardware address an IPv4 address has.
    WhoHas(Ipv4Addr),
    /// Somebody asks an IPv4 address for an echo.
    Echo(Ipv4Addr),
    /// Anything else.
    Other,
}

/// Tells what a packet is.
pub fn parse(packet: &[u8]) -> Packet<'_> {
    recognise(packet).unwrap_or(Packet::Other)
}

fn recognise(packet: &[u8]) -> Option<Packet<'_>> {
    let (ethernet, rest) = Ethernet::ref_from_prefix(packet).ok()?;
    if ethernet.kind.get() == ARP {
        let (arp, _) = Arp::ref_from_prefix(rest).ok()?;
        let asks = arp.kind == ARP_KIND && arp.operation.get() == ARP_REQUEST;
        return asks.then(|| Packet::WhoHas(arp.target.into()));
    }
    let (ip, _) = Ipv4::ref_from_prefix(rest).ok()?;
    let plain = ethernet.kind.get() == IPV4 && ip.version == VERSION && ip.fragment.get() & FRAGMENT == 0;
    if !plain || checksum(0, ip.as_bytes()) != 0 {
        return None;
    }
    // Short packets are padded.
    let body = rest.get(size_of::<Ipv4>()..usize::from(ip.length.get()))?;
    match ip.protocol {
        UDP => {
            let (udp, _) = Udp::ref_from_prefix(body).ok()?;
            let body = body.get(..usize::from(udp.length.get()))?;
            if udp.checksum.get() != 0 && checksum(pseudo(ip, body.len()), body) != 0 {
                return None;
            }
            Some(Packet::Datagram {
                mac: ethernet.source,
                from: SocketAddrV4::new(ip.source.into(), udp.source.get()),
                to: SocketAddrV4::new(ip.destination.into(), udp.destination.get()),
                payload: body.get(size_of::<Udp>()..)?,
            })
        }
        ICMP => {
            let (echo, _) = Echo::ref_from_prefix(body).ok()?;
            let asks = echo.kind == ECHO_REQUEST && echo.code == 0 && checksum(0, body) == 0;
            asks.then(|| Packet::Echo(ip.destination.into()))
        }
        _ => None,
    }
}

/// Writes a datagram as a packet over `packet`. The payload is no longer than fits IPv4.
pub fn datagram(packet: &mut Vec<u8>, macs: [Mac; 2], from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) {
    let udp_length = size_of::<Udp>() + payload.len();
    let length = size_of::<Ipv4>() + udp_length;
    debug_assert!(length <= usize::from(u16::MAX), "fits IPv4");
    let mut ip = Ipv4 {
        version: VERSION,
        service: 0,
        length: U16::new(length as u16),
        identification: U16::ZERO,
        fragment: U16::new(DONT_FRAGMENT),
        time_to_live: TIME_TO_LIVE,
        protocol: UDP,
        checksum: U16::ZERO,
        source: from.ip().octets(),
        destination: to.ip().octets(),
    };
    ip.checksum = U16::new(checksum(0, ip.as_bytes()));
    let mut udp = Udp {
        source: U16::new(from.port()),
        destination: U16::new(to.port()),
        length: U16::new(udp_length as u16),
        checksum: U16::ZERO,
    };
    let sum = checksum(sum(pseudo(&ip, udp_length), udp.as_bytes()), payload);
    // Zero means that there is none (RFC 768).
    udp.checksum = U16::new(if sum == 0 { u16::MAX } else { sum });
    let [source, destination] = macs;
    packet.clear();
    packet.extend_from_slice(Ethernet { destination, source, kind: U16::new(IPV4) }.as_bytes());
    packet.extend_from_slice(ip.as_bytes());
    packet.extend_from_slice(udp.as_bytes());
    packet.extend_from_slice(payload);
}

/// What a host that has `address`, at hardware address `mac`, answers to requests below UDP, if anything: the answer is
/// written over the packet.
pub fn answer(packet: &mut [u8], mac: Mac, address: Ipv4Addr) -> bool {
    match parse(packet) {
        Packet::WhoHas(asked) if asked == address => answer_arp(packet, mac).is_some(),
        Packet::Echo(asked) if asked == address => answer_echo(packet, mac).is_some(),
        _ => false,
    }
}

fn answer_arp(packet: &mut [u8], mac: Mac) -> Option<()> {
    let (ethernet, rest) = Ethernet::mut_from_prefix(packet).ok()?;
    let (arp, _) = Arp::mut_from_prefix(rest).ok()?;
    ethernet.destination = ethernet.source;
    ethernet.source = mac;
    arp.operation = U16::new(ARP_REPLY);
    (arp.target_mac, arp.sender_mac) = (arp.sender_mac, mac);
    std::mem::swap(&mut arp.sender, &mut arp.target);
    Some(())
}

fn answer_echo(packet: &mut [u8], mac: Mac) -> Option<()> {
    let (ethernet, rest) = Ethernet::mut_from_prefix(packet).ok()?;
    let (ip, rest) = Ipv4::mut_from_prefix(rest).ok()?;
    ethernet.destination = ethernet.source;
    ethernet.source = mac;
    std::mem::swap(&mut ip.source, &mut ip.destination);
    ip.time_to_live = TIME_TO_LIVE;
    ip.checksum = U16::ZERO;
    ip.checksum = U16::new(checksum(0, ip.as_bytes()));
    let body = rest.get_mut(..usize::from(ip.length.get()) - size_of::<Ipv4>())?;
    let (echo, _) = Echo::mut_from_prefix(body).ok()?;
    echo.kind = ECHO_REPLY;
    echo.checksum = U16::ZERO;
    let checksum = checksum(0, body);
    Echo::mut_from_prefix(body).ok()?.0.checksum = U16::new(checksum);
    Some(())
}

/// The sum of the header that UDP's checksum covers beside the datagram (RFC 768).
fn pseudo(ip: &Ipv4, length: usize) -> u32 {
    sum(sum(u32::from(UDP) + length as u32, &ip.source), &ip.destination)
}

/// The sum of 16-bit words (RFC 1071), carries not brought around: there is room for those of 64 KiB.
fn sum(begin: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let sum = words.iter().fold(begin, |sum, word| sum + u32::from(u16::from_be_bytes(*word)));
    sum + rest.first().map_or(0, |last| u32::from(*last) << 8)
}

fn checksum(begin: u32, bytes: &[u8]) -> u16 {
    let mut sum = sum(begin, bytes);
    while sum > u32::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: Mac = [2, 0, 0, 0, 0, 1];
    const OTHER: Mac = [2, 0, 0, 0, 0, 2];

    /// An echo request without data, and a question, as Linux sends them.
    const PING: &str = "02000000000102000000000208004500001c00014000400126440a4d00020a4d00010800f7fd00010001";
    const WHO_HAS: &str = "ffffffffffff0200000000020806000108000604000102000000000\
                           20a4d00020000000000000a4d0001";

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
        assert_eq!(parse(&packet), Packet::Echo(address(1)));
        assert!(!answer(&mut packet.clone(), OWN, address(3)), "of another address");
        assert!(answer(&mut packet, OWN, address(1)));
        assert_eq!(packet[..12], bytes("020000000002020000000001"));
        assert_eq!(packet[26..34], [10, 77, 0, 1, 10, 77, 0, 2]);
        assert_eq!((packet[34], checksum(0, &packet[14..34]), checksum(0, &packet[34..])), (0, 0, 0));
        assert_eq!(parse(&packet), Packet::Other, "an answer is not answered");
        packet[40] ^= 1;
        assert!(!answer(&mut packet, OWN, address(1)));
    }

    #[test]
    fn a_question_for_the_address_is_answered() {
        let mut packet = bytes(WHO_HAS);
        assert_eq!(parse(&packet), Packet::WhoHas(address(1)));
        assert!(answer(&mut packet, OWN, address(1)));
        let expected = "0200000000020200000000010806000108000604000202000000000\
                        10a4d00010200000000020a4d0002";
        assert_eq!(packet, bytes(expected));
        assert!(!answer(&mut packet, OWN, address(1)), "an answer is not answered");
    }

    proptest! {
        #[test]
        fn what_is_built_is_read(payload in proptest::collection::vec(any::<u8>(), 0..200), from: u16, to: u16) {
            let (from, to) = (SocketAddrV4::new(address(2), from), SocketAddrV4::new(address(1), to));
            let mut packet = vec![7; 3];
            datagram(&mut packet, [OTHER, OWN], from, to, &payload);
            prop_assert_eq!(packet.len(), HEADERS + payload.len());
            prop_assert_eq!(parse(&packet), Packet::Datagram { mac: OTHER, from, to, payload: &payload });
            // Padding is not part of it.
            packet.resize(1600, 0xaa);
            prop_assert_eq!(parse(&packet), Packet::Datagram { mac: OTHER, from, to, payload: &payload });
        }

        #[test]
        fn damage_is_seen(payload in proptest::collection::vec(any::<u8>(), 1..50), at in 14_usize..92, bit in 0_u8..8) {
            let mut packet = Vec::new();
            datagram(&mut packet, [OTHER, OWN], SocketAddrV4::new(address(2), 9), SocketAddrV4::new(address(1), 7), &payload);
            let at = at.min(packet.len() - 1);
            packet[at] ^= 1 << bit;
            // A checksum that becomes zero is none.
            prop_assume!(packet[40..42] != [0, 0]);
            prop_assert_eq!(parse(&packet), Packet::Other);
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
