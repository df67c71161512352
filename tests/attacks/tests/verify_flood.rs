//! Verify frames that cost much are sent in numbers, so that no processor is left for signed operations.
#![allow(missing_docs, clippy::unwrap_used)]

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use nic::selector::Audience;
use turnpike_attacks::{STRANGER, TRUSTED, Victim, secret};
use wire::{
    AccountId, BatchFormat, BatchHeader, EcdsaBody, InfoFrame, MAX_DATAGRAM, MessageHeader, Operation, Promise, Reply,
    Status, TransactionId, VerifyCommand, VerifyHeader, VerifyReply,
};
use zerocopy::IntoBytes;

/// A prefix that neither trusted nor an attacker is in.
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 8, 3);

/// A key and a signature of Ethereum's tests: points of the right groups, so that all work is done, in vain.
const KEY: &str = "b53d21a4cfd562c469cc81514d4ce5a6b577d8403d32a394dc265dd190b47fa9f829fdd7963afdf972e5e77854051f6f";
const SIGNATURE: &str = "ae82747ddeefe4fd64cf9cedb9b04ae3e8a43420cd255e3c7cd06a8d88b7c7f8638543719981c5d16fa3527c468c25f0026704a6951bde891360c7e8d12ddee0559004ccdbe6046b55bae1b257ee97f7cdb955773d7cf29adf3ccbb9975e4eb9";

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// A frame of 64 KB full of BLS signatures of different messages: about a second of a processor.
fn expensive(id: u32) -> Vec<u8> {
    let points = [from_hex(KEY), from_hex(SIGNATURE)].concat();
    let message = |index: u32| {
        let text = [id.to_be_bytes(), index.to_be_bytes(), [0; 4]].concat();
        let header = MessageHeader::new(VerifyCommand::Bls, index.into(), points.len() + text.len());
        [header.as_bytes(), &points, &text].concat()
    };
    let count = (MAX_DATAGRAM - VerifyHeader::LENGTH) / message(0).len();
    let messages = Vec::from_iter((0..count as u32).flat_map(message));
    [VerifyHeader::new(id, count as u16).as_bytes(), &messages].concat()
}

/// A frame with one ECDSA signature, which does not verify.
fn cheap(id: u32) -> Vec<u8> {
    let body = EcdsaBody::new(0, [7; 32], [1; 64], &[2; 33]).unwrap();
    let header = MessageHeader::new(VerifyCommand::Ecdsa, 1, body.as_bytes().len());
    [VerifyHeader::new(id, 1).as_bytes(), header.as_bytes(), body.as_bytes()].concat()
}

/// Sends slowly enough for the node to receive all of it.
fn flood(socket: &UdpSocket, frames: u32) {
    for id in 0..frames {
        socket.send(&expensive(id)).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What the node answers first, and when.
fn ask(socket: &UdpSocket, request: &[u8]) -> Option<(Vec<u8>, Duration)> {
    let start = Instant::now();
    socket.send(request).unwrap();
    let mut reply = vec![0; MAX_DATAGRAM];
    let length = socket.recv(&mut reply).ok()?;
    reply.truncate(length);
    Some((reply, start.elapsed()))
}

fn verify_reply(reply: &[u8]) -> VerifyReply<'_> {
    match Reply::parse(reply) {
        Ok(Reply::Verify(verify)) => verify,
        other => panic!("{other:?}"),
    }
}

fn verify_status(reply: &[u8]) -> Status {
    verify_reply(reply).status
}

/// Even a trusted client's frames, more than can be worked on, leave honest signed batches what they need.
#[test]
fn signed_batches_are_served_beside_a_flood() {
    let victim = Victim::start(|_| {});
    let mut signer = victim.signer(secret(9));
    let account = signer.account();
    let batches = Vec::from_iter((0..15_u32).map(|number| {
        let entries = Vec::from_iter((0..100_u32).flat_map(|entry| {
            let id = TransactionId::from(number * 100 + entry + 1);
            let operation = Operation::transfer(id, account, AccountId::from(1_u32), 1);
            signer.sign(operation, Promise::Default).unwrap().as_bytes().to_vec()
        }));
        [BatchHeader::new(number, BatchFormat::Signed, 100, Promise::Default).as_bytes(), &entries].concat()
    }));
    let attacker = victim.socket(TRUSTED);
    flood(&attacker, 100);
    let honest = victim.socket(OTHER);
    for batch in &batches {
        let (reply, took) = ask(&honest, batch).expect("a signed batch got no answer");
        let status = match Reply::parse(&reply) {
            Ok(Reply::Batch(batch)) => batch.header.status(),
            other => panic!("{other:?}"),
        };
        assert_eq!(status, Ok(Status::Ok));
        assert!(took < Duration::from_secs(2), "a signed batch took {took:?}");
        flood(&attacker, 1);
    }
    assert_eq!(victim.figure("turnpike_busy_total{class=\"signed\"}"), 0);
    assert!(victim.figure("turnpike_busy_total{class=\"verify\"}") > 0, "the flood is too small to tell anything");
}

/// By default nobody but trusted senders has anything verified.
#[test]
fn strangers_are_refused_at_once() {
    let victim = Victim::start(|_| {});
    let stranger = victim.socket(STRANGER);
    for id in 0..20 {
        let (reply, _) = ask(&stranger, &expensive(id)).unwrap();
        assert_eq!((verify_status(&reply), reply.len()), (Status::NotTrusted, VerifyHeader::LENGTH));
    }
    assert_eq!(victim.figure("turnpike_verifications_total"), 0);
    let (reply, _) = ask(&victim.socket(TRUSTED), &cheap(1)).unwrap();
    assert_eq!(verify_status(&reply), Status::Ok);
}

/// Where everyone is served, a flood of strangers leaves trusted senders a share, and a small frame waits for slices of large ones.
#[test]
fn strangers_leave_room_for_trusted_senders() {
    let victim = Victim::start(|config| {
        config.limits.verify = Audience::All;
        config.limits.rate = 0;
    });
    flood(&victim.socket(STRANGER), 70);
    let (reply, took) = ask(&victim.socket(TRUSTED), &cheap(1)).expect("a small frame got no answer");
    assert_eq!(verify_status(&reply), Status::Ok);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// One stranger's flood leaves room for another stranger, whose frames are worked on in turn.
#[test]
fn a_stranger_leaves_room_for_another() {
    let victim = Victim::start(|config| {
        config.limits.verify = Audience::All;
        config.limits.rate = 0;
    });
    let (attacker, other) = (victim.socket(STRANGER), victim.socket(OTHER));
    flood(&attacker, 70);
    for id in 0..10 {
        let (reply, _) = ask(&other, &cheap(id)).expect("a small frame got no answer");
        assert_eq!(verify_status(&reply), Status::Ok);
        flood(&attacker, 2);
    }
    assert!(victim.figure("turnpike_busy_total{class=\"verify\"}") > 0, "the flood is too small to tell anything");
}

/// A rate counts what a message costs: one such frame is more than a prefix may have at once, and uses up its next seconds.
#[test]
fn expensive_messages_count_for_more() {
    let victim = Victim::start(|config| {
        config.limits.verify = Audience::All;
        config.limits.rate = 1000;
    });
    let stranger = victim.socket(STRANGER);
    flood(&stranger, 1);
    stranger.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    // Asked again where it found no room in the node's socket, as where the node has not read the first one yet.
    let refused = (1..20).find_map(|_| {
        ask(&stranger, &expensive(1)).filter(|(reply, _)| verify_reply(reply).header.header.id.get() == 1)
    });
    assert_eq!(verify_status(&refused.unwrap().0), Status::RateLimited);
    let (reply, _) = ask(&victim.socket(OTHER), &cheap(2)).unwrap();
    assert_eq!(verify_status(&reply), Status::Ok, "another prefix has its own");
    assert!(victim.figure("turnpike_charged_total") > 4096);
    // Nothing else of the prefix passes until it is paid.
    let info = InfoFrame::new(3);
    stranger.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let answered = ask(&stranger, info.as_bytes()).is_some_and(|(reply, _)| match Reply::parse(&reply) {
        Ok(Reply::Info(info)) => info.status() == Ok(Status::Ok),
        _ => false,
    });
    assert!(!answered);
}
