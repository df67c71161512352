//! The suite against a node whose NIC tier answers, over a cable between two network namespaces.
//!
//! Skipped, with a word why, where the machine does not allow it: it takes root and Linux 6.10.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::setting::{
    a_node_that_remembers_little_conforms, config, conforms, other_traffic_and_restarts_are_not_disturbed, set_up,
};
use common::{CLIENT, CLIENT_V6, NODE, NODE_V6, STRANGER};
use node::Node;
use node::config::Backend;
use wire::Promise;
use xdp::Counter;

#[test]
fn the_node_conforms_over_ipv4() {
    let mut config = config(NODE, Backend::Xdp);
    config.limits.rate = 2000;
    let Some(setting) = set_up(config) else { return };
    conforms(&setting, CLIENT, Some(STRANGER), "", true);
    let count = |counter| setting.node.state().tier_count(counter);
    // The suite refers some 40 times to what has been durable for a while; how many more there are is a matter of time.
    assert!(count(Counter::Refer) >= 20, "REFER was answered by XDP: {}", count(Counter::Refer));
    assert_eq!(count(Counter::Lost), 0);
}

#[test]
fn the_node_conforms_over_ipv6_at_accepted() {
    let mut config = config(&format!("[{NODE_V6}]"), Backend::Xdp);
    config.promise = Promise::Accepted;
    let Some(setting) = set_up(config) else { return };
    conforms(&setting, CLIENT_V6, None, "", false);
    let count = |counter| setting.node.state().tier_count(counter);
    assert!(
        count(Counter::Refer) > 0 && count(Counter::Retry) > 0 && count(Counter::Proof) > 0,
        "all were answered by XDP"
    );
    assert_eq!(count(Counter::Lost), 0);
}

#[test]
fn a_node_that_remembers_little() {
    a_node_that_remembers_little_conforms(Backend::Xdp);
}

#[test]
fn other_traffic_and_restarts() {
    other_traffic_and_restarts_are_not_disturbed(Backend::Xdp);
}

/// Where the machine allows no tier, the node serves without one, and without an error.
#[test]
fn the_loopback_falls_back_to_sockets() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config("127.0.0.1", Backend::Auto);
    config.data = directory.path().join("data");
    let node = Node::start(&config).unwrap();
    assert!(!node.uses_tier());
}
