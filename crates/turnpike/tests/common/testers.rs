//! Clients of replicas, which check every final reply against a model of the ledger.

use std::iter::zip;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use client::{Client, Options};
use model::{Model, Outcome};
use wire::{Operation, Promise, Status};

use crate::load::{ISSUED, Load};

/// Longest wait, on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_secs(60);
const ACCOUNTS: u32 = 20;
/// Transfers of a batch.
pub const BATCH: u64 = 20;

/// A client of a replica that asks again until it has a final reply.
pub fn connect(replica: SocketAddr) -> Client {
    let options = Options {
        promise: Promise::Final,
        retry_after: Duration::from_millis(100),
        // Longer than a partition that a busy machine takes long to report.
        give_up_after: 5 * PATIENCE,
        ..Options::default()
    };
    Client::connect(replica, &options).unwrap()
}

/// A client, and what its accounts have to be.
pub struct Tester {
    client: Client,
    pub load: Load,
    pub ledger: Model,
}

impl Tester {
    /// The tester of a number, which asks this replica.
    pub fn new(replica: SocketAddr, number: u32) -> Self {
        Self { client: connect(replica), load: Load::new(number, ACCOUNTS), ledger: Model::default() }
    }

    fn submit(&mut self, operations: &[Operation]) {
        let receipts = self.client.submit(operations).unwrap();
        assert_eq!(receipts.len(), operations.len());
        for (receipt, operation) in zip(receipts, operations) {
            let Outcome { status, value, .. } = self.ledger.execute(operation);
            assert_eq!((receipt.status, receipt.value, receipt.promise), (status, value, Promise::Final));
        }
    }

    pub fn open_accounts(&mut self) {
        for account in self.load.accounts() {
            let operations = self.load.open(account);
            self.submit(&operations);
        }
    }

    /// Sends a batch of transfers, and checks every reply.
    pub fn transfer(&mut self) {
        let operations = Vec::from_iter((0..BATCH).map(|_| self.load.transfer()));
        self.submit(&operations);
    }

    /// Checks all balances at a replica, and that no money was made or lost.
    pub fn check(&self, replica: SocketAddr) {
        let mut client = connect(replica);
        let balances = self.load.accounts().map(|account| {
            let receipt = client.refer(account).unwrap();
            assert_eq!((receipt.status, receipt.value), (Status::Ok, self.ledger.balance(account)), "{account}");
            receipt.value
        });
        assert_eq!(balances.sum::<u64>(), u64::from(ACCOUNTS) * ISSUED);
    }
}

/// Ends the testers' work, also where what goes on beside it fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Testers at work, one for each replica.
pub struct Testers<'scope> {
    threads: Vec<ScopedJoinHandle<'scope, Tester>>,
    batches: &'scope [AtomicU64],
}

impl Testers<'_> {
    /// Lets them work while something is done, and gives them when they have ended.
    pub fn during(replicas: &[SocketAddr], run: impl FnOnce(&Testers<'_>)) -> Vec<Tester> {
        let done = AtomicBool::new(false);
        let batches = Vec::from_iter(replicas.iter().map(|_| AtomicU64::new(0)));
        thread::scope(|scope| {
            let threads = zip(0.., zip(replicas, &batches)).map(|(number, (&replica, batches))| {
                let done = &done;
                scope.spawn(move || {
                    let mut tester = Tester::new(replica, number);
                    tester.open_accounts();
                    while !done.load(Ordering::Relaxed) {
                        tester.transfer();
                        batches.fetch_add(1, Ordering::Relaxed);
                    }
                    tester
                })
            });
            let testers = Testers { threads: threads.collect(), batches: &batches };
            let end = Done(&done);
            run(&testers);
            drop(end);
            testers.threads.into_iter().map(|tester| tester.join().unwrap()).collect()
        })
    }

    /// How many batches each replica has answered.
    pub fn answered(&self) -> Vec<u64> {
        self.batches.iter().map(|batches| batches.load(Ordering::Relaxed)).collect()
    }

    /// Waits until each has five more replies, except the one of a replica that is away.
    pub fn go_on(&self, away: Option<u32>) {
        let before = self.answered();
        let since = Instant::now();
        for (number, tester) in zip(0.., &self.threads).filter(|(number, _)| Some(*number) != away) {
            let at = number as usize;
            while self.batches[at].load(Ordering::Relaxed) < before[at] + 5 {
                assert!(since.elapsed() < PATIENCE, "the client of replica {number} gets no answers");
                assert!(!tester.is_finished(), "the client of replica {number} got a wrong answer");
                sleep(Duration::from_millis(10));
            }
        }
    }
}

/// A replica's tip: height, hash, and the accounts that there are.
pub type Tip = (u64, [u8; 32], u64);

/// The tips of replicas.
pub fn tips(replicas: &[SocketAddr]) -> Vec<Tip> {
    let tip = |&replica| {
        let info = connect(replica).info().unwrap();
        (info.tip_height.get(), info.tip_hash, info.accounts.get())
    };
    replicas.iter().map(tip).collect()
}

/// Waits until all have the same blocks.
pub fn settle(replicas: &[SocketAddr]) {
    let since = Instant::now();
    loop {
        let tips = tips(replicas);
        if tips.iter().all(|tip| *tip == tips[0]) {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{tips:?}");
        sleep(Duration::from_millis(50));
    }
}
