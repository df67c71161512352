//! Settling of operations into blocks, and proofs from them.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::{account, config, connect, id};
use turnpike_node::Node;
use wire::{Operation, Promise, Status};

/// Waits until everything durable is in blocks.
fn settle(node: &Node) {
    let start = Instant::now();
    while node.behind() > 0 || node.is_open() {
        assert!(start.elapsed() < Duration::from_secs(30), "the builder does not catch up");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn transfers_settle_into_blocks_that_clients_can_follow() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let mut network = None;
    for start in 0..3u32 {
        let node = Node::start(&config).unwrap();
        assert_eq!(*network.get_or_insert(*node.network()), *node.network());
        let mut client = connect(&node, Promise::Durable);
        let mut chain = client.open_chain(network).unwrap();
        let heights = chain.height();
        for round in 0..5 {
            let number = start * 10 + round + 1;
            let operations = [
                Operation::create(id(1), account(number)),
                Operation::issue(id(2), account(number), 100),
                // Refused: not in a block.
                Operation::issue(id(3), account(900), 100),
            ];
            let answers = client.submit(&operations).unwrap();
            assert_eq!(answers[2].status, Status::SourceUnknown);
            settle(&node);
        }
        client.sync_headers(&mut chain).unwrap();
        assert!(chain.height() > heights);
        let tip = chain.header(chain.height()).unwrap();
        assert_eq!(tip.accounts.get(), u64::from(start + 1) * 5);
        assert_eq!(client.info().unwrap().tip_height.get(), chain.height());
        if start % 2 == 0 { node.stop() } else { drop(node) }
    }
}

#[test]
fn blocks_are_closed_when_they_are_full() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.blocks.transactions = 100;
    config.blocks.interval = 3_600_000;
    let node = Node::start(&config).unwrap();
    let mut client = connect(&node, Promise::Durable);
    let operations: Vec<_> = (1..=1050).map(|number| Operation::create(id(1), account(number))).collect();
    client.submit(&operations).unwrap();
    let start = Instant::now();
    while node.height() < 10 {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
    // The rest waits for more operations, or for the end.
    let mut chain = client.open_chain(None).unwrap();
    client.sync_headers(&mut chain).unwrap();
    assert_eq!(chain.height(), 10);
    assert!((1..=10).all(|height| chain.header(height).unwrap().transactions.get() == 100));
    node.stop();
    let node = Node::start(&config).unwrap();
    assert_eq!(node.height(), 11);
}

#[test]
fn what_is_in_blocks_is_proved() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let mut network = None;
    for start in 0..2u32 {
        let node = Node::start(&config).unwrap();
        let mut client = connect(&node, Promise::Durable);
        let mut chain = client.open_chain(*network.get_or_insert(Some(*node.network()))).unwrap();
        let operations: Vec<_> = (1..=200)
            .flat_map(|number| {
                [
                    Operation::create(id(1), account(number)),
                    Operation::issue(id(2), account(number), 10),
                    Operation::transfer(id(10 + start), account(number), account(1 + number % 200), 1),
                ]
            })
            .collect();
        client.submit(&operations).unwrap();
        settle(&node);
        // Twice, the second time out of the cache.
        for _ in 0..2 {
            for number in [1, 2, 77, 200] {
                let latest = client.prove_latest(&mut chain, account(number)).unwrap();
                let involved = [latest.operation.source, latest.operation.destination];
                assert!(involved.contains(&account(number)));
                let proved = client.prove_transaction(&mut chain, id(2), account(number)).unwrap();
                assert_eq!(proved.operation, Operation::issue(id(2), account(number), 10));
                let again = client.prove_locator(&mut chain, proved.height, proved.position).unwrap();
                assert_eq!(again.operation, proved.operation);
                let entry = client.prove_index(&mut chain, account(number)).unwrap().entry.unwrap();
                assert_eq!(entry.balance.get(), client.refer(account(number)).unwrap().value);
                assert_eq!((u64::from(entry.height.get()), entry.position.get()), (latest.height, latest.position));
            }
            assert_eq!(client.prove_index(&mut chain, account(999)).unwrap().entry, None);
            assert_eq!(client.prove_latest(&mut chain, account(999)).unwrap_err().status(), Some(Status::NotFound));
        }
        node.stop();
    }
}
