//! Any bytes as a certificate of finality, as evidence or as a change of members: accepted encodings round-trip, and
//! none verifies, as no input was made with a replica's keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spv::SealingKey;
use spv::finality::{
    Approval, Certificate, DoubleVote, MAX_CERTIFICATE_SIZE, MAX_RECONFIGURATION_SIZE, MAX_RECONFIGURATIONS,
    Reconfiguration, ReplicaSet, Vouched,
};
use std::sync::LazyLock;
use zerocopy::FromBytes;

/// Replicas whose keys signed nothing in any corpus.
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
    if let Ok(reconfiguration) = Reconfiguration::decode(bytes) {
        assert_eq!(reconfiguration.encode(), bytes);
        assert!(bytes.len() <= MAX_RECONFIGURATION_SIZE && reconfiguration.signers().is_sorted());
        assert!(reconfiguration.verify(network, &REPLICAS, reconfiguration.change.generation.get()).is_err());
        // An applied change adds or removes one member.
        if let Ok(after) = reconfiguration.change.apply(&REPLICAS) {
            assert!(after.keys().len().abs_diff(REPLICAS.keys().len()) == 1);
        }
    }
    if let Ok(approval) = Approval::read_from_bytes(bytes) {
        assert!(!approval.holds(network, &REPLICAS));
    }
    if let Ok(vouched) = Vouched::decode(bytes) {
        assert_eq!(vouched.encode(), bytes);
        assert!(vouched.reconfigurations.len() <= MAX_RECONFIGURATIONS);
        // A valid change is signed by the founders' own keys, as in the golden vectors.
        if let Err(error) = vouched.replicas(network) {
            assert!((error.generation as usize) < vouched.reconfigurations.len());
        }
    }
    if let Ok(evidence) = DoubleVote::read_from_bytes(bytes) {
        assert!(!evidence.holds(network, &REPLICAS));
    }
});
