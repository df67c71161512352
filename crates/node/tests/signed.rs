//! Signed operations: authorisation and refusals.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::time::{SystemTime, UNIX_EPOCH};

use client::{Client, Options, Signer};
use common::{config, connect, id};
use secp256k1::SecretKey;
use turnpike_node::{
    Node,
    config::{Asset, PublicKey},
};
use wire::{AccountId, Operation, Promise, SignedOperation, Status};

fn signer(seed: u8, network: [u8; 32]) -> Signer {
    Signer::new(SecretKey::from_byte_array([seed; 32]).unwrap(), network)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

fn status(client: &mut Client, signed: &SignedOperation) -> Status {
    client.execute_signed(signed).unwrap().status
}

#[test]
fn keys_move_their_own_money_and_issuers_make_it() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    // Nobody is trusted: everything must be signed.
    config.trusted.clear();
    config.issuers = vec![PublicKey(*signer(9, [0; 32]).public_key())];
    let node = Node::start(&config).unwrap();
    let [mut alice, mut bob, mut issuer] = [1, 2, 9].map(|seed| signer(seed, *node.network()));
    {
        // Without a trusted prefix an issuer opens the first account, and that the second for a deposit.
        let mut client = connect(&node, Promise::Durable);
        let open = issuer.sign(Operation::create(id(90), alice.account()), Promise::Durable).unwrap();
        assert_eq!(status(&mut client, &open), Status::Ok);
        let issue = issuer.sign(Operation::issue(id(91), alice.account(), 100), Promise::Durable).unwrap();
        assert_eq!(status(&mut client, &issue), Status::Ok);
        let paid = Operation::create_for(id(92), bob.account(), alice.account(), 100);
        assert_eq!(status(&mut client, &alice.sign(paid, Promise::Durable).unwrap()), Status::Ok);
    }
    for promise in [Promise::Accepted, Promise::Durable] {
        let mut client = connect(&node, promise);
        let first = promise == Promise::Accepted;
        let number = u32::from(first) * 100;
        for signer in [&mut alice, &mut bob] {
            let create = Operation::create(id(number + 1), signer.account());
            let signed = signer.sign(create, promise).unwrap();
            assert_eq!(status(&mut client, &signed), Status::DepositRequired);
            let sponsored = issuer.sign(create, promise).unwrap();
            assert_eq!(status(&mut client, &sponsored), Status::AccountExists);
        }
        let issue = Operation::issue(id(number + 2), alice.account(), 100);
        let receipt = client.execute_signed(&issuer.sign(issue, promise).unwrap()).unwrap();
        assert_eq!((receipt.status, receipt.promise >= promise), (Status::Ok, true));
        let transfer = Operation::transfer(id(number + 3), alice.account(), bob.account(), 60);
        let signed = alice.sign(transfer, promise).unwrap();
        // And a retry, unchanged and signed again.
        let first_receipt = client.execute_signed(&signed).unwrap();
        assert_eq!(client.execute_signed(&signed).unwrap().value, first_receipt.value);
        let again = alice.sign(transfer, promise).unwrap();
        assert_eq!(client.execute_signed(&again).unwrap().value, first_receipt.value);
    }
    let mut client = connect(&node, Promise::Durable);
    let refer = alice.sign(Operation::refer(id(1), alice.account()), Promise::Durable).unwrap();
    assert_eq!(client.execute_signed(&refer).unwrap().value, 80);

    let mut refused = |signed: &SignedOperation| status(&mut client, signed);
    let (from, to) = (alice.account(), bob.account());
    let transfer = |number| Operation::transfer(id(number), from, to, 1);
    let theft = bob.sign(transfer(500), Promise::Durable).unwrap();
    assert_eq!(refused(&theft), Status::NotAuthorised);
    let forged = alice.sign(Operation::issue(id(501), from, 1), Promise::Durable).unwrap();
    assert_eq!(refused(&forged), Status::NotIssuer);
    let replay_window = config.ledger.replay_window * 1_000_000;
    for timestamp in [0, 1, now() - replay_window - 1_000_000, now() + 60_000_000, u64::MAX] {
        let stale = alice.sign_at(transfer(502), timestamp, 0, Promise::Durable);
        assert_eq!(refused(&stale), Status::StaleTimestamp, "{timestamp}");
    }
    let mut changed = alice.sign(transfer(503), Promise::Durable).unwrap();
    changed.operation.amount.set(2);
    assert_eq!(refused(&changed), Status::BadSignature);
    let elsewhere = signer(1, [7; 32]).sign(transfer(504), Promise::Durable).unwrap();
    assert_eq!(refused(&elsewhere), Status::BadSignature);
    let other_account = alice.sign(Operation::create(id(505), AccountId::from(7_u32)), Promise::Durable).unwrap();
    assert_eq!(refused(&other_account), Status::NotAuthorised);
    node.stop();
}

#[test]
fn an_issuer_signs_for_its_asset_only() {
    const GOLD: u32 = 959;
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    let key = |seed| PublicKey(*signer(seed, [0; 32]).public_key());
    config.issuers = vec![key(9)];
    config.assets = vec![Asset { code: GOLD, issuers: vec![key(10)] }];
    config.ledger.freezing = true;
    let node = Node::start(&config).unwrap();
    let [alice, mut issuer, mut of_gold] = [1, 9, 10].map(|seed| signer(seed, *node.network()));
    let (account, mut client) = (alice.account(), connect(&node, Promise::Durable));
    let mut number = 0;
    let mut send = |signer: &mut Signer, make: &dyn Fn(wire::TransactionId) -> Operation| {
        number += 1;
        let operation = make(id(number));
        (status(&mut client, &signer.sign(operation, Promise::Durable).unwrap()), operation)
    };
    assert_eq!(send(&mut issuer, &|id| Operation::open(id, account, GOLD)).0, Status::NotAuthorised);
    assert_eq!(send(&mut of_gold, &|id| Operation::open(id, account, GOLD + 1)).0, Status::NotAuthorised);
    assert_eq!(send(&mut of_gold, &|id| Operation::open(id, account, GOLD)).0, Status::Ok);
    let of_issuers: [&dyn Fn(wire::TransactionId) -> Operation; 3] =
        [&|id| Operation::issue(id, account, 5), &|id| Operation::freeze(id, account), &|id| {
            Operation::unfreeze(id, account)
        }];
    for make in of_issuers {
        assert_eq!(send(&mut issuer, make).0, Status::NotIssuer);
        assert_eq!(send(&mut of_gold, make).0, Status::Ok);
    }
    // In a chain, too, and an account of asset 0 is not theirs.
    let plain = AccountId::from(7_u32);
    assert_eq!(client.execute(&Operation::create(id(90), plain)).unwrap().status, Status::Ok);
    let mut chain = [
        SignedOperation::unsigned(
            Operation::issue(id(0), account, 1),
            now(),
            0,
            Promise::Durable,
            *of_gold.public_key(),
        ),
        SignedOperation::unsigned(Operation::issue(id(0), plain, 1), now(), 1, Promise::Durable, *of_gold.public_key()),
    ];
    client::bind(&mut chain);
    chain.iter_mut().for_each(|signed| of_gold.sign_bound(signed));
    let receipts = client.submit_signed(&chain).unwrap();
    let statuses = Vec::from_iter(receipts.iter().map(|receipt| receipt.status));
    assert_eq!(statuses, [Status::LinkedFailed, Status::NotIssuer]);
    node.stop();
    // A start needs no issuers to replay their operations.
    let node = Node::start(&common::config(data.path())).unwrap();
    let mut client = connect(&node, Promise::Durable);
    assert_eq!(client.execute(&Operation::refer(id(99), account)).unwrap().status, Status::NotAuthorised);
    node.stop();
}

#[test]
fn unsigned_operations_need_trust_and_open_accounts() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&config(data.path())).unwrap();
    let keyed = signer(1, *node.network()).account();
    let mut client = connect(&node, Promise::Durable);
    assert_eq!(client.execute(&Operation::create(id(1), keyed)).unwrap().status, Status::NotAuthorised);
    drop(node);

    let mut config = config(data.path());
    config.trusted.clear();
    let node = Node::start(&config).unwrap();
    let mut client = Client::connect(node.local_address(), &Options::default()).unwrap();
    let error = client.execute(&Operation::create(id(1), AccountId::from(5_u32))).unwrap_err();
    assert_eq!(error.status(), Some(Status::NotTrusted));
}

#[test]
fn signed_operations_are_not_replayed_after_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let node = Node::start(&config).unwrap();
    let mut alice = signer(1, *node.network());
    let create = alice.sign(Operation::create(id(1), alice.account()), Promise::Durable).unwrap();
    assert_eq!(status(&mut connect(&node, Promise::Durable), &create), Status::Ok);
    node.stop();
    let node = Node::start(&config).unwrap();
    let mut client = connect(&node, Promise::Durable);
    let executed = client.info().unwrap().durable_sequence.get();
    assert_eq!(status(&mut client, &create), Status::Ok);
    assert_eq!(client.info().unwrap().durable_sequence.get(), executed);
}
