//! Any bytes as the output of `gettxoutproof`, and as a proof of the proof frame: no panic, and proved transactions are
//! in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spv::bitcoin::{MerkleBlock, check_coinbase, root_of_path};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(block) = MerkleBlock::parse(bytes)
        && let Ok(matches) = block.verify()
    {
        assert!(matches.is_sorted_by_key(|found| found.position));
        assert!(matches.iter().all(|found| found.position < block.transactions()));
    }
    let _ = check_coinbase(bytes);
    if let Some((numbers, path)) = bytes.split_first_chunk::<8>() {
        let [a, b, c, d, e, f, g, h] = *numbers;
        let (position, transactions) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let (path, _) = path.as_chunks::<32>();
        if let Some((leaf, path)) = path.split_first() {
            let _ = root_of_path(leaf, position, transactions, path);
        }
    }
});
