//! The golden vectors of `vectors/chain`: what the client signs, and which proofs it accepts.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use secp256k1::{Message, PublicKey, SECP256K1, SecretKey, ecdsa};
use spv::hash::{TRANSFER_TAG, TaggedHash, account_hash, index_leaf, index_node, transaction_leaf, transaction_node};
use spv::{
    BlockHeader, ChainKey, HeaderChain, IndexProof, OneByOne, SealedHeader, SealingKey, TransactionProof, account_path,
};
use turnpike_client::Signer;
use wire::{AccountId, Promise, SignedOperation};
use zerocopy::{FromBytes, IntoBytes};

/// The records of a file. Fields from `texts` on are decoded to bytes.
fn records(name: &str, texts: usize) -> Vec<(Vec<String>, Vec<Vec<u8>>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/chain").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let records: Vec<_> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let fields: Vec<String> = line.split(' ').map(String::from).collect();
            let bytes = fields[texts..].iter().map(|field| bytes(field)).collect();
            (fields[..texts].to_vec(), bytes)
        })
        .collect();
    assert!(!records.is_empty());
    records
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn block_header(bytes: &[u8]) -> BlockHeader {
    BlockHeader::read_from_bytes(bytes).unwrap()
}

fn sealing_key() -> SealingKey {
    SealingKey::from_bytes(&std::array::from_fn(|n| n as u8 + 1)).unwrap()
}

#[test]
fn hashes() {
    let hash = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).unwrap();
    for (name, fields) in records("definitions.txt", 1) {
        let input = &fields[0];
        let found = match name[0].as_str() {
            "genesis" => {
                let (network, random) = input.split_at(input.len() - 16);
                let network = std::str::from_utf8(network).unwrap();
                let random = random.try_into().unwrap();
                let header = BlockHeader::genesis(network, random, 1_700_000_000_000_000, &sealing_key().public());
                header.as_bytes().to_vec()
            }
            "sealed" => sealing_key().seal(&block_header(input)).as_bytes().to_vec(),
            "header" => block_header(input).hash().to_vec(),
            "account" => AccountId::keyed(&account_hash(input.as_slice().try_into().unwrap())).0.to_vec(),
            "path" => account_path(input.as_slice().try_into().unwrap()).to_be_bytes().to_vec(),
            "transaction" => transaction_leaf(input).to_vec(),
            "node" => transaction_node(&hash(&input[..32]), &hash(&input[32..])).to_vec(),
            "index_node" => index_node(&hash(&input[..32]), &hash(&input[32..])).to_vec(),
            "index_leaf" => index_leaf(input).to_vec(),
            other => panic!("{other} is not known here"),
        };
        assert_eq!(found, fields[1], "{}", name[0]);
    }
}

#[test]
fn signatures() {
    let secret: [u8; 32] = std::array::from_fn(|n| n as u8 + 1);
    for (text, fields) in records("signatures.txt", 2) {
        let network: [u8; 32] = fields[0].as_slice().try_into().unwrap();
        let signed = SignedOperation::read_from_bytes(&fields[1]).unwrap();
        let digest = TaggedHash::new(TRANSFER_TAG).hash(&[&network, signed.signed_bytes()]);
        let verdict = (|| {
            let signature = ecdsa::Signature::from_compact(&signed.signature).ok()?;
            let key = PublicKey::from_slice(&signed.public_key).ok()?;
            SECP256K1.verify_ecdsa(Message::from_digest(digest), &signature, &key).ok()
        })();
        assert_eq!(verdict.is_some(), text[1] == "good", "{}", text[0]);
        if text[1] == "good" {
            let signer = Signer::new(SecretKey::from_byte_array(secret).unwrap(), network);
            let operation = &signed.operation;
            assert_eq!(signer.account(), operation.payer().unwrap_or(operation.source), "{}", text[0]);
            let promise = Promise::try_from(signed.promise).unwrap();
            let made = signer.sign_at(signed.operation, signed.timestamp.get(), signed.nonce.get(), promise);
            assert_eq!(made, signed, "{}", text[0]);
        }
    }
}

#[test]
fn seals() {
    for (text, fields) in records("seals.txt", 2) {
        let key = ChainKey::from_bytes(fields[0].as_slice().try_into().unwrap());
        let sealed = SealedHeader::read_from_bytes(&fields[1]).unwrap();
        let holds = key.is_some_and(|key| key.has_sealed(&sealed.hash(), &sealed.seal));
        assert_eq!(holds, text[1] == "good", "{}", text[0]);
    }
}

#[test]
fn header_chains() {
    for (text, fields) in records("header_chains.txt", 2) {
        let network: [u8; 32] = fields[0].as_slice().try_into().unwrap();
        let headers = <[SealedHeader]>::ref_from_bytes(&fields[1]).unwrap();
        let chain = HeaderChain::new(&network, headers[0]).and_then(|mut chain| {
            chain.extend(&headers[1..], &mut OneByOne)?;
            Ok(chain)
        });
        assert_eq!(chain.is_ok(), text[1] == "good", "{}: {chain:?}", text[0]);
        assert_eq!(HeaderChain::restore(&network, headers).is_ok(), text[1] == "good", "{}", text[0]);
    }
}

#[test]
fn transaction_proofs() {
    for (text, fields) in records("transaction_proofs.txt", 2) {
        let header = block_header(&fields[0]);
        let verdict = TransactionProof::parse(&fields[1]).and_then(|proof| {
            assert_eq!(proof.block_hash, header.hash());
            proof.verify_in(&header)
        });
        assert_eq!(verdict.is_ok(), text[1] == "good", "{}: {verdict:?}", text[0]);
    }
}

#[test]
fn index_proofs() {
    for (text, fields) in records("index_proofs.txt", 2) {
        let (account, header) = (fields[0].as_slice().try_into().unwrap(), block_header(&fields[1]));
        let verdict = IndexProof::parse(&fields[2]).and_then(|proof| proof.verify_in(&account, &header));
        let found = match &verdict {
            Ok(Some(_)) => "entry",
            Ok(None) => "absent",
            Err(_) => "bad",
        };
        assert_eq!(found, text[1], "{}: {verdict:?}", text[0]);
    }
}
