//! The suite against a replica of a cluster of four, in this process, on loopback. Leaders take turns, so each replica leads and
//! follows while it runs.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/issuer.rs"]
mod issuer;
#[path = "common/replicas.rs"]
mod replicas;

use std::time::Duration;

use issuer::{ISSUER, ISSUER_KEY};
use node::Node;
use turnpike_conformance::{Summary, Target, run};

#[test]
fn a_replica_conforms() {
    let directory = replicas::directory();
    let configs = replicas::configs(directory.path(), |_, config| {
        config.issuers = vec![ISSUER_KEY.parse().unwrap()];
        config.limits.rate = 2000;
    });
    let nodes = replicas::start(&configs);
    let target = Target {
        node: nodes[1].local_address(),
        trusted: "127.0.0.1".parse().unwrap(),
        stranger: Some("127.0.0.2".parse().unwrap()),
        issuer: Some(ISSUER),
        deposit: 100,
        small_table: true,
        rate_limited: true,
        block_patience: Duration::from_secs(60),
        retries: None,
    };
    let outcomes = run(&target, "", |outcome| println!("{outcome}")).unwrap();
    let summary = Summary::from_outcomes(&outcomes);
    nodes.into_iter().for_each(Node::stop);
    assert!(summary.failed == 0 && summary.passed > 0, "{summary}");
    assert_eq!(summary.skipped, 3, "those that fill the memory of retries");
}
