//! Network frames: parsing agrees with another implementation, and a reply can be parsed again. A frame that is not a
//! datagram gets at most one answer from the simulated NIC's host: answers are not answered.
#![no_main]

use std::net::IpAddr;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use libfuzzer_sys::fuzz_target;
use nic::frame;
use nic::rtl::packet;

const PORT: u16 = 7400;
const MAC: frame::Mac = [2, 0, 0, 0, 0, 1];

fuzz_target!(|bytes: &[u8]| {
    // Position of the requested address: IPv4's destination, ARP's target.
    for at in [30, 38] {
        let Some(asked) = bytes.get(at..at + 4) else { continue };
        let asked = <[u8; 4]>::try_from(asked).expect("four bytes").into();
        let mut answer = bytes.to_vec();
        if packet::answer(&mut answer, MAC, asked) {
            assert_eq!((&answer[..6], &answer[6..12]), (&bytes[6..12], MAC.as_slice()));
            assert!(SlicedPacket::from_ethernet(&answer).is_ok(), "what we write others read");
            assert!(!packet::answer(&mut answer, MAC, asked));
        } else {
            assert_eq!(answer, bytes, "what is not answered is left alone");
        }
    }

    let Some((peer, place)) = frame::parse(bytes, 0) else { return };
    let (to, same) = packet::destination(bytes, 0).expect("a datagram is for somebody");
    assert_eq!((Some(to.address.ip()), to.local, same), (peer.local, Some(peer.address.ip()), place.clone()));
    let read = SlicedPacket::from_ethernet(bytes).expect("what we read others read too");
    let Some(TransportSlice::Udp(udp)) = read.transport else { panic!("no UDP") };
    assert_eq!(udp.payload(), &bytes[place.clone()]);
    let source = match read.net {
        Some(NetSlice::Ipv4(ip)) => IpAddr::V4(ip.header().source_addr()),
        Some(NetSlice::Ipv6(ip)) => IpAddr::V6(ip.header().source_addr()),
        other => panic!("{other:?}"),
    };
    assert_eq!((peer.address.ip(), peer.address.port()), (source, udp.source_port()));
    assert_eq!(to.address.port(), udp.destination_port());

    let via = peer.via.expect("the way back");
    let mut reply = bytes[..place.end].to_vec();
    frame::write_headers(&mut reply, &peer, &via, PORT);
    let (back, again) = frame::parse(&reply, 0).expect("a reply is a frame");
    assert_eq!((Some(back.address.ip()), back.address.port()), (peer.local, PORT));
    assert_eq!((back.local, again), (Some(source), place));
});
