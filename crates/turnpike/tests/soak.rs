//! A node at 70 % of its highest rate, killed with SIGKILL after each round: `make soak` runs for an hour, CI for some
//! seconds.
//!
//! Each client has its own accounts, so it knows every expected reply and the final balances. Blocks are pruned
//! meanwhile, so the disk does not fill. `SOAK_ROUNDS` and `SOAK_SECONDS` set the number of rounds and their length.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/load.rs"]
mod load;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command as Program;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use client::{Client, Options};
use common::start;
use load::{ISSUED, Load};
use wire::{AccountId, Command, Operation, Promise, Status, TransactionId};

/// One for each processor of a small machine: more of them measure each other.
const CLIENTS: u32 = 2;

/// Entries of a batch: eight datagrams.
const BATCH: usize = 480;

/// Share of the highest rate, in percent: as a node in production should be loaded.
const SHARE: u64 = 70;

/// Maximum number of open holds of a client.
const HOLDS: usize = 1000;

/// Keys of `[blocks]`, and the time for which the end of a hold is retried, which is longer than a start takes.
const CONFIG: &str = "[ledger]\nretry_seconds = 60\n[blocks]\nsnapshot = {snapshot}\nretention = {retention}\n";

fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// What the accounts of a client must have.
#[derive(Default)]
struct Books {
    balances: HashMap<AccountId, u64>,
    /// Open holds, by the ids of their HOLDs.
    holds: HashMap<TransactionId, Operation>,
}

impl Books {
    /// Executes an operation. Returns its status and the balance of its source.
    fn execute(&mut self, operation: &Operation) -> (Status, u64) {
        let (amount, balance) = (operation.amount(), self.balances[&operation.source]);
        if operation.ends_hold() {
            let hold = self.holds.remove(&operation.transaction).unwrap();
            let left = balance + hold.amount() - amount;
            self.balances.insert(operation.source, left);
            *self.balances.get_mut(&operation.destination).unwrap() += amount;
            return (Status::Ok, left);
        }
        let Some(left) = balance.checked_sub(amount) else { return (Status::InsufficientBalance, balance) };
        self.balances.insert(operation.source, left);
        if operation.command() == Ok(Command::Hold) {
            self.holds.insert(operation.transaction, *operation);
        } else {
            *self.balances.get_mut(&operation.destination).unwrap() += amount;
        }
        (Status::Ok, left)
    }

    /// Executes two linked transfers. Returns their statuses.
    fn execute_pair(&mut self, pair: &[Operation]) -> [Status; 2] {
        let before = [&pair[0], &pair[1]].map(|each| [each.source, each.destination]);
        let before = before.as_flattened().iter().map(|account| (*account, self.balances[account])).collect::<Vec<_>>();
        let statuses = [self.execute(&pair[0]).0, self.execute(&pair[1]).0];
        match statuses.iter().position(|status| !status.is_ok()) {
            None => statuses,
            Some(failed) => {
                self.balances.extend(before);
                let mut statuses = [Status::LinkedFailed; 2];
                statuses[failed] = Status::InsufficientBalance;
                statuses
            }
        }
    }
}

/// What the clients measure in a round.
#[derive(Default)]
struct Round {
    operations: u64,
    /// Of each batch: microseconds from its first datagram to its last reply.
    latencies: Vec<u64>,
}

impl Round {
    fn percentile(&mut self, percent: usize) -> u64 {
        self.latencies.sort_unstable();
        self.latencies.get(self.latencies.len() * percent / 100).copied().unwrap_or(0)
    }
}

/// What the clients and the one who kills share.
#[derive(Default)]
struct Soak {
    is_over: AtomicBool,
    /// Operations a second of each client; 0 for the highest rate.
    rate: AtomicU64,
    round: Mutex<Round>,
}

struct Tester {
    client: Client,
    load: Load,
    books: Books,
}

impl Tester {
    fn new(node: SocketAddr, number: u32, accounts: u32) -> Self {
        let options = Options {
            promise: Promise::Durable,
            retry_after: Duration::from_millis(50),
            retry_at_most: Duration::from_millis(500),
            // A start on a loaded machine may take its time.
            give_up_after: Duration::from_secs(300),
            ..Options::default()
        };
        let client = Client::connect(node, &options).unwrap();
        Self { client, load: Load::new(number, accounts), books: Books::default() }
    }

    fn open_accounts(&mut self) {
        let accounts = Vec::from_iter(self.load.accounts());
        for accounts in accounts.chunks(BATCH / 2) {
            let operations = Vec::from_iter(accounts.iter().flat_map(|account| self.load.open(*account)));
            let receipts = self.client.submit(&operations).unwrap();
            assert!(receipts.iter().all(|receipt| receipt.status == Status::Ok));
            self.books.balances.extend(accounts.iter().map(|account| (*account, ISSUED)));
        }
    }

    /// Transfers, some linked in pairs, and holds with their ends. A batch ends holds of earlier ones.
    fn next_batch(&mut self) -> Vec<Operation> {
        let mut open = self.books.holds.values().take(BATCH / 16).copied().collect::<Vec<_>>();
        let mut operations = Vec::with_capacity(BATCH);
        while operations.len() < BATCH - 1 {
            match (self.load.random(16), open.pop()) {
                (0, Some(hold)) => operations.push(match self.load.random(2) {
                    0 => Operation::release(&hold),
                    _ => Operation::capture(&hold, 1 + self.load.random(hold.amount())),
                }),
                (1, _) if self.books.holds.len() < HOLDS => operations.push(self.load.hold()),
                (2 | 3, _) => operations.extend([self.load.transfer().linked(), self.load.transfer()]),
                _ => operations.push(self.load.transfer()),
            }
        }
        operations
    }

    /// Submits a batch, and checks every reply.
    fn submit(&mut self, operations: &[Operation]) {
        let receipts = self.client.submit(operations).unwrap();
        assert_eq!(receipts.len(), operations.len());
        let mut position = 0;
        while position < operations.len() {
            let statuses = [0, 1].map(|next| receipts.get(position + next).map(|receipt| receipt.status));
            let operation = &operations[position];
            if operation.is_linked() {
                let expected = self.books.execute_pair(&operations[position..position + 2]);
                assert_eq!(statuses, expected.map(Some), "{:?}", &operations[position..position + 2]);
                position += 2;
                continue;
            }
            let (status, balance) = self.books.execute(operation);
            assert_eq!(statuses[0], Some(status), "{operation:?}");
            assert!(!status.is_ok() || receipts[position].value == balance, "{operation:?}: {:?}", receipts[position]);
            assert_eq!(receipts[position].promise, Promise::Durable);
            position += 1;
        }
    }

    fn run(&mut self, soak: &Soak) {
        let (mut due, mut rate) = (Instant::now(), 0);
        while !soak.is_over.load(Relaxed) {
            if rate != soak.rate.load(Relaxed) {
                (due, rate) = (Instant::now(), soak.rate.load(Relaxed));
            }
            let operations = self.next_batch();
            let begun = Instant::now();
            self.submit(&operations);
            let took = begun.elapsed();
            let mut round = soak.round.lock().unwrap();
            round.operations += operations.len() as u64;
            round.latencies.push(took.as_micros() as u64);
            drop(round);
            if let Some(micros) = (operations.len() as u64 * 1_000_000).checked_div(rate) {
                // What an outage delayed is not caught up with: that would be another rate.
                due = due.max(begun) + Duration::from_micros(micros);
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
    }

    /// Ends all holds, and checks all balances and their sum.
    fn check(&mut self) {
        let ends = self.books.holds.values().map(Operation::release).collect::<Vec<_>>();
        self.submit(&ends);
        let accounts = Vec::from_iter(self.load.accounts());
        for accounts in accounts.chunks(BATCH) {
            let refers = Vec::from_iter(accounts.iter().map(|account| self.load.refer(*account)));
            for (account, receipt) in accounts.iter().zip(self.client.submit(&refers).unwrap()) {
                assert_eq!((receipt.status, receipt.value), (Status::Ok, self.books.balances[account]), "{account}");
            }
        }
        let sum: u64 = self.books.balances.values().sum();
        assert_eq!(sum, accounts.len() as u64 * ISSUED);
    }
}

/// Mebibytes of a directory's files.
fn mebibytes(directory: &Path) -> u64 {
    let bytes = |directory: &Path| -> u64 {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.metadata().ok().filter(|file| file.is_file())).map(|file| file.len()).sum()
    };
    ["chain", "journal", "catalog"].map(|part| bytes(&directory.join(part))).iter().sum::<u64>() >> 20
}

/// Mebibytes of a process in memory.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[test]
fn a_node_under_load_that_is_killed_again_and_again_loses_nothing() {
    let (rounds, seconds) = (number("SOAK_ROUNDS", 4), number("SOAK_SECONDS", 2));
    let accounts = number("SOAK_ACCOUNTS", 20_000) as u32;
    let folder = tempfile::tempdir().unwrap();
    let [data, config] = ["data", "turnpike.toml"].map(|name| folder.path().join(name));
    let snapshot = (seconds / 2).max(1);
    let keys = [("{snapshot}", snapshot), ("{retention}", 2 * snapshot)];
    let text = keys.iter().fold(CONFIG.to_owned(), |text, (key, value)| text.replace(key, &value.to_string()));
    fs::write(&config, text).unwrap();
    let most = (CLIENTS * (accounts + 2 * HOLDS as u32)).to_string();
    let arguments = ["--accounts", &most, "--config", config.to_str().unwrap()];
    let [address] = order::free_addresses(1).unwrap().try_into().unwrap();
    let mut node = start(&data, address, &arguments);
    let address = node.address;
    let (soak, opened) = (Soak::default(), Barrier::new(CLIENTS as usize + 1));
    println!("round\tbatches in ms: p50\tp99\toperations/s, durable\tresident MiB\tdisk MiB\tstart ms");
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (soak, opened) = (&soak, &opened);
            scope.spawn(move || {
                let mut tester = Tester::new(address, number, accounts);
                tester.open_accounts();
                opened.wait();
                tester.run(soak);
                tester.check();
            });
        }
        opened.wait();
        for number in 0..rounds {
            *soak.round.lock().unwrap() = Round::default();
            let begun = Instant::now();
            thread::sleep(Duration::from_secs(seconds));
            let mut round = std::mem::take(&mut *soak.round.lock().unwrap());
            let rate = round.operations * 1000 / begun.elapsed().as_millis() as u64;
            if number == 0 {
                soak.rate.store((rate * SHARE / 100 / u64::from(CLIENTS)).max(1), Relaxed);
            }
            let [p50, p99] = [50, 99].map(|percent| round.percentile(percent) as f64 / 1000.0);
            let (memory, disk) = (resident(node.id()), mebibytes(&data));
            node.kill().unwrap();
            let killed = Instant::now();
            node = start(&data, address, &arguments);
            let restart = killed.elapsed().as_millis();
            println!("{number}\t{p50:.1}\t{p99:.1}\t{rate}\t{memory}\t{disk}\t{restart}");
        }
        soak.is_over.store(true, Relaxed);
    });
    assert!(node.stop().unwrap());
    let check = Program::new(env!("CARGO_BIN_EXE_turnpike")).arg("--json").arg("check").arg(&data).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    let report: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!(report["total"], (u64::from(CLIENTS * accounts) * ISSUED).to_string());
    println!("{rounds} kills; blocks up to {}, retained from {} on", report["height"], report["first_retained"]);
}
