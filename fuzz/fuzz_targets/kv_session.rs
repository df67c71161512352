//! Any bytes as requests to the key-value store, text or binary: splitting them does not change the replies, and no
//! reply grows without bound.
#![no_main]

use std::sync::Arc;

use kv::replies::Replies;
use kv::service::{Service, Settings};
use kv::session::{NextStep, Session};
use kv::store::{Config, Store};
use kv::turn::Turn;
use libfuzzer_sys::fuzz_target;

/// Bytes of the largest item, which a request may return.
const LARGEST: usize = 4096;

fn replies(pieces: &[&[u8]], gathered: usize) -> Vec<u8> {
    let config = Config { memory: 1 << 20, largest_item: LARGEST, evict: true, threads: 1 };
    let store = Store::new(config).expect("a mebibyte of memory");
    let service = Arc::new(Service::new(store, Settings::default()));
    let mut session = Session::new(&service);
    let (mut pending, mut all, mut wanted) = (Vec::new(), Vec::new(), 1);
    for piece in pieces {
        pending.extend_from_slice(piece);
        while pending.len() >= wanted {
            let mut out = Replies::new(gathered);
            let progress = session.feed(&pending, &mut out, &mut Turn::new(), 10);
            assert!(out.len() <= gathered + LARGEST + 16384, "{} bytes at once", out.len());
            pending.drain(..progress.consumed);
            all.extend_from_slice(&out);
            wanted = match progress.next {
                NextStep::More(wanted) => wanted,
                NextStep::Send | NextStep::Turn => 0,
                NextStep::Close | NextStep::Watch(_) => return all,
            };
            assert!(wanted > pending.len() || wanted == 0, "it waits for what is there");
        }
    }
    all
}

fuzz_target!(|bytes: &[u8]| {
    // The store's statistics, such as times, differ between runs.
    if bytes.windows(4).any(|word| word == b"stat") || bytes.contains(&0x10) {
        return;
    }
    let Some((cut, requests)) = bytes.split_first() else { return };
    let (first, second) = requests.split_at(requests.len().min(usize::from(*cut)));
    assert_eq!(replies(&[first, second], 64), replies(&[requests], 1 << 20));
});
