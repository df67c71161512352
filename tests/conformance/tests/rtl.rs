//! The suite against a node behind the simulated NIC, on loopback: every datagram passes the RTL.
//!
//! Skipped, with a word why, where `make rtl` has not built it.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Duration;

use node::config::Backend;
use node::{Config, Node};
use turnpike_conformance::{Summary, Target, run};
use wire::Promise;

const ISSUER: [u8; 32] = {
    let mut key = [0; 32];
    key[31] = 1;
    key
};
const ISSUER_KEY: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/// A node, or none where there is no NIC.
fn start(promise: Promise) -> Option<(Node, tempfile::TempDir)> {
    let library = std::env::var_os("TURNPIKE_RTL").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/rtl/libturnpike_nic.so")),
        PathBuf::from,
    );
    if !library.exists() {
        eprintln!("skipped: there is no {} (`make rtl` builds it)", library.display());
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut config = Config {
        data: directory.path().join("data"),
        listen: "127.0.0.1:0".parse().unwrap(),
        http: None,
        trusted: vec!["127.0.0.1/32".parse().unwrap()],
        issuers: vec![ISSUER_KEY.parse().unwrap()],
        promise,
        ..Config::default()
    };
    config.ledger.accounts = 4096;
    config.blocks.interval = 50;
    // What a simulation answers on a busy machine is more.
    config.limits.rate = 200;
    config.io.backend = Backend::Rtl;
    config.io.rtl = library;
    Some((Node::start(&config).unwrap(), directory))
}

fn conforms(promise: Promise, filter: &str) {
    let Some((node, _directory)) = start(promise) else { return };
    let target = Target {
        node: node.local_address(),
        trusted: "127.0.0.1".parse().unwrap(),
        stranger: Some("127.0.0.2".parse().unwrap()),
        issuer: Some(ISSUER),
        small_table: true,
        rate_limited: true,
        block_patience: Duration::from_secs(60),
    };
    let outcomes = run(&target, filter, |outcome| println!("{outcome}"));
    let summary = Summary::of(&outcomes);
    let rtl = node.shared().rtl().unwrap();
    println!("{:?}", rtl.all());
    assert_eq!((summary.failed, summary.skipped), (0, 0), "{summary}");
    assert!(rtl.executed.get() > 100, "the NIC executed the operations of compact frames: {}", rtl.executed.get());
    assert_eq!((rtl.different.get(), rtl.lost.get()), (0, 0), "the node's ledger agrees");
    node.stop();
}

#[test]
fn the_node_behind_the_nic_conforms() {
    conforms(Promise::Durable, "");
}

#[test]
fn the_nic_answers_at_accepted_by_itself() {
    conforms(Promise::Accepted, "compact");
}
