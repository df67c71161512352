//! Frames of a board's cable: what parses is written again as the same bytes, and no frame of a peer makes the link
//! deliver an empty packet, or acknowledge more than the peer has sent.
#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use nic::cable::frame::{Frame, HEADER_BYTES};
use nic::cable::link::{Link, WINDOW};

const KIND: u8 = 3;

fuzz_target!(|bytes: &[u8]| {
    let now = Instant::now();
    let mut link = Link::new(0, Some(KIND));
    link.send(Default::default(), &[1; 5000]);
    let (mut segments, mut unsettled) = (0, 0);
    // Each frame has its length before it.
    let mut rest = bytes;
    while let Some((length, more)) = rest.split_first_chunk::<2>() {
        let (frame, more) = more.split_at(usize::from(u16::from_be_bytes(*length)).min(more.len()));
        rest = more;
        let Ok((addresses, parsed)) = Frame::parse(frame) else { continue };
        let mut again = Vec::new();
        parsed.write(addresses, &mut again);
        // Fields that the frame does not use are written as 0.
        assert_eq!(again[..22], frame[..22]);
        assert_eq!(Frame::parse(&again), Ok((addresses, parsed)));
        let Frame::Link(received) = parsed else { continue };
        if let Some(segment) = &received.segment {
            segments += 1;
            assert_eq!(segment.payload, &frame[HEADER_BYTES..HEADER_BYTES + segment.payload.len()]);
        }
        if let Some(packet) = link.receive(&received) {
            assert!(!packet.bytes.is_empty());
            unsettled += usize::from(packet.is_unsettled);
            assert!(unsettled <= WINDOW);
        }
        link.poll(now, |frame| assert!(usize::from(frame.expected) + unsettled <= segments));
    }
});
