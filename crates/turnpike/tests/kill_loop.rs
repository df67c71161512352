//! Kills the real program with SIGKILL under load, again and again: every durable reply holds, nothing is done twice.
//!
//! Each client has its own accounts, so it knows every expected reply. A lost or repeated operation shows in the next
//! balance. `KILLS=200 cargo test --test kill_loop` kills more often.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/load.rs"]
mod load;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use client::{Client, Options, Receipt};
use common::start;
use load::{ISSUED, Load};
use model::{Model, Outcome};
use wire::{Operation, Promise, Status};

const CLIENTS: u32 = 4;
const ACCOUNTS: u32 = 50;
const BATCH: u64 = 40;

/// A client, and what its accounts have to be.
struct Tester {
    client: Client,
    load: Load,
    ledger: Model,
}

impl Tester {
    fn new(node: SocketAddr, number: u32) -> Self {
        let options = Options {
            promise: Promise::Durable,
            retry_after: Duration::from_millis(20),
            retry_at_most: Duration::from_millis(100),
            // A node that is being started again on a loaded machine may take its time.
            give_up_after: Duration::from_secs(120),
            ..Options::default()
        };
        let client = Client::connect(node, &options).unwrap();
        Self { client, load: Load::new(number, ACCOUNTS), ledger: Model::default() }
    }

    fn open_accounts(&mut self) {
        let accounts = self.load.accounts();
        let operations = Vec::from_iter(accounts.flat_map(|account| self.load.open(account)));
        operations.iter().for_each(|operation| _ = self.ledger.execute(operation));
        for receipt in self.client.submit(&operations).unwrap() {
            assert_eq!(receipt.status, Status::Ok);
        }
    }

    /// Sends a batch of transfers, some beyond the balance and some linked, and checks every reply.
    fn transfer(&mut self) -> (Vec<Operation>, Vec<Receipt>) {
        let mut operations = Vec::from_iter((0..BATCH).map(|_| self.load.transfer()));
        for operation in &mut operations[..BATCH as usize - 1] {
            if self.load.random(2) == 0 {
                *operation = operation.linked();
            }
        }
        let expected = self.ledger.execute_batch(&operations);
        let receipts = self.client.submit(&operations).unwrap();
        assert_eq!(receipts.len(), expected.len());
        for (receipt, Outcome { status, value, .. }) in receipts.iter().zip(expected) {
            assert_eq!((receipt.status, receipt.value, receipt.promise), (status, value, Promise::Durable));
        }
        (operations, receipts)
    }

    fn check_balances(&mut self) {
        for account in self.load.accounts() {
            let receipt = self.client.refer(account).unwrap();
            assert_eq!(receipt.value, self.ledger.balance(account), "account {account}");
        }
        assert_eq!(self.ledger.issued(), u128::from(ACCOUNTS) * u128::from(ISSUED));
    }
}

#[test]
fn every_durable_reply_survives_kill_9() {
    let kills: u64 = std::env::var("KILLS").ok().map_or(50, |kills| kills.parse().unwrap());
    let data = tempfile::tempdir().unwrap();
    let arguments = ["--accounts", "4096"];
    let [address] = order::free_addresses(1).unwrap().try_into().unwrap();
    let first = start(data.path(), address, &arguments);
    let (address, network) = (first.address, first.network.clone());
    let mut node = Some(first);
    let done = AtomicBool::new(false);
    let batches = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (done, batches) = (&done, &batches);
            scope.spawn(move || {
                let mut tester = Tester::new(address, number);
                tester.open_accounts();
                let mut last = tester.transfer();
                while !done.load(Ordering::Relaxed) {
                    // A retry returns the first result and changes nothing, also across a crash.
                    if tester.load.random(4) == 0 {
                        assert_eq!(tester.client.submit(&last.0).unwrap(), last.1);
                    }
                    last = tester.transfer();
                    batches.fetch_add(1, Ordering::Relaxed);
                }
                tester.check_balances();
            });
        }
        let mut pause = 1_u64;
        for kill in 0..kills {
            // From the middle of start-up to well under way.
            pause = pause.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            thread::sleep(Duration::from_millis((pause >> 33) % 150));
            if kill % 10 == 9 {
                // Now and then it comes as far as closing blocks.
                thread::sleep(Duration::from_millis(1500));
            }
            node.take();
            let restarted = start(data.path(), address, &arguments);
            assert_eq!(restarted.network, network);
            node = Some(restarted);
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("{kills} kills, {} batches of {BATCH} durable transfers, none lost", batches.load(Ordering::Relaxed));
    drop(node);
    let check =
        std::process::Command::new(env!("CARGO_BIN_EXE_turnpike")).arg("check").arg(data.path()).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}
