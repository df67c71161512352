//! Network frames: whatever is found in one is what another implementation finds, and a reply can be read again.
#![no_main]

use std::net::IpAddr;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use libfuzzer_sys::fuzz_target;
use nic::frame;

const PORT: u16 = 7400;

fuzz_target!(|bytes: &[u8]| {
    let Some((peer, place)) = frame::parse(bytes, 0) else { return };
    let read = SlicedPacket::from_ethernet(bytes).expect("what we read others read too");
    let Some(TransportSlice::Udp(udp)) = read.transport else { panic!("no UDP") };
    assert_eq!(udp.payload(), &bytes[place.clone()]);
    let source = match read.net {
        Some(NetSlice::Ipv4(ip)) => IpAddr::V4(ip.header().source_addr()),
        Some(NetSlice::Ipv6(ip)) => IpAddr::V6(ip.header().source_addr()),
        other => panic!("{other:?}"),
    };
    assert_eq!((peer.address.ip(), peer.address.port()), (source, udp.source_port()));

    let via = peer.via.expect("the way back");
    let mut reply = bytes[..place.end].to_vec();
    frame::write_headers(&mut reply, &peer, &via, PORT);
    let (back, again) = frame::parse(&reply, 0).expect("a reply is a frame");
    assert_eq!((Some(back.address.ip()), back.address.port()), (peer.local, PORT));
    assert_eq!((back.local, again), (Some(source), place));
});
