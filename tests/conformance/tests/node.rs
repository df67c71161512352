//! The suite against a node in this process, on loopback.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/issuer.rs"]
mod issuer;

use std::time::Duration;

use issuer::{ISSUER, ISSUER_KEY};
use node::{Config, Node};
use turnpike_conformance::{SmallMemory, Summary, Target, run};

/// Runs the cases whose name contains `filter` against a node. How many were skipped.
fn conforms(filter: &str, retries: Option<SmallMemory>) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let mut config = Config {
        data: directory.path().join("data"),
        listen: "127.0.0.1:0".parse().unwrap(),
        http: None,
        trusted: vec!["127.0.0.1/32".parse().unwrap()],
        issuers: vec![ISSUER_KEY.parse().unwrap()],
        ..Config::default()
    };
    (config.ledger.accounts, config.ledger.freezing) = (4096, true);
    config.blocks.interval = 50;
    config.limits.rate = 2000;
    if let Some(SmallMemory { operations, time }) = retries {
        (config.ledger.retry_operations, config.ledger.retry_seconds) = (operations as u64, time.as_secs());
    }
    let node = Node::start(&config).unwrap();
    let target = Target {
        node: node.local_address(),
        trusted: "127.0.0.1".parse().unwrap(),
        stranger: Some("127.0.0.2".parse().unwrap()),
        issuer: Some(ISSUER),
        deposit: 100,
        small_table: true,
        rate_limited: true,
        block_patience: Duration::from_secs(60),
        retries,
    };
    let outcomes = run(&target, filter, |outcome| println!("{outcome}")).unwrap();
    let summary = Summary::from_outcomes(&outcomes);
    node.stop();
    assert!(summary.failed == 0 && summary.passed > 0, "{summary}");
    summary.skipped
}

#[test]
fn the_node_conforms() {
    assert_eq!(conforms("", None), 3, "those that fill the memory of retries");
}

#[test]
fn a_node_that_remembers_little_conforms() {
    let memory = SmallMemory { operations: 4096, time: Duration::from_secs(2) };
    assert_eq!(conforms("retries", Some(memory)), 0);
}
