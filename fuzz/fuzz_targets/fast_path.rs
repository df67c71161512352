//! Any bytes as messages of the fast path: parsed batches and votes are the bytes that they were parsed from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{FastBatch, FastVote};
use zerocopy::IntoBytes;

fuzz_target!(|data: &[u8]| {
    if let Some((header, orders)) = FastBatch::parse(data) {
        assert!((1..=FastBatch::MAX_ORDERS).contains(&orders.len()));
        assert_eq!([header.as_bytes(), orders.as_bytes()].concat(), data);
        assert_eq!(FastBatch::new(header.generation.get(), orders.len()).as_ref(), Some(header));
    }
    let mut rest = data;
    while let Some((vote, after)) = FastVote::parse(rest) {
        let count = usize::from(vote.header.count.get());
        assert_eq!([vote.signed, vote.signature, after].concat(), rest);
        assert_eq!(vote.signed.len() + vote.signature.len(), FastVote::length(count));
        let accepted = (0..8 * vote.bitmap.len()).filter(|&position| vote.accepts(position));
        assert!(accepted.last().is_none_or(|last| last < count), "no order beyond the last one is accepted");
        rest = after;
    }
});
