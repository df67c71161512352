//! The golden vectors of certificates and evidence.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use turnpike_spv::ChainKey;
use turnpike_spv::finality::{Certificate, DoubleVote, ReplicaSet};
use zerocopy::{FromBytes, IntoBytes};

struct Record {
    name: String,
    good: bool,
    network: [u8; 32],
    replicas: ReplicaSet,
    bytes: Vec<u8>,
}

fn records(file: &str) -> Vec<Record> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/chain").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let [name, verdict, network, keys, bytes] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let keys = unhex(keys).as_chunks().0.iter().map(|key| ChainKey::from_bytes(key).unwrap()).collect();
            let good = match verdict {
                "good" => true,
                "bad" => false,
                verdict => panic!("{verdict}"),
            };
            let (network, bytes) = (unhex(network).try_into().unwrap(), unhex(bytes));
            Record { name: name.into(), good, network, replicas: ReplicaSet::new(keys).unwrap(), bytes }
        })
        .collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn certificates() {
    let records = records("certificates.txt");
    assert!(records.iter().filter(|record| record.good).count() >= 3 && records.len() >= 15);
    for Record { name, good, network, replicas, bytes } in records {
        let certificate = Certificate::decode(&bytes);
        let verdict = certificate.clone().and_then(|certificate| certificate.verify(&network, &replicas));
        assert_eq!(verdict.is_ok(), good, "{name}: {verdict:?}");
        if let Ok(certificate) = certificate {
            assert_eq!(certificate.encode(), bytes, "{name}");
        }
    }
}

#[test]
fn evidence() {
    let records = records("evidence.txt");
    assert!(records.iter().filter(|record| record.good).count() >= 3 && records.len() >= 7);
    for Record { name, good, network, replicas, bytes } in records {
        let evidence = DoubleVote::read_from_bytes(&bytes).unwrap();
        assert_eq!(evidence.holds(&network, &replicas), good, "{name}");
        assert_eq!(evidence.as_bytes(), bytes, "{name}");
    }
}
