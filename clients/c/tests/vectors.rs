//! The golden vectors of `vectors/chain`: the ids of keyed accounts, and signatures.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{TestSigner, no_error, secret_key};
use turnpike::*;
use wire::SignedOperation;
use zerocopy::FromBytes;

/// The records of a file. Fields from `texts` on are decoded to bytes.
fn records(name: &str, texts: usize) -> Vec<(Vec<String>, Vec<Vec<u8>>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/chain").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let records = lines.map(|line| {
        let fields: Vec<String> = line.split(' ').map(String::from).collect();
        let bytes = fields[texts..].iter().map(|field| bytes(field)).collect();
        (fields[..texts].to_vec(), bytes)
    });
    Vec::from_iter(records)
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() & !1).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn accounts_of_keys() {
    let mut count = 0;
    for (_, fields) in records("definitions.txt", 1).into_iter().filter(|(name, _)| name[0] == "account") {
        let mut id = Id::default();
        // SAFETY: all pointers are to local values.
        let status = unsafe { turnpike_account_from_key(fields[0].as_ptr(), &raw mut id) };
        // A key of the vectors may not be a point.
        let is_point = secp256k1::PublicKey::from_slice(&fields[0]).is_ok();
        let expected = if is_point { ClientStatus::TurnpikeOk } else { ClientStatus::TurnpikeArgument };
        assert_eq!(status, expected);
        assert!(!is_point || id.bytes[..] == fields[1], "{id:?}");
        count += 1;
    }
    assert!(count > 0);
    let signer = TestSigner::new(secret_key(), [0; 32]);
    let (mut key, mut id) = ([0; 33], Id::default());
    // SAFETY: all pointers are to local values.
    let statuses = unsafe {
        [
            turnpike_signer_account(signer.0, std::ptr::null_mut(), key.as_mut_ptr()),
            turnpike_account_from_key(key.as_ptr(), &raw mut id),
        ]
    };
    assert_eq!((statuses, id), ([ClientStatus::TurnpikeOk; 2], signer.account()));
}

#[test]
fn signatures() {
    let mut count = 0;
    for (text, fields) in records("signatures.txt", 2).into_iter().filter(|(text, _)| text[1] == "good") {
        let network: [u8; 32] = fields[0].as_slice().try_into().unwrap();
        let expected = SignedOperation::read_from_bytes(&fields[1]).unwrap();
        let signer = TestSigner::new(secret_key(), network);
        let operation = Operation {
            command: expected.operation.command,
            flags: expected.operation.flags,
            reserved: 0,
            contract: expected.operation.contract.get(),
            transaction: Id { bytes: expected.operation.transaction.0 },
            source: Id { bytes: expected.operation.source.0 },
            destination: Id { bytes: expected.operation.destination.0 },
            amount: expected.operation.amount.get(),
        };
        let (mut signed, mut error) = (Signed { bytes: [0; 184] }, no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe {
            turnpike_sign_at(
                signer.0,
                &raw const operation,
                expected.promise,
                expected.timestamp.get(),
                expected.nonce.get(),
                &raw mut signed,
                &raw mut error,
            )
        };
        assert_eq!(status, ClientStatus::TurnpikeOk);
        assert_eq!(signed.bytes[..], fields[1], "{}", text[0]);
        count += 1;
    }
    assert!(count > 2);
}
