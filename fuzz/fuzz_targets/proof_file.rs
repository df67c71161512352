//! Any bytes as a proof file of a Bitcoin transaction: nothing is proved by chance, even if the header is made to
//! match.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Reply;

fuzz_target!(|bytes: &[u8]| {
    let Ok(Reply::Proof(reply)) = Reply::parse(bytes) else { return };
    let proof = client::bitcoin_proof(&reply);
    let mut header = spv::bitcoin::Network::Regtest.genesis();
    header.merkle_root = *proof.leaf;
    assert!(proof.verify(&header).is_err() || proof.path.is_empty());
});
