//! The client against nodes that lose, delay, duplicate and garble replies, and refuse.
#![allow(clippy::unwrap_used)]

mod common;

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::fake::{FakeNode, refusal};
use common::{PATIENCE, TestClient, account, create, free_address, issue, message, patient, transfer};
use turnpike::ClientStatus as Code;
use turnpike::*;
use wire::Status;

/// Numbers below a bound, the same in each run.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

/// Changes a byte whose change a client can notice: of the header, or of an entry's ids.
fn garble(mut reply: Vec<u8>, random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let entries = (reply.len() - 16) / 64;
    let at = if entries > 0 && random(2) == 0 { 16 + random(entries) * 64 + 8 + random(32) } else { random(11) };
    reply[at] ^= 1 + random(255) as u8;
    reply
}

/// Repeats an operation until it has a result of the ledger, as programs do.
fn until_executed(client: &TestClient, operation: &mut Operation) -> OperationResult {
    let since = Instant::now();
    loop {
        let call = client.execute(operation, Promise::Default);
        if call.status == Code::TurnpikeOk {
            return call.result;
        }
        assert_eq!(call.result.execution, Execution::Unknown, "{}", message(&call.error));
        assert!(since.elapsed() < PATIENCE, "{}", message(&call.error));
    }
}

#[test]
fn each_operation_is_executed_once_whatever_becomes_of_replies() {
    let mut random = numbers(1);
    let mut held = Vec::new();
    let node = FakeNode::refusing(
        move |_, reply| match random(12) {
            0 => Some(vec![]),
            1 => {
                held.push(reply);
                Some(vec![])
            }
            2 => Some(vec![reply.clone(), reply]),
            3 => Some(vec![garble(reply, &mut random)]),
            4 => Some(vec![reply[..random(reply.len())].to_vec()]),
            5 => None,
            6 => Some(vec![refusal(&reply, Status::Busy)]),
            7 => Some([&std::mem::take(&mut held)[..], &[reply]].concat()),
            _ => Some(vec![reply]),
        },
        {
            let mut random = numbers(2);
            move |_| {
                [Status::Ok, Status::Ok, Status::Ok, Status::Busy, Status::NotFinal, Status::RateLimited][random(6)]
            }
        },
    );
    let client = TestClient::open(&[node.address], Options { retry_ms: 20, in_flight: 4, ..patient() });
    const CALLERS: u64 = 8;
    const TRANSFERS: u64 = 30;
    let bank = account(99);
    for mut operation in [create(bank), issue(bank, 1_000_000)] {
        until_executed(&client, &mut operation);
    }
    thread::scope(|scope| {
        for caller in 1..=CALLERS {
            let client = &client;
            scope.spawn(move || {
                until_executed(client, &mut create(account(caller)));
                for number in 0..TRANSFERS {
                    let mut operations = [transfer(bank, account(caller), 1), transfer(bank, account(caller), 2)];
                    if number % 2 == 0 {
                        let receipt = until_executed(client, &mut operations[0]);
                        assert_eq!(receipt.promise, Promise::Durable as u8);
                        continue;
                    }
                    while client.submit(&mut operations, 0).0 != Code::TurnpikeOk {}
                }
            });
        }
    });
    for caller in 1..=CALLERS {
        assert_eq!(node.balance(wire::AccountId(account(caller).bytes)), TRANSFERS / 2 * (1 + 3), "caller {caller}");
    }
    assert_eq!(node.executed(), 2 + CALLERS + CALLERS * TRANSFERS / 2 * 3);
    assert!(client.counters().retries > 0);
}

/// The first reply is lost, although the operation was executed, and the repetition is refused: with each status that
/// leaves no trace, the call must not say that the operation was not executed.
#[test]
fn a_refusal_after_a_lost_reply_is_not_an_outcome() {
    let statuses = wire::Status::ALL.iter().copied().filter(|status| {
        // The ledger decides the others, and gives a repetition the first result.
        let is_decided = status.is_journalled() || matches!(status.code(), 16..=18);
        !is_decided && !status.is_ok()
    });
    for status in statuses {
        for is_whole in [true, false] {
            let attempts = Arc::new(AtomicU64::new(0));
            let (replies, operations) = (Arc::clone(&attempts), attempts);
            let node = FakeNode::refusing(
                move |_, reply| match replies.fetch_add(1, Ordering::Relaxed) {
                    0 => Some(vec![]),
                    _ if is_whole => Some(vec![refusal(&reply, status)]),
                    _ => Some(vec![reply]),
                },
                move |_| if operations.load(Ordering::Relaxed) == 0 { Status::Ok } else { status },
            );
            let options = Options { retry_ms: 30, timeout_ms: 200, ..patient() };
            let client = TestClient::open(&[node.address], options);
            let call = client.create(account(1));
            assert_eq!(node.executed(), 1, "{status}");
            assert_eq!(call.result.execution, Execution::Unknown, "{status}: {}", message(&call.error));
            let keeps_status = matches!(status, Status::Expired | Status::NotFinal);
            let (expected, refusal) =
                if keeps_status { (status.code(), Code::TurnpikeOk) } else { (257, call.result.refusal) };
            assert_eq!((call.status as u16, call.result.refusal), (expected, refusal), "{status}");
            // The window may pass on that an attempt had no reply without the refusal of a later one.
            let is_left_out = status.is_transient() && refusal == Code::TurnpikeOk;
            assert!(keeps_status || is_left_out || refusal as u16 == status.code(), "{status}: {refusal:?}");
            assert!(
                keeps_status || message(&call.error).contains("may have been executed"),
                "{}",
                message(&call.error)
            );
        }
    }
}

/// Without a lost reply a refusal is conclusive.
#[test]
fn a_refusal_of_the_only_attempt_is_conclusive() {
    for status in [Status::NotTrusted, Status::StorageFailed, Status::StaleTimestamp, Status::UnsupportedVersion] {
        let node = FakeNode::start(move |_, reply| Some(vec![refusal(&reply, status)]));
        let client = TestClient::open(&[node.address], patient());
        let call = client.create(account(1));
        assert_eq!((call.status, call.result.execution), (status_of(status), Execution::None), "{status}");
        let mut operations = vec![create(account(1)); 2000];
        let (found, results, error) = client.submit(&mut operations, 0);
        assert_eq!(found, status_of(status), "{}", message(&error));
        assert_eq!((results[0].status, results[1999].status), (status_of(status), Code::TurnpikeNotSent));
        assert!(results.iter().all(|result| result.execution == Execution::None));
    }
}

fn status_of(status: Status) -> Code {
    // SAFETY: the generator gives every status the same code in both.
    unsafe { std::mem::transmute::<u16, Code>(status.code()) }
}

#[test]
fn a_silent_node_leaves_operations_unknown() {
    let node = FakeNode::start(|_, _| Some(vec![]));
    let client = TestClient::open(&[node.address], Options { timeout_ms: 150, ..patient() });
    let call = client.create(account(1));
    assert_eq!((call.status, call.result.execution), (Code::TurnpikeNoReply, Execution::Unknown));
    assert!(message(&call.error).contains("may have been executed"), "{}", message(&call.error));
    assert!(call.error.transaction != Id::default(), "the caller can repeat it");
    let mut operations = vec![create(account(1)); 2000];
    let (status, results, _) = client.submit(&mut operations, 0);
    assert_eq!(status, Code::TurnpikeNoReply);
    let count = |status| results.iter().filter(|result| result.status == status).count();
    assert_eq!(
        (count(Code::TurnpikeNoReply), count(Code::TurnpikeNotSent)),
        (1023, 977),
        "the second frame was not sent"
    );
    // Reads execute nothing.
    let mut refer = Operation { command: Command::Refer as u8, source: account(1), ..Operation::default() };
    let call = client.execute(&mut refer, Promise::Default);
    assert_eq!((call.status, call.result.execution), (Code::TurnpikeNoReply, Execution::None));
}

/// A frame fills the only connection. What callers submit meanwhile goes out in one frame for each promise.
#[test]
fn callers_share_frames() {
    const CALLERS: usize = 40;
    let (frames, counts) = channel();
    let (release, is_released) = channel::<()>();
    let mut is_first = true;
    let node = FakeNode::start(move |_, reply| {
        frames.send((reply.len() - 16) / 64).unwrap();
        if is_first {
            is_released.recv().unwrap();
            is_first = false;
        }
        Some(vec![reply])
    });
    let options = Options { connections: 1, retry_ms: 60_000, turn_ms: 60_000, ..patient() };
    let client = TestClient::open(&[node.address], options);
    let started = AtomicU64::new(0);
    thread::scope(|scope| {
        let submit = |number: usize, promise| {
            let (client, started) = (&client, &started);
            scope.spawn(move || {
                started.fetch_add(1, Ordering::Relaxed);
                client.execute(&mut create(account(number as u64)), promise).ok();
            });
        };
        submit(0, Promise::Default);
        assert_eq!(counts.recv_timeout(PATIENCE), Ok(1));
        for number in 1..=CALLERS {
            submit(number, Promise::Durable);
        }
        while started.load(Ordering::Relaxed) <= CALLERS as u64 {
            thread::sleep(Duration::from_millis(1));
        }
        // Each has only to join the queue now.
        thread::sleep(Duration::from_millis(200));
        release.send(()).unwrap();
    });
    let later = Vec::from_iter(counts.try_iter());
    assert_eq!(later.iter().sum::<usize>(), CALLERS);
    assert!(later.len() < CALLERS / 2, "{later:?}");
    assert_eq!(node.executed(), CALLERS as u64 + 1);
}

/// Nodes that are dead, silent or speak another protocol precede one that answers.
#[test]
fn the_client_turns_to_a_node_that_answers() {
    let dead = free_address();
    let silent = FakeNode::start(|_, _| Some(vec![])).address;
    let foreign = FakeNode::start(|_, _| Some(vec![b"HTTP/1.1 400 Bad Request".to_vec()])).address;
    let ending = FakeNode::start(|_, _| None).address;
    for before in [vec![dead], vec![silent], vec![foreign], vec![ending], vec![dead, silent, foreign, ending]] {
        let good = FakeNode::start(|_, reply| Some(vec![reply]));
        let nodes = [before, vec![good.address]].concat();
        let client = TestClient::open(&nodes, Options { turn_ms: 50, retry_ms: 50, ..patient() });
        client.create(account(1)).ok();
        assert_eq!(good.executed(), 1);
    }
}

/// An idle client does not turn away from a node that takes longer than a moment.
#[test]
fn an_idle_connection_is_not_a_silent_node() {
    let node = FakeNode::start(|_, reply| {
        thread::sleep(Duration::from_millis(300));
        Some(vec![reply])
    });
    let other = FakeNode::start(|_, reply| Some(vec![reply]));
    let options = Options { turn_ms: 1000, connections: 1, ..patient() };
    let client = TestClient::open(&[node.address, other.address], options);
    client.create(account(1)).ok();
    thread::sleep(Duration::from_millis(1100));
    client.create(account(2)).ok();
    assert_eq!((node.executed(), other.executed(), client.counters().turns), (2, 0, 0));
}

#[test]
fn a_node_may_start_later() {
    let address = free_address();
    let client = TestClient::open(&[address], patient());
    thread::scope(|scope| {
        let call = scope.spawn(|| client.create(account(1)).status);
        thread::sleep(Duration::from_millis(100));
        let listener = TcpListener::bind(address).unwrap();
        drop(listener.accept().unwrap());
        client.close();
        assert_eq!(call.join().unwrap(), Code::TurnpikeClosed);
    });
}

#[test]
fn closing_ends_calls() {
    let node = FakeNode::start(|_, _| Some(vec![]));
    let client = TestClient::open(&[node.address], Options { connections: 1, ..patient() });
    let calls = Mutex::new(Vec::new());
    let since = Instant::now();
    thread::scope(|scope| {
        for number in 0..4 {
            let (client, calls) = (&client, &calls);
            scope.spawn(move || {
                let call = client.create(account(number));
                calls.lock().unwrap().push((call.status, call.result.execution));
            });
            // The first is on its way before the next one waits.
            thread::sleep(Duration::from_millis(100));
        }
        client.close();
    });
    assert!(since.elapsed() < PATIENCE / 2);
    let calls = calls.into_inner().unwrap();
    assert!(calls.iter().all(|call| call.0 == Code::TurnpikeClosed), "{calls:?}");
    let unknown = calls.iter().filter(|call| call.1 == Execution::Unknown).count();
    assert_eq!(unknown, 1, "one was sent, and the others waited: {calls:?}");
    assert_eq!(client.create(account(1)).status, Code::TurnpikeClosed);
}

#[test]
fn a_call_without_a_connection_says_so() {
    let node = FakeNode::start(|_, _| Some(vec![]));
    let client = TestClient::open(&[node.address], Options { connections: 1, timeout_ms: 300, ..patient() });
    thread::scope(|scope| {
        let first = scope.spawn(|| client.submit(&mut vec![create(account(1)); 2000], TURNPIKE_SUBMIT_ANY_ORDER).0);
        thread::sleep(Duration::from_millis(100));
        let call = client.create(account(2));
        assert_eq!(call.status, Code::TurnpikeNoReply, "{}", message(&call.error));
        assert_eq!(first.join().unwrap(), Code::TurnpikeNoReply);
    });
}
