//! A stranger makes the node refuse what others sign.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::{SystemTime, UNIX_EPOCH};

use turnpike_attacks::{ISSUER, STRANGER, TRUSTED, Victim, secret};
use turnpike_conformance::Link;
use wire::{FullFrame, FullReply, Operation, Promise, SignedOperation, Status};
use zerocopy::{FromBytes, IntoBytes};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

fn send(link: &mut Link, signed: SignedOperation) -> Status {
    let reply = link.ask(FullFrame::new(1, signed).as_bytes()).unwrap();
    FullReply::ref_from_bytes(&reply).unwrap().operation.status().unwrap()
}

/// The attack that was found: thirty signed datagrams of an account that was never created, with timestamps 1.95 s ahead,
/// beside a load of unsigned operations. No honest signature is stale, nor after a restart.
#[test]
fn nobody_makes_others_stale() {
    let mut victim = Victim::start(|config| {
        config.ledger.retry_operations = 1 << 12;
        config.ledger.retry_seconds = 1;
        config.ledger.signed_operations = 1 << 10;
        config.promise = Promise::Accepted;
    });
    let (mut issuer, mut honest) = (victim.signer(ISSUER), victim.signer(secret(2)));
    let stranger = victim.signer(secret(3));
    let mut link = victim.link(TRUSTED);
    let account = honest.account();
    let create = Operation::create(1_u32.into(), account);
    assert_eq!(send(&mut link, honest.sign(create, Promise::Accepted).unwrap()), Status::Ok);
    let issue = Operation::issue(2_u32.into(), account, 1_000_000);
    assert_eq!(send(&mut link, issuer.sign(issue, Promise::Accepted).unwrap()), Status::Ok);
    let mut client = victim.client();
    client.create(7_u32.into()).unwrap();
    for round in 0..4_u32 {
        let mut attacker = victim.link(STRANGER);
        for number in 0..30 {
            let id = (100 + 30 * round + number).into();
            let transfer = Operation::transfer(id, stranger.account(), account, 1);
            let ahead = stranger.sign_at(transfer, now() + 1_950_000, number, Promise::Accepted);
            assert_eq!(send(&mut attacker, ahead), Status::SourceUnknown);
        }
        let first = 10_000 + 1000 * round;
        let load: Vec<_> = (first..first + 1000).map(|id| Operation::issue(id.into(), 7_u32.into(), 1)).collect();
        client.submit(&load).unwrap();
        if round == 2 {
            victim.restart();
            client = victim.client();
            link = victim.link(TRUSTED);
        }
        for number in 0..50 {
            let id = (1000 + 50 * round + number).into();
            let transfer = Operation::transfer(id, account, 7_u32.into(), 1);
            let signed = honest.sign(transfer, Promise::Accepted).unwrap();
            assert_eq!(send(&mut link, signed), Status::Ok, "round {round}, number {number}");
            assert_eq!(send(&mut link, signed), Status::Ok, "its retry");
        }
    }
    let refer = honest.sign(Operation::refer(3_u32.into(), account), Promise::Accepted).unwrap();
    assert_eq!(client.execute_signed(&refer).unwrap().value, 1_000_000 - 200);
}
