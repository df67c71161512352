//! Any datagram as a proof of the own chain: parsed and checked against a header, which may be made to match.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spv::{BlockHeader, IndexProof, SealingKey, TransactionProof};

fuzz_target!(|data: &[u8]| {
    let Some((account, frame)) = data.split_first_chunk() else { return };
    let mut header =
        BlockHeader::genesis("fuzz", &[0; 16], 0, &SealingKey::from_bytes(&[1; 32]).expect("a key").public());
    if let Ok(proof) = TransactionProof::parse(frame) {
        header.transactions = proof.transactions.into();
        header.transaction_root = proof.leaf;
        let verified = proof.verify_in(&header);
        assert!(verified.is_err() || proof.path.is_empty() && proof.transactions == 1);
        let _ = (proof.involves(account), proof.transaction_id());
    }
    if let Ok(proof) = IndexProof::parse(frame) {
        for accounts in [0, 1, 16, 17, u64::MAX] {
            header.accounts = accounts.into();
            let verified = proof.verify_in(account, &header);
            assert!(verified.is_err() || proof.entries.is_empty() && proof.path.is_empty());
        }
    }
});
