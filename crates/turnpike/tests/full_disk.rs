//! Fills the disk of a real node under load: writes are refused, reads go on, health says why, and nothing durable is
//! lost.
//!
//! The disk is a small file system in memory, which only root can mount; elsewhere the test is skipped.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/disk.rs"]
mod disk;
#[path = "common/http.rs"]
mod http;

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use client::{Client, Options};
use common::start;
use disk::Disk;
use http::get;
use skip::Ability;
use wire::{AccountId, Operation, Promise, Status, TransactionId};

/// Room for one segment of the journal, 64 MiB, and not for two; so it is the journal that finds the disk full.
const SMALL: &str = "size=100m";
/// Room for all that the test writes.
const LARGE: &str = "size=600m";

const ACCOUNTS: u32 = 100;
const ISSUED: u64 = 1 << 40;
/// Operations that are sent at once.
const BATCH: u64 = 10_000;
/// More operations than a segment holds.
const LIMIT: u64 = 3_000_000;

/// A client with a plain model of its accounts.
struct Model {
    client: Client,
    balances: Vec<u64>,
    sent: u64,
}

impl Model {
    fn open(node: SocketAddr) -> Self {
        let options =
            Options { promise: Promise::Durable, give_up_after: Duration::from_secs(60), ..Options::default() };
        let client = Client::connect(node, &options).unwrap();
        let mut model = Self { client, balances: vec![ISSUED; ACCOUNTS as usize], sent: 0 };
        let operations: Vec<_> = (0..ACCOUNTS)
            .flat_map(|index| {
                let account = account(index.into());
                [Operation::create(index.into(), account), Operation::issue((index + ACCOUNTS).into(), account, ISSUED)]
            })
            .collect();
        assert!(model.client.submit(&operations).unwrap().iter().all(|receipt| receipt.status == Status::Ok));
        model
    }

    /// Sends transfers and applies the durable ones. Returns their number, and the number refused because storage
    /// failed.
    fn transfer(&mut self) -> (usize, usize) {
        let transfer = |number: u64| {
            let (source, destination) = (number % u64::from(ACCOUNTS), number * 7 % u64::from(ACCOUNTS - 1));
            let destination = destination + u64::from(destination >= source);
            let id = TransactionId::from(u128::from(number) + 1000);
            (Operation::transfer(id, account(source), account(destination), 1), source as usize, destination as usize)
        };
        let operations: Vec<_> = (self.sent..self.sent + BATCH).map(transfer).collect();
        self.sent += BATCH;
        let requests: Vec<_> = operations.iter().map(|(operation, ..)| *operation).collect();
        let (mut durable, mut refused) = (0, 0);
        for (receipt, (_, source, destination)) in self.client.submit(&requests).unwrap().iter().zip(operations) {
            match receipt.status {
                Status::Ok => {
                    assert_eq!(receipt.promise, Promise::Durable);
                    self.balances[source] -= 1;
                    self.balances[destination] += 1;
                    durable += 1;
                }
                Status::StorageFailed => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        (durable, refused)
    }

    fn check_balances(&mut self) {
        for (index, expected) in self.balances.iter().enumerate() {
            let receipt = self.client.refer(account(index as u64)).unwrap();
            assert_eq!((receipt.status, receipt.value), (Status::Ok, *expected), "account {index}");
        }
    }
}

fn account(index: u64) -> AccountId {
    AccountId::from(u128::from(index) + 1)
}

/// Waits until an answer over HTTP has these words in it.
fn await_answer(address: SocketAddr, path: &str, words: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = get(address, path);
        if answer.contains(words) {
            return answer;
        }
        assert!(Instant::now() < deadline, "{path} never says {words:?}, but {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_full_disk_stops_writes_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path(), SMALL) else {
        return skip::lacking(Ability::Root, "a file system can be mounted by root only");
    };
    let data = folder.path().join("data");
    let arguments = ["--accounts", "4096"];
    let [address] = order::free_addresses(1).unwrap().try_into().unwrap();
    let node = start(&data, address, &arguments);
    let (address, http) = (node.address, node.http);
    let mut model = Model::open(address);
    assert!(get(http, "/ready").contains("200 OK"));
    while model.transfer().1 == 0 {
        assert!(model.sent < LIMIT, "the disk is never full");
    }

    // Reads only, for good, as soon as there is no room left either that the builder gave back when it failed.
    let deadline = Instant::now() + Duration::from_secs(60);
    while model.transfer() != (0, BATCH as usize) {
        assert!(Instant::now() < deadline, "the disk is not full for good");
    }
    model.check_balances();
    let said = await_answer(http, "/ready", "503");
    assert!(said.contains("no room for the journal"), "{said}");
    assert!(get(http, "/health").contains("200 OK"), "it lives");
    let metrics = get(http, "/metrics");
    assert!(metrics.contains("turnpike_reads_only 1\n"), "{metrics}");
    assert!(metrics.contains("turnpike_storage_failed{reason=\"full\"} 1\n"), "{metrics}");
    assert!(metrics.contains("turnpike_storage_failed{reason=\"error\"} 0\n"), "{metrics}");

    // Space comes back: the journal goes on, and a restart after a crash finds everything.
    disk.resize(LARGE);
    // The node finds out by itself: no request arrives meanwhile.
    await_answer(http, "/ready", "200 OK");
    await_answer(http, "/metrics", "turnpike_storage_failed{reason=\"full\"} 0\n");
    let deadline = Instant::now() + Duration::from_secs(60);
    while model.transfer().0 < BATCH as usize {
        assert!(Instant::now() < deadline, "nothing is written though there is room");
    }
    drop(node);
    let node = start(&data, address, &arguments);
    model.check_balances();
    assert_eq!(model.transfer(), (BATCH as usize, 0));
    await_answer(node.http, "/metrics", "turnpike_builder_behind 0\n");
    assert!(get(node.http, "/ready").contains("200 OK"));
    drop(node);
    let check = Command::new(env!("CARGO_BIN_EXE_turnpike")).arg("check").arg(&data).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn a_disk_that_is_full_at_start_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = Disk::mount(folder.path(), SMALL) else {
        return skip::lacking(Ability::Root, "a file system can be mounted by root only");
    };
    std::fs::write(folder.path().join("others"), vec![1; 60 << 20]).unwrap();
    let serve = Command::new(env!("CARGO_BIN_EXE_turnpike"))
        .args(["serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data"])
        .arg(folder.path().join("data"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&serve.stderr);
    assert!(!serve.status.success() && said.contains("space"), "{said}");
}
