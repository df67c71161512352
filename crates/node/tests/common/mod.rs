//! What the tests of a node need.
#![allow(dead_code, reason = "not every test file needs all of it")]

pub mod http;

use std::path::Path;

use client::{Client, Options};
use turnpike_node::{Config, Node};
use wire::{AccountId, Promise, TransactionId};

/// A small node that takes any free port.
pub fn config(data: &Path) -> Config {
    let mut config = Config {
        data: data.into(),
        listen: "127.0.0.1:0".parse().unwrap(),
        http: None,
        trusted: vec!["127.0.0.0/8".parse().unwrap()],
        ..Config::default()
    };
    config.ledger.accounts = 10_000;
    config.ledger.retry_operations = 1 << 16;
    config.ledger.signed_operations = 1 << 14;
    config.blocks.interval = 20;
    config
}

pub fn connect(node: &Node, promise: Promise) -> Client {
    Client::connect(node.local_address(), &Options { promise, ..Options::default() }).unwrap()
}

pub fn account(number: u32) -> AccountId {
    AccountId::from(number)
}

pub fn id(number: u32) -> TransactionId {
    TransactionId::from(number)
}
