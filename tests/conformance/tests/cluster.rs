//! The suite against a replica of a cluster of four, in this process, on loopback. Leaders take turns, so each replica leads and
//! follows while it runs.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/issuer.rs"]
mod issuer;

use std::net::TcpListener;
use std::time::Duration;

use issuer::{ISSUER, ISSUER_KEY};
use node::config::Cluster;
use node::{Config, Node};
use turnpike_conformance::{Summary, Target, run};

#[test]
fn a_replica_conforms() {
    // In memory where that can be had: four replicas sync some hundred times for each second of the suite.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    // All are open at once, so that no two are the same.
    let listeners = Vec::from_iter((0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()));
    let addresses = Vec::from_iter(listeners.iter().map(|listener| listener.local_addr().unwrap()));
    drop(listeners);
    let sections = Cluster::generate(&addresses, 1_700_000_000).unwrap().into_iter().enumerate();
    let nodes = Vec::from_iter(sections.map(|(number, (secret, section))| {
        let folder = directory.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        let key = folder.join("replica.key");
        storage::key_file::create(&key, &secret).unwrap();
        let mut config = Config {
            data: folder.join("data"),
            listen: "127.0.0.1:0".parse().unwrap(),
            http: None,
            trusted: vec!["127.0.0.1/32".parse().unwrap()],
            issuers: vec![ISSUER_KEY.parse().unwrap()],
            cluster: Cluster { key, patience: 1000, ..section },
            ..Config::default()
        };
        config.ledger.accounts = 4096;
        config.ledger.retry_seconds = 600;
        config.limits.rate = 2000;
        Node::start(&config).unwrap()
    }));
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
    let summary = Summary::of(&outcomes);
    nodes.into_iter().for_each(Node::stop);
    assert!(summary.failed == 0 && summary.passed > 0, "{summary}");
    assert_eq!(summary.skipped, 3, "those that fill the memory of retries");
}
