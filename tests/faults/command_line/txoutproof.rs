//! `turnpike proof verify` of Bitcoin Core's `gettxoutproof`: wrong trees, empty proofs (CVE-2017-12842).

use std::fs;
use std::path::Path;

use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::{Hash as _, sha256d};
use bitcoin::{Block, MerkleBlock, Transaction};
use serde_json::Value;

use super::{error, json};

/// The height of a block of mainnet with three transactions.
const HEIGHT: usize = 586;

/// That block.
fn block(file: &Path) -> Block {
    let bytes = fs::read(file).unwrap();
    let mut rest = &bytes[..];
    // Each block has four bytes of magic and its length before it. The first is genesis, the others follow by height.
    let mut next = || {
        let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        let (block, after) = rest[8..].split_at(length);
        rest = after;
        block
    };
    let block = (0..=HEIGHT).map(|_| next()).last().unwrap();
    deserialize(block).unwrap()
}

/// A proof as Core writes it, with anything in it.
fn forge(block: &Block, transactions: u32, hashes: &[[u8; 32]], flags: u8) -> Vec<u8> {
    let mut bytes = serialize(&block.header);
    bytes.extend(transactions.to_le_bytes());
    bytes.push(hashes.len() as u8);
    bytes.extend(hashes.as_flattened());
    bytes.extend([1, flags]);
    bytes
}

fn parent(left: [u8; 32], right: [u8; 32]) -> [u8; 32] {
    sha256d::Hash::hash(&[left, right].concat()).to_byte_array()
}

#[test]
fn a_proof_of_a_wrong_tree_or_of_nothing_does_not_pass() {
    let Some(file) = skip::blocks("blk_0_to_14131.dat") else { return };
    let block = block(&file);
    let ids: Vec<[u8; 32]> = block.txdata.iter().map(|one| one.compute_txid().to_byte_array()).collect();
    let [coinbase, second, third] = ids[..] else { panic!("{ids:?}") };
    let folder = tempfile::tempdir().unwrap();
    let (proof, raw) = (folder.path().join("proof"), folder.path().join("coinbase"));
    let (proof, raw) = (proof.to_str().unwrap(), raw.to_str().unwrap());
    fs::write(raw, hex(&serialize::<Transaction>(&block.txdata[0]))).unwrap();
    let write = |bytes: &[u8]| fs::write(proof, bytes).unwrap();
    let verify = ["proof", "verify", proof];
    let with = |more: &[&'static str]| [&verify[..], more].concat();
    let by_coinbase = [&verify[..], &["--coinbase", raw]].concat();

    // A sound proof: the report names the unchecked number of transactions.
    let of = |wanted: &[[u8; 32]]| {
        let matches = |id: &bitcoin::Txid| wanted.contains(&id.to_byte_array());
        serialize(&MerkleBlock::from_block_with_predicate(&block, matches))
    };
    write(&of(&[third]));
    let plain = json(&verify);
    let facts = |report: &Value| (report["position"].clone(), report["transactions"].clone());
    assert_eq!(facts(&plain), (2.into(), 3.into()));
    assert_eq!(plain["depth_checked"], false);
    assert!(super::run(&verify).stdout.windows(11).any(|text| text == b"not checked"));
    assert_eq!(json(&with(&["--transactions", "3"]))["depth_checked"], true);
    assert!(error(&by_coinbase).contains("coinbase"), "the proof does not include it");
    write(hex(&of(&[coinbase, third])).as_bytes());
    assert_eq!(json(&by_coinbase)["depth_checked"], true);

    // An inner node in place of a transaction, and another number of transactions.
    let (left, right) = (parent(coinbase, second), parent(third, third));
    for (transactions, hashes, flags, has_coinbase) in
        [(2, &[left, right][..], 0b011, false), (4, &[coinbase, second, right][..], 0b0111, true)]
    {
        write(&forge(&block, transactions, hashes, flags));
        assert_eq!(json(&verify)["depth_checked"], false);
        let message = error(&with(&["--transactions", "3"]));
        assert!(message.contains(&format!("{transactions} transactions")), "{message}");
        // The coinbase shows the depth, which is the same for three transactions and for four.
        assert_eq!(super::run(&by_coinbase).status.success(), has_coinbase);
    }

    // No transaction.
    write(&forge(&block, 3, &[parent(left, right)], 0));
    let message = error(&verify);
    assert!(message.contains("proves nothing"), "{message}");
    write(b"no proof at all");
    assert!(error(&verify).contains("not valid"));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
