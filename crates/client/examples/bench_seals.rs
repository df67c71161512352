//! Cost of a seal: creating one per block, verifying those of arriving headers one by one and in batches, and reading
//! stored headers again.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Instant;

use spv::{BlockHeader, HeaderChain, SealedHeader, SealingKey};
use turnpike_client::SealBatches;

const HEADERS: u32 = 20_000;

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    let each = started.elapsed().as_secs_f64() / f64::from(HEADERS);
    println!("{what:<20} {:>8.2} us each, {:>9.0} a second", each * 1e6, 1.0 / each);
    result
}

fn main() {
    let key = SealingKey::from_bytes(&[1; 32]).unwrap();
    let genesis = key.seal(&BlockHeader::genesis("bench", &[1; 16], 0, &key.public()));
    let network = genesis.hash();
    let headers: Vec<SealedHeader> = timed("link and seal", || {
        let mut previous = genesis.header;
        let next = || {
            previous = BlockHeader {
                transactions: 1.into(),
                height: (previous.height.get() + 1).into(),
                accounts: 1.into(),
                previous: previous.hash(),
                transaction_root: [1; 32],
                index_root: [1; 32],
                ..previous
            };
            key.seal(&previous)
        };
        std::iter::repeat_with(next).take(HEADERS as usize).collect()
    });
    let chain = timed("append, each checked", || {
        let mut chain = HeaderChain::new(&network, genesis).unwrap();
        headers.iter().for_each(|header| chain.append(*header).unwrap());
        chain
    });
    timed("in batches of 1,024", || {
        let mut chain = HeaderChain::new(&network, genesis).unwrap();
        headers.chunks(1024).for_each(|headers| chain.extend(headers, &mut SealBatches).unwrap());
    });
    timed("restore", || HeaderChain::restore(&network, chain.all()).unwrap());
}
