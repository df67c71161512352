//! Any bytes as a Bitcoin block: an accepted block encodes back to the same bytes, and its tree proves each
//! transaction.
#![no_main]

use chain::bitcoin::{Block, Tree, WitnessTree};
use libfuzzer_sys::fuzz_target;
use spv::bitcoin::{WitnessCoinbase, sha256d, transaction_hash};

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
    if let Ok(tree) = WitnessTree::build(&block) {
        let coinbase = WitnessCoinbase::parse(tree.coinbase()).expect("it was taken apart before");
        assert_eq!(transaction_hash(&coinbase.stripped), block.transactions()[0].hash());
        assert_eq!(coinbase.commitment.is_some(), tree.is_committed());
    }
});
