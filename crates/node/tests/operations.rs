//! A node on a temporary data directory and the client library, over loopback.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{account, config, connect, id};
use turnpike_node::Node;
use wire::{CompactFrame, Operation, Promise, Status};

#[test]
fn every_command_is_answered_under_the_promise_asked_for() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&config(data.path())).unwrap();
    for (round, promise) in [Promise::Accepted, Promise::Durable].into_iter().enumerate() {
        let mut client = connect(&node, promise);
        let [a, b] = [0, 1].map(|at| account(round as u32 * 10 + at + 1));
        let answers = [
            client.create(a).unwrap(),
            client.create(b).unwrap(),
            client.issue(a, 1000).unwrap(),
            client.transfer(a, b, 300).unwrap(),
            client.refer(b).unwrap(),
        ];
        assert_eq!(answers.map(|answer| answer.value), [0, 0, 1000, 700, 300]);
        assert!(answers.iter().all(|answer| answer.status == Status::Ok), "{answers:?}");
        if promise == Promise::Durable {
            assert!(answers.iter().all(|answer| answer.promise == promise), "{answers:?}");
        }
        let refused = client.execute(&Operation::transfer(id(77), a, b, 701)).unwrap();
        assert_eq!((refused.status, refused.value), (Status::InsufficientBalance, 700));
    }
    node.stop();
}

#[test]
fn compact_frames_are_answered_under_the_configured_promise() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&config(data.path())).unwrap();
    let mut client = connect(&node, Promise::Default);
    let info = client.info().unwrap();
    assert_eq!(info.promise(), Ok(Promise::Durable));
    assert_eq!(&info.network, node.network());
    for (operation, status, value) in [
        (Operation::create(id(1), account(1)), Status::Ok, 0),
        (Operation::issue(id(2), account(1), 50), Status::Ok, 50),
        (Operation::transfer(id(3), account(1), account(2), 5), Status::DestinationUnknown, 50),
        (Operation::refer(id(4), account(1)), Status::Ok, 50),
    ] {
        let answer = client.execute_compact(CompactFrame::from_operation(&operation).unwrap()).unwrap();
        assert_eq!((answer.status(), answer.amount.get()), (Ok(status), value));
    }
    assert_eq!(client.info().unwrap().durable_sequence.get(), 3);
    assert_eq!(client.info().unwrap().accounts.get(), 1);
}

#[test]
fn retries_get_the_first_answer_also_after_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let transfer = Operation::transfer(id(9), account(1), account(2), 10);
    let reused = Operation::transfer(id(9), account(1), account(2), 11);
    for start in 0..4 {
        let node = Node::start(&config).unwrap();
        let mut client = connect(&node, Promise::Durable);
        if start == 0 {
            client.create(account(1)).unwrap();
            client.create(account(2)).unwrap();
            client.issue(account(1), 100).unwrap();
        }
        for _ in 0..3 {
            let answer = client.execute(&transfer).unwrap();
            assert_eq!((answer.status, answer.value), (Status::Ok, 90), "start {start}");
        }
        // Something in between, which the retries must not show.
        client.issue(account(1), 1).unwrap();
        assert_eq!(client.execute(&reused).unwrap().status, Status::TransactionIdReused);
        assert_eq!(client.refer(account(1)).unwrap().value, 91 + start);
        assert_eq!(client.refer(account(2)).unwrap().value, 10);
        // Gracefully and not.
        if start % 2 == 0 { node.stop() } else { drop(node) }
    }
}

#[test]
fn a_data_directory_serves_one_node() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let node = Node::start(&config).unwrap();
    let error = Node::start(&config).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    node.stop();
    Node::start(&config).unwrap().stop();
}

#[test]
fn batches_are_executed_in_order() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&config(data.path())).unwrap();
    let mut client = connect(&node, Promise::Durable);
    let mut operations = Vec::new();
    for number in 1..=2000 {
        operations.push(Operation::create(id(1), account(number)));
    }
    operations.push(Operation::issue(id(2), account(1), 2000));
    for number in 1..2000 {
        operations.push(Operation::transfer(id(3), account(number), account(number + 1), 2000 - u64::from(number)));
    }
    let answers = client.submit(&operations).unwrap();
    assert!(answers.iter().all(|answer| answer.status == Status::Ok));
    for number in 1..2000 {
        assert_eq!(client.refer(account(number)).unwrap().value, 1);
    }
}
