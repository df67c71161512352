//! Kills the real program with SIGKILL under load: a feed that continues at its cursor has every journalled operation
//! exactly once.
//!
//! `KILLS=100 cargo test --test feed` kills more often.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/load.rs"]
mod load;
#[path = "common/program.rs"]
mod program;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use client::{Client, Feed, Options};
use common::start;
use load::Load;
use program::turnpike;
use wire::{FeedEntry, Promise, Status};

const ACCOUNTS: u32 = 20;
const BATCH: usize = 40;

/// Longer than a node that is started again on a loaded machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

fn options() -> Options {
    Options { promise: Promise::Durable, give_up_after: PATIENCE, ..Options::default() }
}

/// Transfers until `done`. Returns the number of operations with a durable reply.
fn transfer(node: SocketAddr, done: &AtomicBool) -> u64 {
    let mut client = Client::connect(node, &options()).unwrap();
    let mut load = Load::new(0, ACCOUNTS);
    let opened = Vec::from_iter(load.accounts().flat_map(|account| load.open(account)));
    let mut answered = client.submit(&opened).unwrap().len();
    while !done.load(Ordering::Relaxed) {
        let operations = Vec::from_iter((0..BATCH).map(|_| load.transfer()));
        answered += client.submit(&operations).unwrap().len();
    }
    answered as u64
}

/// Receives until the operation `last`, which becomes known later.
fn collect(feed: &mut Feed, last: &AtomicU64) -> Vec<FeedEntry> {
    let mut entries = Vec::new();
    while feed.cursor() <= last.load(Ordering::Relaxed) {
        entries.extend_from_slice(feed.receive().unwrap().entries);
    }
    entries
}

#[test]
fn a_feed_has_each_operation_once_over_kills() {
    let kills: u64 = std::env::var("KILLS").ok().map_or(8, |kills| kills.parse().unwrap());
    let data = tempfile::tempdir().unwrap();
    let mut node = start(data.path(), "127.0.0.1:0".parse().unwrap(), &["--accounts", "4096"]);
    let address = node.address;
    let (done, last) = (AtomicBool::new(false), AtomicU64::new(u64::MAX - 1));
    let (entries, answered, _node) = thread::scope(|scope| {
        let feed = scope.spawn(|| {
            let mut feed = Feed::new(address, 1, None, &options());
            let entries = collect(&mut feed, &last);
            assert!(feed.reconnections() > 0, "it was connected when the node was killed");
            entries
        });
        let load = scope.spawn(|| transfer(address, &done));
        for kill in 0..kills {
            thread::sleep(Duration::from_millis(100 + 70 * (kill % 5)));
            drop(node);
            node = start(data.path(), address, &["--accounts", "4096"]);
        }
        done.store(true, Ordering::Relaxed);
        let answered = load.join().unwrap();
        let mut client = Client::connect(address, &options()).unwrap();
        last.store(client.info().unwrap().durable_sequence.get(), Ordering::Relaxed);
        (feed.join().unwrap(), answered, node)
    });
    // The load repeats a batch after a kill, with the same ids. Each operation is journalled once, so the journal has
    // exactly those that were answered.
    assert_eq!(entries.len() as u64, answered);
    assert!((1..).zip(&entries).all(|(sequence, entry)| entry.sequence.get() == sequence));
    // As the journal has them now.
    let again = collect(&mut Feed::new(address, 1, None, &options()), &last);
    assert!(again == entries);
    // As the command prints them.
    let (from, until) = ((answered / 2).to_string(), answered.to_string());
    let printed = turnpike(&["feed", "--node", &address.to_string(), "--from", &from, "--until", &until]);
    let expected = &entries[answered as usize / 2 - 1..];
    assert_eq!(printed.len(), expected.len());
    for (row, entry) in printed.iter().zip(expected) {
        assert_eq!(row["sequence"], entry.sequence.get());
        assert_eq!(row["transaction"], entry.operation.transaction.to_string());
        assert_eq!(row["status"], entry.operation.status().map_or("unknown", Status::name));
        assert_eq!(
            (&row["amount"], &row["balance"]),
            (&entry.operation.amount.get().into(), &entry.value.get().into())
        );
    }
    let account = entries[0].operation.source;
    let of_account = ["feed", "--node", &address.to_string(), "--account", &account.to_string(), "--until", &until];
    let concerning = entries.iter().filter(|entry| entry.concerns(account)).count();
    assert_eq!(turnpike(&of_account).len(), concerning);
    println!("{kills} kills, {answered} operations, each once");
}
