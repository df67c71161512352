//! An operation that was executed is sent again, late and under load, so that money moves once more.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use client::fresh_transaction_id;
use turnpike_attacks::{TRUSTED, Victim};
use turnpike_conformance::Link;
use wire::{
    AccountId, BatchEntries, BatchFormat, BatchHeader, CompactEntry, CompactFrame, Operation, Promise, Reply, Status,
    TransactionId,
};
use zerocopy::IntoBytes;

const FIRST: u32 = 1000;
const ACCOUNTS: u32 = 100;

/// A node that remembers a few thousand operations, and two accounts with money.
fn victim(retry_seconds: u64) -> Victim {
    let victim = Victim::start(|config| {
        config.ledger.retry_seconds = retry_seconds;
        config.ledger.retry_operations = 1 << 12;
        config.promise = Promise::Accepted;
    });
    let mut client = victim.client();
    let create = |id: u32, account: u32| Operation::create(id.into(), account.into());
    let mut open = vec![create(1, 1), create(2, 2), Operation::issue(3_u32.into(), 1_u32.into(), 100)];
    for account in FIRST..FIRST + ACCOUNTS {
        open.push(create(4, account));
        open.push(Operation::issue(5_u32.into(), account.into(), 1_000_000));
    }
    assert!(client.submit(&open).unwrap().iter().all(|receipt| receipt.status == Status::Ok));
    victim
}

fn balance(victim: &Victim) -> u64 {
    victim.client().refer(AccountId::from(1_u32)).unwrap().value
}

/// Sends one operation in a batch of its own. Its status.
fn send(link: &mut Link, operation: &Operation) -> Status {
    let header = BatchHeader::new(7, BatchFormat::Operation, 1, Promise::Default);
    let reply = link.ask(&[header.as_bytes(), operation.as_bytes()].concat()).unwrap();
    let Ok(Reply::Batch(batch)) = Reply::parse(&reply) else { panic!("not a batch") };
    let BatchEntries::Operation([entry]) = batch.entries else { panic!("not an operation") };
    entry.status().unwrap()
}

/// Transfers between other accounts, as fast as one client sends them. How many were executed, and how many were BUSY.
fn load(victim: &Victim, stop: &AtomicBool) -> (u64, u64) {
    let mut link = victim.link(TRUSTED);
    let (mut done, mut busy, mut id) = (0, 0, 10);
    while !stop.load(Relaxed) {
        let entries: Vec<_> = (0..500)
            .map(|at| {
                let (source, destination) = (FIRST + at % ACCOUNTS, FIRST + (at + 1) % ACCOUNTS);
                id += 1;
                CompactEntry::from(CompactFrame::new(wire::Command::Transfer, id, source, destination, 1))
            })
            .collect();
        let header = BatchHeader::new(9, BatchFormat::Compact, 500, Promise::Default);
        let reply = link.ask(&[header.as_bytes(), entries.as_bytes()].concat()).unwrap();
        let Ok(Reply::Batch(batch)) = Reply::parse(&reply) else { panic!("not a batch") };
        let BatchEntries::Compact(entries) = batch.entries else { panic!("not compact") };
        for entry in entries {
            match entry.frame.status().unwrap() {
                Status::Ok => done += 1,
                Status::Busy => busy += 1,
                other => panic!("{other}"),
            }
        }
    }
    (done, busy)
}

/// The attack that was found: the same entry again after 0.5, 1.0 and 1.5 s, beside a load.
#[test]
fn a_retry_moves_no_money_under_load() {
    let victim = victim(2);
    let transfer = Operation::transfer(TransactionId::from(77_u32), 1_u32.into(), 2_u32.into(), 10);
    let mut link = victim.link(TRUSTED);
    assert_eq!(send(&mut link, &transfer), Status::Ok);
    let (started, stop) = (Instant::now(), AtomicBool::new(false));
    let (done, busy) = thread::scope(|scope| {
        let load = scope.spawn(|| load(&victim, &stop));
        for half_seconds in 1..=3 {
            thread::sleep(Duration::from_millis(500 * half_seconds).saturating_sub(started.elapsed()));
            assert_eq!(send(&mut link, &transfer), Status::Ok);
            assert_eq!(balance(&victim), 90);
        }
        stop.store(true, Relaxed);
        load.join().unwrap()
    });
    assert!(done > 1 << 11 && busy > 1 << 12, "{done} done and {busy} BUSY: a load that fills the memory of retries");
}

/// An id with a time is never executed again: not when it is forgotten, and not after a restart.
#[test]
fn an_id_with_a_time_is_refused_for_ever() {
    let mut victim = victim(1);
    let transfer = |id| Operation::transfer(id, 1_u32.into(), 2_u32.into(), 10).timed();
    let first = transfer(fresh_transaction_id().unwrap());
    let mut link = victim.link(TRUSTED);
    assert_eq!(send(&mut link, &first), Status::Ok);
    assert_eq!(send(&mut link, &first), Status::Ok);
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(send(&mut link, &first), Status::Expired);
    // One that comes late for the first time is as good as any, as long as nothing newer was forgotten.
    assert_eq!(send(&mut link, &transfer(fresh_transaction_id().unwrap())), Status::Ok);
    for _ in 0..2 {
        victim.restart();
        assert_eq!(send(&mut victim.link(TRUSTED), &first), Status::Expired);
    }
    assert_eq!(balance(&victim), 80);
}
