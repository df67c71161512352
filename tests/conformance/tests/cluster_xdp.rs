//! The suite against a replica of a cluster of four whose NIC tier answers, over a cable between two network namespaces. Leaders take
//! turns, so the replica leads and follows while it runs.
//!
//! Skipped, with a word why, where the machine does not allow it: it takes root and Linux 6.10.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use client::{Client, Options};
use common::setting::{Setting, StopAtEnd, config, conforms, set_up_replica};
use common::{CLIENT, NODE, STRANGER, address, within};
use node::config::Backend;
use turnpike_conformance::Link;
use wire::{
    AccountId, Chain, Command, CompactFrame, Operation, Promise, ProofRequest, Query, Status, TransactionId,
    key_of_transaction,
};
use xdp::Counter;
use zerocopy::{FromBytes, IntoBytes};

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_replica_conforms() {
    let mut config = config(NODE, Backend::Xdp);
    config.limits.rate = 2000;
    let Some(setting) = set_up_replica(&config) else { return };
    let summary = conforms(&setting, CLIENT, Some(STRANGER), "", true);
    assert_eq!(summary.skipped, 3, "those that fill the memory of retries");
    let count = |counter| setting.node.state().tier_count(counter);
    // Replies come when their block is executed, so what was answered is read in XDP: the suite refers more than a hundred times.
    assert!(count(Counter::Refer) >= 20, "REFER was answered by XDP: {}", count(Counter::Refer));
    assert!(count(Counter::Retry) > 0 && count(Counter::Proof) > 0, "retries and proofs as well");
    assert_eq!(count(Counter::Lost), 0);
}

#[test]
fn a_replica_conforms_past_the_network_stack() {
    let mut config = config(NODE, Backend::AfXdp);
    config.limits.rate = 2000;
    let Some(setting) = set_up_replica(&config) else { return };
    conforms(&setting, CLIENT, Some(STRANGER), "compact", true);
    conforms(&setting, CLIENT, Some(STRANGER), "signed", true);
    assert!(setting.node.state().counters.frames.get() > 20, "what XDP leaves came as frames");
}

/// Asks from the client's end of the cable, where XDP is, and from the node's own namespace, past it.
struct Both<'a>(&'a Setting);

impl Both<'_> {
    fn xdp(&self, request: &[u8]) -> Vec<u8> {
        let Setting { node, namespaces, .. } = self.0;
        within(&namespaces.client, || Link::open(address(CLIENT), node.local_address()).unwrap().ask(request).unwrap())
    }

    fn host(&self, request: &[u8]) -> Vec<u8> {
        let Setting { node, namespaces, .. } = self.0;
        within(&namespaces.node, || Link::open(address(NODE), node.local_address()).unwrap().ask(request).unwrap())
    }

    fn count(&self, counter: Counter) -> u64 {
        self.0.node.state().tier_count(counter)
    }

    /// Asks in XDP and has it answered by the host, where the one counts and the other does not.
    fn compare(&self, request: &[u8], counter: Counter) -> Vec<u8> {
        let before = self.count(counter);
        let by_xdp = self.xdp(request);
        assert_eq!(self.count(counter), before + 1, "{counter:?} answers {request:02x?}");
        let by_host = self.host(request);
        assert_eq!(self.count(counter), before + 1, "the host answers {request:02x?}");
        assert_eq!(by_xdp, by_host, "{request:02x?}");
        by_xdp
    }
}

fn compact(command: Command, transaction: u32, source: u32, destination: u32, amount: u32) -> Vec<u8> {
    CompactFrame::new(command, transaction, source, destination, amount).as_bytes().to_vec()
}

fn result(reply: &[u8]) -> (u16, u32) {
    let reply = CompactFrame::read_from_bytes(reply).unwrap();
    (reply.status.get(), reply.value())
}

fn proof_request(query: Query, key: [u8; 32]) -> Vec<u8> {
    let mut request = ProofRequest::new(10, Chain::Own, query, key).as_bytes().to_vec();
    request.resize(1400, 0);
    request
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
    }
}

#[test]
fn what_xdp_answers_is_what_the_replica_answers() {
    let Some(setting) = set_up_replica(&config(NODE, Backend::Xdp)) else { return };
    let both = Both(&setting);
    let operations = [
        (compact(Command::Create, 1, 1, 0, 0), (0, 0)),
        (compact(Command::Create, 2, 2, 0, 0), (0, 0)),
        (compact(Command::Issue, 3, 1, 0, 1000), (0, 1000)),
        (compact(Command::Transfer, 4, 1, 2, 300), (0, 700)),
        (compact(Command::Transfer, 5, 1, 2, 5000), (Status::InsufficientBalance.code(), 700)),
        (compact(Command::Issue, 6, 9, 0, 1), (Status::SourceUnknown.code(), 0)),
    ];
    for (operation, expected) in &operations {
        let before = both.count(Counter::Retry);
        assert_eq!(result(&both.xdp(operation)), *expected);
        assert_eq!(both.count(Counter::Retry), before, "what is new is ordered");
    }
    // Retries get the first answer, in XDP as by another block; another use of an id is for the host to say.
    for (operation, expected) in &operations {
        assert_eq!(result(&both.compare(operation, Counter::Retry)), *expected);
    }
    let retries = both.count(Counter::Retry);
    assert_eq!(result(&both.xdp(&compact(Command::Issue, 3, 1, 0, 1))).0, Status::TransactionIdReused.code());
    assert_eq!(both.count(Counter::Retry), retries);
    for (account, expected) in [(1, (0, 700)), (2, (0, 300))] {
        assert_eq!(result(&both.compare(&compact(Command::Refer, 7, account, 0, 0), Counter::Refer)), expected);
    }
    let unknown = (Status::SourceUnknown.code(), 0);
    assert_eq!(result(&both.xdp(&compact(Command::Refer, 7, 9, 0, 0))), unknown, "the host's answer");
    // What others order is read here, once it is executed here.
    let other = setting.others[0].local_address();
    let ask_other = |request: &[u8]| {
        within(&setting.namespaces.node, || Link::open(address("127.0.0.1"), other).unwrap().ask(request).unwrap())
    };
    assert_eq!(result(&ask_other(&compact(Command::Transfer, 8, 2, 1, 100))), (0, 200));
    let refer = compact(Command::Refer, 9, 2, 0, 0);
    until("what others order is executed", || result(&both.xdp(&refer)) == (0, 200));
    assert_eq!(result(&both.compare(&refer, Counter::Refer)), (0, 200));
    // The other one's client may come here with its retry.
    let retry = compact(Command::Transfer, 8, 2, 1, 100);
    assert_eq!(result(&both.compare(&retry, Counter::Retry)), (0, 200));

    for (query, key) in [
        (Query::Latest, AccountId::from(1_u128).into()),
        (Query::Transaction, key_of_transaction(TransactionId::from(4_u128), AccountId::from(1_u128))),
    ] {
        let request = proof_request(query, key);
        // Idle leaders order blocks that state the last one: then the tip stays, and both are as of the same.
        until("XDP has the host's proof", || {
            let before = both.count(Counter::Proof);
            let by_host = both.host(&request);
            assert!(by_host.len() > ProofRequest::LENGTH, "{query} is proved");
            both.xdp(&request) == by_host && both.count(Counter::Proof) == before + 1
        });
    }
    // It is as of the last block that has operations, so it is not cached behind an empty one.
    let index = proof_request(Query::Index, AccountId::from(2_u128).into());
    assert_eq!(both.xdp(&index), both.host(&index));
    let metrics = setting.node.metrics();
    let told = |answer, counter| metrics.contains(&format!("turnpike_xdp_total{{answer=\"{answer}\"}} {counter}\n"));
    assert!(told("refer", both.count(Counter::Refer)) && told("proof", both.count(Counter::Proof)), "{metrics}");
    // After a restart it is all there, before anything else is ordered.
    let setting = setting.restarted();
    let both = Both(&setting);
    assert_eq!(result(&both.compare(&refer, Counter::Refer)), (0, 200));
    assert_eq!(result(&both.compare(&retry, Counter::Retry)), (0, 200));
}

/// Under load, XDP tells balances as of whole blocks, and never less than a client was told.
#[test]
fn balances_in_xdp_are_those_of_final_blocks() {
    let Some(setting) = set_up_replica(&config(NODE, Backend::Xdp)) else { return };
    let node = setting.node.local_address();
    let stop = AtomicBool::new(false);
    let refer = compact(Command::Refer, 1, 1, 0, 0);
    let issues = 7;
    within(&setting.namespaces.client, || {
        let options = Options { promise: Promise::Final, give_up_after: PATIENCE, ..Options::default() };
        let mut writer = Client::connect(node, &options).unwrap();
        let account = AccountId::from(1_u128);
        assert_eq!(writer.create(account).unwrap().status, Status::Ok);
        std::thread::scope(|scope| {
            let _stop = StopAtEnd(&stop);
            scope.spawn(|| {
                let mut link = Link::open(address(CLIENT), node).unwrap();
                let mut last = 0;
                while !stop.load(Relaxed) {
                    let (status, balance) = result(&link.ask(&refer).unwrap());
                    assert!(status == 0 && balance >= last && balance.is_multiple_of(issues), "{balance} after {last}");
                    last = balance;
                }
            });
            let mut link = Link::open(address(CLIENT), node).unwrap();
            for round in 1..=100 {
                // One frame, so one group, so in one block.
                let issue = |at| Operation::issue(TransactionId::from(u128::from(1000 * round + at)), account, 1);
                let receipts = writer.submit(&Vec::from_iter((0..issues).map(issue))).unwrap();
                assert!(
                    receipts.iter().all(|receipt| receipt.status == Status::Ok && receipt.promise == Promise::Final)
                );
                assert_eq!(result(&link.ask(&refer).unwrap()), (0, issues * round), "what was answered is read");
            }
        });
    });
    assert!(setting.node.state().tier_count(Counter::Refer) > 100);
}
