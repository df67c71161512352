//! The client against a node of the real program.
#![allow(clippy::unwrap_used)]

mod common;

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{
    Node, PATIENCE, TestChain, TestClient, TestSigner, account, create, create_for, issue, message, no_error, patient,
    secret_key, transfer,
};
use turnpike::ClientStatus as Code;
use turnpike::*;

#[test]
fn operations_one_by_one() {
    let Some(node) = Node::start() else { return };
    let client = node.client();
    let (alice, bob) = (account(1), account(2));
    client.create(alice).ok();
    client.create(bob).ok();
    assert_eq!(client.issue(alice, 1000).ok().value, 1000);
    let mut id = Id::default();
    let receipt = client.transfer(alice, bob, 50, &mut id).ok();
    assert_eq!((receipt.value, receipt.promise), (950, Promise::Durable as u8));
    assert!(wire::TransactionId(id.bytes).is_timed());
    // A repetition with the same id is executed once.
    assert_eq!(client.transfer(alice, bob, 50, &mut id).ok(), receipt);
    assert_eq!((client.balance(alice), client.balance(bob)), (950, 50));
    assert_eq!(client.execute(&mut issue(bob, 1), Promise::Accepted).ok().value, 51);
    // A node without replicas answers at a lower promise, and says so.
    let mut operation = issue(bob, 1);
    assert_eq!(client.execute(&mut operation, Promise::Final).ok().promise, Promise::Durable as u8);
    let (mut result, mut error) = (common::result(), no_error());
    // SAFETY: all pointers are to local values.
    let status = unsafe {
        turnpike_wait_for_promise(
            client.0,
            &raw const operation,
            Promise::Durable as u8,
            &raw mut result,
            &raw mut error,
        )
    };
    assert_eq!((status, result.value), (Code::TurnpikeOk, 52), "it is the first result");
    let info = client.info();
    assert_eq!((info.accounts, info.promise, info.is_read_only), (2, Promise::Durable as u8, false));
    assert!(info.retry_ms > 0 && info.max_frame > 0 && info.program[0] != 0);
    // SAFETY: all pointers are NULL or to local values.
    let status = unsafe { turnpike_wait_for_height(client.0, 1, null_mut(), &raw mut error) };
    assert_eq!(status, Code::TurnpikeOk, "{}", message(&error));
    // SAFETY: all pointers are NULL or to local values.
    let status = unsafe { turnpike_read_finality(client.0, null_mut(), null_mut(), 0, null_mut(), &raw mut error) };
    assert_eq!(status, Code::TurnpikeNotFound, "it is not a replica");
}

#[test]
fn every_refusal_has_its_status() {
    let Some(node) = Node::start() else { return };
    let client = node.client();
    let (alice, bob, nobody) = (account(1), account(2), account(3));
    client.create(alice).ok();
    client.create(bob).ok();
    client.issue(alice, 1 << 63).ok();
    client.issue(bob, 1 << 63).ok();
    let mut first = issue(alice, 7);
    client.execute(&mut first, Promise::Default).ok();
    let keyed = TestSigner::new(secret_key(), [0; 32]).account();
    let mut future = first;
    future.transaction.bytes[..2].fill(0x7f);
    for (mut operation, status) in [
        (create(alice), Code::TurnpikeAccountExists),
        (transfer(nobody, alice, 1), Code::TurnpikeSourceUnknown),
        (transfer(alice, nobody, 1), Code::TurnpikeDestinationUnknown),
        (transfer(alice, bob, (1 << 63) + 8), Code::TurnpikeInsufficientBalance),
        (transfer(bob, alice, 1 << 63), Code::TurnpikeOverflow),
        (transfer(alice, bob, 0), Code::TurnpikeZeroAmount),
        (transfer(alice, alice, 1), Code::TurnpikeSelfTransfer),
        (Operation { amount: 8, ..first }, Code::TurnpikeTransactionIdReused),
        (future, Code::TurnpikeStaleTimestamp),
        (Operation { command: 77, ..first }, Code::TurnpikeUnknownCommand),
        (Operation { flags: 9, ..first }, Code::TurnpikeMalformed),
        (Operation { flags: 3, ..first }, Code::TurnpikeLinkedInvalid),
        (issue(keyed, 1), Code::TurnpikeNotAuthorised),
    ] {
        let call = client.execute(&mut operation, Promise::Default);
        assert_eq!((call.status, call.result.status), (status, status), "{}", message(&call.error));
        assert_eq!((call.result.execution, call.error.execution), (Execution::None, Execution::None), "{status:?}");
        assert_eq!(call.error.transaction, operation.transaction);
        assert!(message(&call.error).contains("transaction"), "{}", message(&call.error));
    }
    assert_eq!(client.execute(&mut first, Promise::Default).ok().value, (1 << 63) + 7);
}

#[test]
fn holds_are_made_and_end() {
    let Some(node) = Node::start() else { return };
    let client = node.client();
    let (alice, bob) = (account(1), account(2));
    client.create(alice).ok();
    client.create(bob).ok();
    client.issue(alice, 1000).ok();
    let new_hold = |amount, expiry| {
        let mut operation = Operation::default();
        // SAFETY: all pointers are to local values.
        let status =
            unsafe { turnpike_operation_hold(&raw mut operation, &raw const alice, &raw const bob, amount, expiry) };
        assert_eq!(status, Code::TurnpikeOk);
        operation
    };
    let end = |of: &dyn Fn(*mut Operation) -> Code| {
        let mut operation = Operation::default();
        (of(&raw mut operation), operation)
    };
    // SAFETY: all pointers are to local values.
    let capture = |hold: &Operation, amount| end(&|to| unsafe { turnpike_operation_capture(to, hold, amount) });
    // SAFETY: all pointers are to local values.
    let release = |hold: &Operation| end(&|to| unsafe { turnpike_operation_release(to, hold) });
    // SAFETY: all pointers are to local values.
    let reclaim = |hold: &Operation| end(&|to| unsafe { turnpike_operation_reclaim(to, hold) });
    let mut first = new_hold(300, 0);
    assert_eq!(capture(&first, 100).0, Code::TurnpikeArgument, "it was not sent, so it has no id");
    assert_eq!(release(&transfer(alice, bob, 1)).0, Code::TurnpikeArgument, "it is no hold");
    assert_eq!(client.execute(&mut first, Promise::Default).ok().value, 700);
    let (_, mut early) = reclaim(&first);
    assert_eq!(client.execute(&mut early, Promise::Default).status, Code::TurnpikeHoldNotExpired);
    let (_, mut captured) = capture(&first, 100);
    assert_eq!(client.execute(&mut captured, Promise::Default).ok().value, 900);
    let (_, mut twice) = release(&first);
    assert_eq!(client.execute(&mut twice, Promise::Default).status, Code::TurnpikeTransactionIdReused);
    let mut second = new_hold(50, 0);
    assert_eq!(client.execute(&mut second, Promise::Default).ok().value, 850);
    let (_, mut released) = release(&second);
    assert_eq!(client.execute(&mut released, Promise::Default).ok().value, 900);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as u32;
    assert_eq!(client.execute(&mut new_hold(1, now), Promise::Default).status, Code::TurnpikeHoldExpired);
    let mut third = new_hold(60, now + 3);
    assert_eq!(client.execute(&mut third, Promise::Default).ok().value, 840);
    let (_, mut reclaimed) = reclaim(&third);
    let since = Instant::now();
    while client.execute(&mut reclaimed, Promise::Default).status == Code::TurnpikeHoldNotExpired {
        assert!(since.elapsed() < PATIENCE, "the hold does not expire");
        thread::sleep(Duration::from_millis(100));
    }
    client.execute(&mut reclaimed, Promise::Default).ok();
    assert_eq!((client.balance(alice), client.balance(bob)), (900, 100));
}

#[test]
fn batches_keep_their_order() {
    let Some(node) = Node::start() else { return };
    let client = node.client();
    let (alice, bob) = (account(1), account(2));
    let mut operations = vec![create(alice), create(bob), issue(alice, 10_000)];
    operations.extend((0..2500).map(|_| transfer(alice, bob, 2)));
    operations.push(transfer(alice, bob, 5001));
    let (status, results, error) = client.submit(&mut operations, 0);
    assert_eq!(status, Code::TurnpikeSomeNotExecuted, "{}", message(&error));
    let (last, others) = results.split_last().unwrap();
    assert_eq!((last.status, last.value, last.execution), (Code::TurnpikeInsufficientBalance, 5000, Execution::None));
    assert!(others.iter().all(|result| result.status == Code::TurnpikeOk && result.execution == Execution::Done));
    assert_eq!((error.transaction, error.value), (operations.last().unwrap().transaction, 5000));
    // The array has the ids, so a repetition changes nothing.
    let ids = operations.clone();
    let (status, again, _) = client.submit(&mut operations, TURNPIKE_SUBMIT_ANY_ORDER);
    assert_eq!((status, again, &operations), (Code::TurnpikeSomeNotExecuted, results, &ids));
    operations.pop();
    assert_eq!(client.submit(&mut operations, 0).0, Code::TurnpikeOk);
    assert_eq!(client.balance(bob), 5000);
    // Ids without a time are sent as well.
    let mut plain = [Operation { transaction: account(77), ..issue(alice, 1) }];
    assert_eq!(client.submit(&mut plain, 0).1[0].value, 5001);
    assert_eq!((client.submit(&mut plain, 0).1[0].value, plain[0].flags), (5001, 0));
}

#[test]
fn signed_operations() {
    let Some(node) = Node::start() else { return };
    let client = node.client();
    let network = client.info().network;
    let [issuer, alice, bob, carol] =
        [secret_key(), [1; 32], [2; 32], [3; 32]].map(|secret| TestSigner::new(secret, network));
    let (durable, source, destination) = (Promise::Durable, alice.account(), bob.account());
    for signed in [
        issuer.sign(&mut create(source), durable),
        issuer.sign(&mut issue(source, 1000), durable),
        alice.sign(&mut create_for(destination, source, 100), durable),
        alice.sign(&mut transfer(source, destination, 50), durable),
    ] {
        assert_eq!(client.execute_signed(&signed).ok().promise, durable as u8);
    }
    let back = bob.sign(&mut transfer(destination, source, 7), Promise::Accepted);
    for _ in 0..2 {
        assert_eq!(client.execute_signed(&back).ok().value, 43);
    }
    let mut forged = back;
    forged.bytes[183] ^= 1;
    let other_network = TestSigner::new([2; 32], [0; 32]);
    for (signed, status) in [
        (forged, Code::TurnpikeBadSignature),
        (other_network.sign(&mut transfer(destination, source, 1), durable), Code::TurnpikeBadSignature),
        (alice.sign(&mut transfer(destination, source, 1), durable), Code::TurnpikeNotAuthorised),
        (alice.sign(&mut issue(source, 1), durable), Code::TurnpikeNotIssuer),
        (alice.sign(&mut create_for(carol.account(), source, 99), durable), Code::TurnpikeDepositRequired),
    ] {
        let call = client.execute_signed(&signed);
        assert_eq!((call.status, call.result.execution), (status, Execution::None), "{}", message(&call.error));
    }
    // Many, at alternating promises: each frame has one.
    let promises = [Promise::Durable, Promise::Accepted];
    let signed = Vec::from_iter(
        (0..20).map(|number| alice.sign(&mut transfer(source, destination, 1), promises[number / 5 % 2])),
    );
    let (mut results, mut error) = (vec![common::result(); signed.len()], no_error());
    // SAFETY: all pointers are to local values.
    let status = unsafe {
        turnpike_submit_signed(client.0, signed.as_ptr(), signed.len(), 0, results.as_mut_ptr(), &raw mut error)
    };
    assert_eq!(status, Code::TurnpikeOk, "{}", message(&error));
    assert_eq!(results.last().unwrap().value, 1000 - 100 - 50 + 7 - 20);
}

#[test]
fn accounts_are_closed_and_frozen_where_that_is_allowed() {
    let Some(node) = Node::start() else { return };
    let client = node.client();
    let (alice, bob) = (account(1), account(2));
    assert_eq!(client.submit(&mut [create(alice), create(bob), issue(alice, 10)], 0).0, Code::TurnpikeOk);
    type Fill = unsafe extern "C" fn(*mut Operation, *const Id) -> Code;
    let execute = |fill: Fill| {
        let mut operation = Operation::default();
        // SAFETY: both pointers are to local values.
        assert_eq!(unsafe { fill(&raw mut operation, &raw const alice) }, Code::TurnpikeOk);
        client.execute(&mut operation, Promise::Default).status
    };
    for fill in [turnpike_operation_freeze as Fill, turnpike_operation_unfreeze] {
        assert_eq!(execute(fill), Code::TurnpikeFreezingDisabled);
    }
    assert_eq!(execute(turnpike_operation_close), Code::TurnpikeAccountNotEmpty);
    let mut id = Id::default();
    client.transfer(alice, bob, 10, &mut id).ok();
    assert_eq!(execute(turnpike_operation_close), Code::TurnpikeOk);
    assert_eq!(execute(turnpike_operation_close), Code::TurnpikeSourceUnknown);
}

#[test]
fn proofs_hold_without_a_node() {
    let Some(node) = Node::start() else { return };
    let client = node.client();
    let network = client.info().network;
    let (alice, bob) = (account(1), account(2));
    assert_eq!(client.submit(&mut [create(alice), create(bob), issue(alice, 1000)], 0).0, Code::TurnpikeOk);
    let mut id = Id::default();
    client.transfer(alice, bob, 50, &mut id).ok();

    let chain = client.chain(&network);
    let transaction = client.wait_for_transaction(&chain, id, alice);
    let Operation { amount, destination, transaction: proved, .. } = transaction.operation;
    assert_eq!((amount, destination, proved, transaction.is_signed), (50, bob, id, false));
    let (balance, proof) = client.prove_balance(&chain, bob).unwrap();
    assert!(balance.exists && balance.balance == 50 && balance.height >= transaction.height, "{balance:?}");
    assert!(!client.prove_balance(&chain, account(99)).unwrap().0.exists);
    assert_eq!(client.prove_transaction(&chain, account(5), alice).unwrap_err(), Code::TurnpikeNotFound);

    let (mut error, mut latest, mut at) = (no_error(), TransactionProof::default(), TransactionProof::default());
    let (mut short, mut length) = ([0; 10], 0);
    // SAFETY: all pointers are to local values or NULL.
    unsafe {
        let status = turnpike_prove_latest(
            client.0,
            chain.0,
            &raw const alice,
            &raw mut latest,
            null_mut(),
            0,
            null_mut(),
            &raw mut error,
        );
        assert_eq!(status, Code::TurnpikeOk, "{}", message(&error));
        let status = turnpike_prove_at(
            client.0,
            chain.0,
            balance.latest_height.into(),
            balance.latest_position,
            &raw mut at,
            short.as_mut_ptr(),
            short.len(),
            &raw mut length,
            &raw mut error,
        );
        assert_eq!(status, Code::TurnpikeBuffer, "{}", message(&error));
        let mut other = null_mut();
        let status = turnpike_chain_open(client.0, [1; 32].as_ptr(), &raw mut other, &raw mut error);
        assert_eq!((status, other.is_null()), (Code::TurnpikeWrongNetwork, true));
    }
    assert!(length > short.len() && latest.operation == at.operation && at.operation == transaction.operation);

    // The headers and the proof need no node, and every byte of both matters.
    drop((client, node));
    let saved = chain.save();
    let restored = TestChain::restore(&network, &saved).unwrap();
    let state = restored.state();
    assert_eq!((state, state.network, state.is_ordered), (chain.state(), network, false));
    assert_eq!(state.trusted_height, state.height);
    assert_eq!(restored.verify_balance(bob, &proof), Ok(balance));
    assert!(!restored.verify_balance(alice, &proof).is_ok_and(|proved| proved.balance == 50));
    assert_eq!(TestChain::restore(&[1; 32], &saved).err(), Some(Code::TurnpikeWrongNetwork));
    for at in (0..saved.len()).step_by(7) {
        let mut changed = saved.clone();
        changed[at] ^= 1;
        // A seal that another one covers does not matter.
        if let Ok(other) = TestChain::restore(&network, &changed) {
            assert_eq!(other.state().tip_hash, state.tip_hash, "byte {at}");
        }
    }
    for at in 0..proof.len() {
        let mut changed = proof.clone();
        changed[at] ^= 1;
        if let Ok(other) = restored.verify_balance(bob, &changed) {
            assert_eq!(other, balance, "byte {at}");
        }
        assert!(restored.verify_balance(bob, &proof[..at]).is_err(), "the first {at} bytes");
    }
}

/// Accounts of a load, and what their balances must be.
struct Accounts {
    balances: Vec<AtomicI64>,
    done: AtomicU64,
    random: AtomicU64,
}

impl Accounts {
    const COUNT: u64 = 20;
    const BALANCE: u64 = 1_000_000;

    fn open(client: &TestClient) -> Self {
        let ids = (1..=Self::COUNT).map(account);
        let mut operations = Vec::from_iter(ids.flat_map(|id| [create(id), issue(id, Self::BALANCE)]));
        let (status, _, error) = client.submit(&mut operations, 0);
        assert_eq!(status, Code::TurnpikeOk, "{}", message(&error));
        let balances = (0..Self::COUNT).map(|_| AtomicI64::new(Self::BALANCE as i64)).collect();
        Self { balances, done: AtomicU64::new(0), random: AtomicU64::new(1) }
    }

    fn random(&self, below: u64) -> u64 {
        let number = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        ((number ^ number >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) % below
    }

    fn transfer(&self) -> Operation {
        let from = self.random(Self::COUNT);
        let to = (from + 1 + self.random(Self::COUNT - 1)) % Self::COUNT;
        transfer(account(from + 1), account(to + 1), 1 + self.random(3))
    }

    fn apply(&self, operation: &Operation) {
        let at = |id: Id| &self.balances[u128::from_be_bytes(id.bytes) as usize - 1];
        at(operation.source).fetch_sub(operation.amount as i64, Ordering::Relaxed);
        at(operation.destination).fetch_add(operation.amount as i64, Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until `count` more transfers are done.
    fn wait_for(&self, count: u64) {
        let (target, since) = (self.done.load(Ordering::Relaxed) + count, Instant::now());
        while self.done.load(Ordering::Relaxed) < target {
            assert!(since.elapsed() < PATIENCE, "{} of {target} transfers are done", self.done.load(Ordering::Relaxed));
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn check(&self, client: &TestClient) {
        let balances = Vec::from_iter((1..=Self::COUNT).map(|number| client.balance(account(number)) as i64));
        let expected = Vec::from_iter(self.balances.iter().map(|balance| balance.load(Ordering::Relaxed)));
        assert_eq!(balances, expected);
        assert_eq!(balances.iter().sum::<i64>(), (Self::COUNT * Self::BALANCE) as i64);
    }
}

/// Ends a load, also if a test fails beside it.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs something beside threads that transfer, one by one and in batches.
fn under_load(client: &TestClient, accounts: &Accounts, run: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut operation = accounts.transfer();
                    client.execute(&mut operation, Promise::Default).ok();
                    accounts.apply(&operation);
                }
            });
        }
        for flags in [0, TURNPIKE_SUBMIT_ANY_ORDER] {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let mut operations = Vec::from_iter((0..50).map(|_| accounts.transfer()));
                    let (status, _, error) = client.submit(&mut operations, flags);
                    assert_eq!(status, Code::TurnpikeOk, "{}", message(&error));
                    operations.iter().for_each(|operation| accounts.apply(operation));
                }
            });
        }
        let _stop = Stop(&stop);
        run();
    });
}

/// Kills the node in the middle of a load and starts it again, three times: no transfer is lost, and none is executed
/// twice.
#[test]
fn nothing_is_lost_or_doubled_when_the_node_is_killed() {
    let Some(mut node) = Node::start() else { return };
    let client = TestClient::open(&[node.address], Options { retry_ms: 100, ..patient() });
    let accounts = Accounts::open(&client);
    under_load(&client, &accounts, || {
        for _ in 0..3 {
            accounts.wait_for(500);
            node.kill();
            thread::sleep(Duration::from_millis(50));
            node.restart();
        }
        accounts.wait_for(500);
    });
    accounts.check(&client);
    assert!(client.counters().retries > 0);
}

/// More threads than connections, which share frames and handles.
#[test]
fn threads_share_a_client() {
    let Some(node) = Node::start() else { return };
    let client = TestClient::open(&[node.address], Options { connections: 2, in_flight: 2, ..patient() });
    let accounts = Accounts::open(&client);
    let network = client.info().network;
    let chain = client.chain(&network);
    under_load(&client, &accounts, || {
        for number in 1..=5 {
            accounts.wait_for(200);
            assert!(client.prove_balance(&chain, account(number)).is_ok());
        }
    });
    accounts.check(&client);
}
