//! Any bytes as a Bitcoin block: what is accepted encodes itself again, and its tree proves each transaction.
#![no_main]

use chain::bitcoin::{Block, Tree};
use libfuzzer_sys::fuzz_target;
use spv::bitcoin::sha256d;

fuzz_target!(|bytes: &[u8]| {
    let Ok(block) = Block::parse(bytes) else { return };
    assert_eq!(block.bytes(), bytes);
    let mut stripped = 0;
    for transaction in block.transactions() {
        assert!(transaction.inputs().count() > 0 && transaction.outputs().count() > 0);
        assert_eq!(transaction.hash(), sha256d(&[&transaction.stripped()]));
        assert_eq!(transaction.stripped().len(), transaction.stripped_size());
        stripped += transaction.stripped_size();
    }
    assert!(stripped < bytes.len());
    let leaves = block.transactions().iter().map(|transaction| transaction.hash()).collect();
    if let Ok(tree) = Tree::build(leaves) {
        assert_eq!(tree.nodes().last(), Some(&tree.root()));
    }
});
