//! The golden vectors of certificates, evidence and member changes.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use turnpike_spv::finality::{Approval, Certificate, DoubleVote, Reconfiguration, ReplicaSet, Vouched};
use zerocopy::{FromBytes, IntoBytes};

/// A line: its name, its verdict, and the remaining fields.
struct Record {
    name: String,
    good: bool,
    fields: Vec<Vec<u8>>,
}

impl Record {
    fn network(&self) -> [u8; 32] {
        self.fields[0].as_slice().try_into().unwrap()
    }

    /// The keys in a field; `None` if the field is empty.
    fn keys(&self, field: usize) -> Option<ReplicaSet> {
        let keys = self.fields[field].as_chunks().0;
        (!keys.is_empty()).then(|| ReplicaSet::from_bytes(keys).unwrap())
    }
}

/// The records of a file: at least `all` of them, of which at least `good` are good.
fn records(file: &str, good: usize, all: usize) -> Vec<Record> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/chain").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let record = |line: &str| {
        let mut fields = line.split(' ');
        let name = fields.next().unwrap().into();
        let good = match fields.next().unwrap() {
            "good" => true,
            "bad" => false,
            verdict => panic!("{verdict}"),
        };
        Record { name, good, fields: fields.map(unhex).collect() }
    };
    let records: Vec<_> = lines.map(record).collect();
    assert!(records.iter().filter(|record| record.good).count() >= good && records.len() >= all);
    records
}

fn unhex(text: &str) -> Vec<u8> {
    let text = text.trim_start_matches('-');
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn certificates() {
    for record in records("certificates.txt", 3, 15) {
        let (name, bytes, replicas) = (&record.name, &record.fields[2], record.keys(1).unwrap());
        let certificate = Certificate::decode(bytes);
        let verdict = certificate.clone().and_then(|certificate| certificate.verify(&record.network(), &replicas));
        assert_eq!(verdict.is_ok(), record.good, "{name}: {verdict:?}");
        if let Ok(certificate) = certificate {
            assert_eq!(&certificate.encode(), bytes, "{name}");
        }
    }
}

#[test]
fn evidence() {
    for record in records("evidence.txt", 3, 7) {
        let evidence = DoubleVote::read_from_bytes(&record.fields[2]).unwrap();
        assert_eq!(evidence.holds(&record.network(), &record.keys(1).unwrap()), record.good, "{}", record.name);
        assert_eq!(evidence.as_bytes(), record.fields[2], "{}", record.name);
    }
}

#[test]
fn approvals() {
    for record in records("approvals.txt", 3, 14) {
        let approval = Approval::read_from_bytes(&record.fields[2]).unwrap();
        assert_eq!(approval.holds(&record.network(), &record.keys(1).unwrap()), record.good, "{}", record.name);
        assert_eq!(approval.as_bytes(), record.fields[2], "{}", record.name);
    }
}

#[test]
fn reconfigurations() {
    for record in records("reconfigurations.txt", 4, 20) {
        let (name, bytes, before) = (&record.name, &record.fields[2], record.keys(1).unwrap());
        let reconfiguration = Reconfiguration::decode(bytes);
        let after = reconfiguration.as_ref().ok().map(|found| found.verify(&record.network(), &before, 0));
        assert_eq!(after.clone().and_then(Result::ok), record.keys(3), "{name}: {after:?}");
        assert_eq!(record.good, record.keys(3).is_some(), "{name}");
        if let Ok(reconfiguration) = reconfiguration {
            assert_eq!(&reconfiguration.encode(), bytes, "{name}");
        }
    }
}

#[test]
fn vouched() {
    for record in records("vouched.txt", 2, 7) {
        let (name, bytes) = (&record.name, &record.fields[1]);
        let vouched = Vouched::decode(bytes);
        let present = vouched.as_ref().ok().map(|vouched| vouched.replicas(&record.network()));
        assert_eq!(present.clone().and_then(Result::ok), record.keys(2), "{name}: {present:?}");
        assert_eq!(record.good, record.keys(2).is_some(), "{name}");
        if let Ok(vouched) = vouched {
            assert_eq!(&vouched.encode(), bytes, "{name}");
        }
    }
}
