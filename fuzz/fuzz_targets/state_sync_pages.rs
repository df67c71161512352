//! Any bytes as what a replica gives to one that joins: what is read is what was sent.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The parsers alone: with the node comes all that it is made of.
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
