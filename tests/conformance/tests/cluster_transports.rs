//! Four replicas in this process, over what else than `tcp://` carries the bytes between them: one is away, the others go on, and it
//! catches up.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/replicas.rs"]
mod replicas;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use client::{Client, Options};
use node::config::Transport;
use node::{Config, Node};
use skip::Ability;
use wire::{AccountId, Promise, Status};

/// Longest wait, on an emulated machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

fn connect(node: &Node) -> Client {
    let options = Options { promise: Promise::Final, give_up_after: PATIENCE, ..Options::default() };
    Client::connect(node.local_address(), &options).unwrap()
}

fn account(number: u32) -> AccountId {
    AccountId::from(number)
}

/// Waits until all answer as of the same block.
fn settle(nodes: &[Node]) {
    let tip = |node| connect(node).info().unwrap().tip_hash;
    let since = Instant::now();
    while nodes.iter().any(|node| tip(node) != tip(&nodes[0])) {
        assert!(since.elapsed() < PATIENCE, "they do not come to the same block");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn replicas_order(change: impl Fn(&mut Config)) {
    let directory = replicas::directory();
    let configs = replicas::configs(directory.path(), |_, config| change(config));
    let mut nodes = replicas::start(&configs);
    let mut client = connect(&nodes[0]);
    let mut balance = 1000;
    for number in 1..=2 {
        assert_eq!(client.create(account(number)).unwrap().promise, Promise::Final);
        client.issue(account(number), balance).unwrap();
    }
    let mut transfer = |amount| {
        let receipt = client.transfer(account(1), account(2), amount).unwrap();
        balance -= amount;
        assert_eq!((receipt.status, receipt.promise, receipt.value), (Status::Ok, Promise::Final, balance));
    };
    transfer(1);
    settle(&nodes);
    nodes.pop().unwrap().stop();
    transfer(2);
    nodes.push(Node::start(configs.last().unwrap()).unwrap());
    // Its votes count once it has caught up.
    settle(&nodes);
    nodes.remove(1).stop();
    transfer(3);
    settle(&nodes);
    let value = |node| connect(node).refer(account(2)).unwrap().value;
    assert!(nodes.iter().all(|node| value(node) == 1006));
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn replicas_order_in_shared_memory() {
    replicas_order(|config| config.cluster.transport = Transport::Shm);
}

#[test]
fn replicas_order_over_rdma() {
    let Ok(ip) = std::env::var("TURNPIKE_RDMA") else {
        return skip::lacking(Ability::Rdma, "TURNPIKE_RDMA names no RDMA device; `make test-rdma` emulates one");
    };
    let ip: IpAddr = ip.parse().unwrap();
    let at_device = |address: &mut SocketAddr| address.set_ip(ip);
    replicas_order(|config| {
        config.cluster.transport = Transport::Rdma;
        // An emulated processor takes its time.
        config.cluster.patience = 10_000;
        config.cluster.replicas.iter_mut().for_each(|member| at_device(&mut member.address));
        config.cluster.listen.iter_mut().for_each(at_device);
    });
}
