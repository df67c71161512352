//! A stranger asks in another's name, so that the answers flood him.
#![allow(missing_docs, clippy::unwrap_used)]

use turnpike_attacks::{STRANGER, Victim};
use wire::{CompactFrame, InfoFrame};
use zerocopy::IntoBytes;

/// No datagram brings back more bytes than it has: `Link` refuses what is longer.
#[test]
fn no_reply_is_longer_than_its_request() {
    let victim = Victim::start(|_| {});
    let mut link = victim.link(STRANGER);
    for request in [
        InfoFrame::new(1).as_bytes().to_vec(),
        CompactFrame::new(wire::Command::Refer, 1, 1, 0, 0).as_bytes().to_vec(),
        [&[0x54, 0x50, 1, 3][..], &[0; 44]].concat(),
        [&[0x54, 0x50, 1, 4][..], &[0; 60]].concat(),
        [&[0x54, 0x50, 9, 9][..], &[0; 60]].concat(),
    ] {
        link.ask(&request).unwrap();
    }
}
