//! Any bytes as pages sent by a replica to a joining one: parsed pages round-trip.
#![no_main]

use libfuzzer_sys::fuzz_target;

// Only the parsers: the node crate would add all of its dependencies.
#[allow(dead_code, clippy::redundant_pub_crate)]
#[path = "../../crates/node/src/replica/state_sync/pages.rs"]
mod pages;

use pages::{Checkpoint, put_batch, put_block, take_batch, take_block};

fuzz_target!(|bytes: &[u8]| {
    if let Some(checkpoint) = Checkpoint::decode(bytes) {
        assert_eq!(checkpoint.encode(), bytes);
    }
    let (mut rest, mut again) = (bytes, Vec::new());
    while let Some(block) = take_block(&mut rest) {
        put_block(&mut again, &block);
    }
    assert_eq!(&again[..], &bytes[..bytes.len() - rest.len()]);
    let (mut rest, mut again) = (bytes, Vec::new());
    while let Some((header, records, tails)) = take_batch(&mut rest) {
        put_batch(&mut again, &header, (records, tails));
    }
    assert_eq!(&again[..], &bytes[..bytes.len() - rest.len()]);
});
