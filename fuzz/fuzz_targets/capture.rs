//! Any bytes as a capture file: its payloads never exceed the file, however it is read.
#![no_main]

// The program is not a library; this is its parser.
#[allow(dead_code)]
#[path = "../../crates/turnpike/src/capture.rs"]
mod capture;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (mut payloads, mut datagrams) = (0, 0);
    let packets = capture::parse(turnpike_fuzz::input(), bytes, |datagram| {
        payloads += datagram.payload.len();
        datagrams += 1;
        let _ = wire::Frame::parse(&datagram.payload);
    });
    assert!(payloads <= bytes.len());
    assert!(packets.is_err() || packets.is_ok_and(|packets| datagrams <= packets));
});
