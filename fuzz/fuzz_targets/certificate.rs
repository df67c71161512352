//! Any bytes as a certificate of finality or as evidence: what is read is written the same, and nobody's keys made it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spv::SealingKey;
use spv::finality::{Certificate, DoubleVote, MAX_CERTIFICATE_SIZE, ReplicaSet};
use std::sync::LazyLock;
use zerocopy::FromBytes;

/// Replicas whose keys no corpus signs with.
static REPLICAS: LazyLock<ReplicaSet> = LazyLock::new(|| {
    let key = |byte| SealingKey::from_bytes(&[byte; 32]).expect("a key").public();
    ReplicaSet::new((101..=104).map(key).collect()).expect("a set")
});

fuzz_target!(|data: &[u8]| {
    let Some((network, bytes)) = data.split_first_chunk() else { return };
    if let Ok(certificate) = Certificate::decode(bytes) {
        assert_eq!(certificate.encode(), bytes);
        assert!(bytes.len() <= MAX_CERTIFICATE_SIZE && certificate.signers().is_sorted());
        assert!(certificate.verify(network, &REPLICAS).is_err());
    }
    if let Ok(evidence) = DoubleVote::read_from_bytes(bytes) {
        assert!(!evidence.holds(network, &REPLICAS));
    }
});
