//! Kills a node and its follower with SIGKILL under load, again and again: the follower ends up with the same ledger.
//!
//! `KILLS=100 cargo test --test follow_kill_loop` kills more often.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/http.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod http;
#[path = "common/load.rs"]
mod load;

use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use client::{Client, Feed, Options};
use common::start;
use load::Load;
use wire::{FeedEntry, FeedTail, Promise};

const ACCOUNTS: u32 = 50;
const BATCH: u64 = 40;
const TIMEOUT: Duration = Duration::from_secs(120);

fn options() -> Options {
    let give_up_after = TIMEOUT;
    let retry_at_most = Duration::from_millis(100);
    Options { promise: Promise::Durable, retry_at_most, give_up_after, ..Options::default() }
}

/// The operations up to `last`, with their times and tails.
fn feed(node: std::net::SocketAddr, last: u64) -> (Vec<(u64, FeedEntry)>, Vec<FeedTail>) {
    let mut feed = Feed::new(node, 1, None, &options()).with_tails();
    let (mut entries, mut tails) = (Vec::new(), Vec::new());
    while feed.cursor() <= last {
        let part = feed.receive().unwrap();
        entries.extend(part.entries.iter().map(|entry| (part.timestamp, *entry)));
        tails.extend_from_slice(part.tails);
    }
    (entries, tails)
}

fn check(data: &Path) {
    let check = Command::new(env!("CARGO_BIN_EXE_turnpike")).arg("check").arg(data).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn a_follower_survives_kill_9_of_itself_and_of_its_node() {
    let kills: u64 = std::env::var("KILLS").ok().map_or(8, |kills| kills.parse().unwrap());
    let [data, copied] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    // Dialling an address that nobody listens on can take its port as the source port, but only of 127.0.0.1.
    let [any, of_node] = ["127.0.0.1:0", "127.0.0.2:0"].map(|address| address.parse().unwrap());
    let arguments = ["--accounts", "4096"];
    let mut node = Some(start(data.path(), of_node, &arguments));
    let address = node.as_ref().unwrap().address;
    let followed = address.to_string();
    let following = ["--accounts", "4096", "--follow", &followed];
    let mut follower = Some(start(copied.path(), any, &following));
    let copy = follower.as_ref().unwrap().address;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut client, mut load) = (Client::connect(address, &options()).unwrap(), Load::new(1, ACCOUNTS));
            let opened = load.accounts();
            let opened = Vec::from_iter(opened.flat_map(|account| load.open(account)));
            client.submit(&opened).unwrap();
            while !done.load(Relaxed) {
                let mut batch = Vec::from_iter((0..BATCH).map(|_| load.transfer()));
                for operation in &mut batch[..BATCH as usize - 1] {
                    if load.random(2) == 0 {
                        *operation = operation.linked();
                    }
                }
                client.submit(&batch).unwrap();
            }
        });
        for kill in 0..kills {
            // Past the interval of blocks every third time.
            thread::sleep(Duration::from_millis([150, 400, 1300][kill as usize % 3]));
            if kill % 2 == 0 {
                follower.take();
                follower = Some(start(copied.path(), copy, &following));
            } else {
                node.take();
                node = Some(start(data.path(), address, &arguments));
            }
        }
        done.store(true, Relaxed);
    });
    let [mut original, mut followed] = [address, copy].map(|node| Client::connect(node, &options()).unwrap());
    let since = Instant::now();
    let last = loop {
        assert!(since.elapsed() < TIMEOUT, "the follower catches up");
        let [original, followed] = [&mut original, &mut followed].map(|client| client.info().unwrap());
        let last = original.durable_sequence.get();
        let is_same = original.tip_hash == followed.tip_hash && followed.durable_sequence.get() == last;
        // The last operations are in a block, or failed.
        let metrics = http::get(node.as_ref().unwrap().http, "/metrics");
        if is_same && metrics.contains("turnpike_builder_behind 0\n") {
            break last;
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(feed(address, last) == feed(copy, last));
    for account in Load::new(1, ACCOUNTS).accounts() {
        assert_eq!(original.refer(account).unwrap().value, followed.refer(account).unwrap().value, "{account}");
    }
    (node, follower) = (None, None);
    assert!(node.is_none() && follower.is_none());
    check(data.path());
    check(copied.path());
}
