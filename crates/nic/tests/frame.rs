//! Frames are read and written like another implementation (etherparse) does.
#![allow(clippy::unwrap_used, missing_docs)]

use std::net::{IpAddr, SocketAddr};

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use turnpike_nic::frame;

const PORT: u16 = 7400;
const QUEUE: u8 = 3;
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

#[derive(Clone, Debug)]
struct Packet {
    vlans: Vec<u16>,
    ipv6: bool,
    source: u128,
    destination: u128,
    port: u16,
    payload: Vec<u8>,
}

fn packets() -> impl Strategy<Value = Packet> {
    let vlans = prop::collection::vec(0_u16..4096, 0..3);
    let payload = prop::collection::vec(any::<u8>(), 0..1500);
    (vlans, any::<bool>(), 1_u128 << 64.., 1_u128 << 64.., any::<u16>(), payload).prop_map(
        |(vlans, ipv6, source, destination, port, payload)| Packet { vlans, ipv6, source, destination, port, payload },
    )
}

fn vlan(id: u16) -> etherparse::VlanId {
    id.try_into().unwrap()
}

impl Packet {
    fn addresses(&self) -> [IpAddr; 2] {
        let address = |bits: u128| if self.ipv6 { IpAddr::V6(bits.into()) } else { IpAddr::V4((bits as u32).into()) };
        [address(self.source), address(self.destination)]
    }

    fn frame(&self) -> Vec<u8> {
        let link = || PacketBuilder::ethernet2(MACS[0], MACS[1]);
        let tagged = match self.vlans[..] {
            [] => None,
            [only] => Some(link().single_vlan(vlan(only))),
            [outer, inner, ..] => Some(link().double_vlan(vlan(outer), vlan(inner))),
        };
        let ip = match (tagged, self.addresses()) {
            (Some(tagged), [IpAddr::V4(from), IpAddr::V4(to)]) => tagged.ipv4(from.octets(), to.octets(), 9),
            (None, [IpAddr::V4(from), IpAddr::V4(to)]) => link().ipv4(from.octets(), to.octets(), 9),
            (Some(tagged), [IpAddr::V6(from), IpAddr::V6(to)]) => tagged.ipv6(from.octets(), to.octets(), 9),
            (None, [IpAddr::V6(from), IpAddr::V6(to)]) => link().ipv6(from.octets(), to.octets(), 9),
            _ => unreachable!("both of one family"),
        };
        let udp = ip.udp(self.port, PORT);
        let mut bytes = vec![0; udp.size(self.payload.len())];
        udp.write_to_slice(&mut bytes, &self.payload).unwrap();
        bytes
    }
}

proptest! {
    #[test]
    fn replies_are_what_others_read(packet in packets(), padding in 0_usize..20, shorter in 0_usize..1500) {
        let [source, destination] = packet.addresses();
        let mut bytes = packet.frame();
        let whole = bytes.len();
        bytes.resize(whole + padding, 0xaa);
        let (peer, place) = frame::parse(&bytes, QUEUE).unwrap();
        let via = peer.via.unwrap();
        prop_assert_eq!(&bytes[place.clone()], &packet.payload[..]);
        prop_assert_eq!((peer.address, peer.local), (SocketAddr::new(source, packet.port), Some(destination)));
        prop_assert_eq!((via.queue, place.start), (QUEUE, frame::headers_length(&peer, &via)));

        let length = packet.payload.len().saturating_sub(shorter);
        bytes.truncate(place.start + length);
        frame::write_headers(&mut bytes, &peer, &via, PORT);
        let read = SlicedPacket::from_ethernet(&bytes).unwrap();
        let ids: Vec<u16> = read.vlan_ids().iter().map(|id| id.value()).collect();
        prop_assert_eq!(ids, packet.vlans);
        prop_assert_eq!(&bytes[..12], &[MACS[0], MACS[1]].concat()[..], "back to where it came from");
        let Some(TransportSlice::Udp(udp)) = read.transport else { panic!("no UDP") };
        prop_assert_eq!((udp.source_port(), udp.destination_port()), (PORT, packet.port));
        prop_assert_eq!(udp.payload(), &packet.payload[..length]);
        let header = udp.to_header();
        match read.net {
            Some(NetSlice::Ipv4(ip)) => {
                let ip = ip.header();
                prop_assert_eq!([IpAddr::V4(ip.source_addr()), ip.destination_addr().into()], [destination, source]);
                prop_assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
                prop_assert!(ip.dont_fragment() && !ip.is_fragmenting_payload());
                prop_assert_eq!(udp.checksum(), header.calc_checksum_ipv4(&ip.to_header(), udp.payload()).unwrap());
            }
            Some(NetSlice::Ipv6(ip)) => {
                let ip = ip.header();
                prop_assert_eq!([IpAddr::V6(ip.source_addr()), ip.destination_addr().into()], [destination, source]);
                prop_assert_eq!(udp.checksum(), header.calc_checksum_ipv6(&ip.to_header(), udp.payload()).unwrap());
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_changed_bit_is_refused_or_not_the_datagrams(packet in packets(), bit in any::<prop::sample::Index>()) {
        let mut bytes = packet.frame();
        // Ethernet has its own checksum, which the device checks.
        let start = 14 + 4 * packet.vlans.len();
        let at = start * 8 + bit.index((bytes.len() - start) * 8);
        // One checksum in 65,536 equals what a sender leaves for a device to complete, and then nothing is checked.
        let mut other = packet.frame();
        if let Some(byte) = other[bytes.len() - packet.payload.len()..].first_mut() {
            *byte = !*byte;
            prop_assume!(frame::parse(&other, QUEUE).is_none());
        }
        bytes[at / 8] ^= 1 << (at % 8);
        let Some((peer, place)) = frame::parse(&bytes, QUEUE) else { return Ok(()) };
        prop_assert_eq!(&bytes[place], &packet.payload[..]);
        prop_assert_eq!(peer.address, SocketAddr::new(packet.addresses()[0], packet.port));
    }

    #[test]
    fn any_bytes_are_a_frame_or_not(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Some((_, place)) = frame::parse(&bytes, 0) {
            prop_assert!(place.end <= bytes.len());
        }
    }
}

#[test]
fn checksums_have_their_rules() {
    let packet = |ipv6| Packet {
        vlans: vec![],
        ipv6,
        source: 0xfd00 << 112 | 1,
        destination: 0xfd00 << 112 | 2,
        port: 9,
        payload: b"turnpike".to_vec(),
    };
    for (ipv6, at) in [(false, 14 + 20 + 6), (true, 14 + 40 + 6)] {
        let mut bytes = packet(ipv6).frame();
        assert!(frame::parse(&bytes, 0).is_some());
        bytes[at] ^= 1;
        assert!(frame::parse(&bytes, 0).is_none(), "wrong");
        bytes[at..at + 2].fill(0);
        assert_eq!(frame::parse(&bytes, 0).is_some(), !ipv6, "none: IPv6 does not allow that (RFC 8200)");
        // What a sender on the same machine leaves for a device: the sum of the pseudo header.
        let addresses = if ipv6 { &bytes[14 + 8..14 + 40] } else { &bytes[14 + 12..14 + 20] };
        let words = addresses.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum = words.sum::<u32>() + 17 + 16;
        let folded = ((sum & 0xffff) + (sum >> 16)) as u16;
        bytes[at..at + 2].copy_from_slice(&folded.to_be_bytes());
        assert!(frame::parse(&bytes, 0).is_some(), "left to a device");
    }
}
