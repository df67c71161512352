//! Any bytes as lines of an Electrum client: each reply is one line of JSON, no reply grows without bound, and
//! splitting the bytes does not change the replies.
#![no_main]

use std::net::Ipv4Addr;
use std::time::Instant;

use electrum::{NextStep, Session};
use libfuzzer_sys::fuzz_target;
use turnpike_fuzz::genesis::{LONGEST, service};
/// Replies to bytes that arrive in pieces, and whether the session ends.
fn replies(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
    let service = service();
    let now = Instant::now();
    let share = service.shares().connect(Ipv4Addr::new(192, 0, 2, 1).into(), now).expect("no other connection");
    let mut session = Session::new(service, share);
    let (mut pending, mut all) = (Vec::new(), Vec::new());
    for piece in pieces {
        pending.extend_from_slice(piece);
        loop {
            let mut output = Vec::new();
            let progress = session.feed(&pending, &mut output, now);
            pending.drain(..progress.consumed);
            all.extend_from_slice(&output);
            match progress.next {
                NextStep::More => break,
                NextStep::Send => assert!(!output.is_empty(), "it goes on without having done anything"),
                NextStep::Wait(_) => panic!("nobody has spent so much"),
                NextStep::Ask(_) => panic!("there is no node to ask"),
                NextStep::Close => return (all, true),
            }
        }
    }
    (all, false)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((cut, lines)) = bytes.split_first() else { return };
    let (first, second) = lines.split_at(lines.len().min(usize::from(*cut)));
    let at_once = replies(&[lines]);
    for line in at_once.0.split_inclusive(|byte| *byte == b'\n') {
        // An error repeats an id, which may be as long as its request.
        assert!(line.len() <= 8 * LONGEST, "a reply of {} bytes", line.len());
        assert!(line.ends_with(b"\n") && serde_json::from_slice::<serde_json::Value>(line).is_ok(), "no line of JSON");
    }
    assert_eq!(replies(&[first, second]), at_once);
});
