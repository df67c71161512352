//! The four stages over a backend in memory.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{LOCAL, Memory, Toy};
use proptest::prelude::*;
use turnpike_nic::held::{Class, PoolSize};
use turnpike_nic::parking::{Limits, parking};
use turnpike_nic::rate::RateLimit;
use turnpike_nic::selector::{Selector, SelectorConfig};
use turnpike_nic::{Backend, Counters, DataPath, Departures, Peer, Pools};
use wire::{
    AccountId, BatchFormat, BatchHeader, Chain, ChangeFrame, Command, CompactEntry, CompactFrame, FullFrame,
    HeadersFrame, InfoFrame, Operation, Promise, ProofRequest, Query, Reply, SignedOperation, Status, TransactionId,
};
use zerocopy::IntoBytes;

struct Bench {
    memory: Memory,
    path: DataPath<Memory, Toy>,
    departures: Departures,
    counters: Arc<Counters>,
}

const PEER: &str = "127.0.0.1:9999";
const STRANGER: &str = "192.0.2.1:9999";

impl Bench {
    fn new() -> Self {
        Self::with(Toy::default(), Limits::default(), PoolSize { small: 8, large: 2 }, None)
    }

    fn with(toy: Toy, limits: Limits, pool: PoolSize, rate_limit: Option<RateLimit>) -> Self {
        let memory = Memory::default();
        let trusted = vec!["127.0.0.0/8".parse().unwrap()];
        let config = SelectorConfig { trusted, rate_limit, trusted_rate_limit: None, ..SelectorConfig::default() };
        let selector = Selector::new(config, LOCAL.parse().unwrap());
        let (parking, departures) = parking(limits);
        let counters = Arc::new(Counters::default());
        let path = DataPath::new(memory.clone(), selector, toy, parking, Pools::new(|_| pool), counters.clone(), 8);
        Self { memory, path, departures, counters }
    }

    /// Sends datagrams and returns what comes back at once.
    fn send<'a>(&mut self, from: &str, datagrams: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
        let peer = Peer::new(from.parse().unwrap());
        self.memory.inbox.lock().unwrap().extend(datagrams.into_iter().map(|datagram| (peer, datagram.to_vec())));
        while !self.memory.inbox.lock().unwrap().is_empty() {
            self.path.step(Duration::ZERO).unwrap();
        }
        self.take()
    }

    fn take(&mut self) -> Vec<Vec<u8>> {
        self.memory.outbox.lock().unwrap().drain(..).map(|(_, bytes)| bytes).collect()
    }

    fn release(&mut self, durable: u64) -> Vec<Vec<u8>> {
        let latency = self.counters.latency(Promise::Durable);
        self.departures.release(durable, &mut self.memory.transmitter().unwrap(), latency);
        self.take()
    }
}

fn batch(format: BatchFormat, promise: Promise, entries: &[&[u8]]) -> Vec<u8> {
    let header = BatchHeader::new(7, format, entries.len() as u16, promise);
    [header.as_bytes()].iter().chain(entries).flat_map(|bytes| bytes.iter().copied()).collect()
}

fn compact(command: Command, transaction: u32, source: u32, amount: u32) -> CompactFrame {
    CompactFrame::new(command, transaction, source, 0, amount)
}

#[test]
fn durable_replies_wait_for_their_sequence() {
    let mut bench = Bench::new();
    let frames =
        [compact(Command::Create, 1, 1, 0), compact(Command::Issue, 2, 1, 50), compact(Command::Refer, 3, 1, 0)];
    assert!(bench.send(PEER, [frames[0].as_bytes()]).is_empty());
    assert!(bench.send(PEER, [frames[1].as_bytes(), frames[2].as_bytes()]).is_empty());
    assert!(bench.release(0).is_empty());
    let first = bench.release(1);
    assert_eq!(first.len(), 1);
    let rest = bench.release(3);
    assert_eq!(rest.len(), 2);
    let Reply::Compact(reply) = Reply::parse(&rest[1]).unwrap() else { panic!() };
    assert_eq!((reply.status(), reply.value()), (Ok(Status::Ok), 50));
    assert!(bench.release(9).is_empty());
}

#[test]
fn accepted_replies_leave_at_once_in_the_shape_of_the_request() {
    let mut bench = Bench::new();
    let entries = [
        compact(Command::Create, 1, 1, 0),
        compact(Command::Issue, 2, 1, 5),
        compact(Command::Issue, 3, 1, 0),
        compact(Command::Create, 4, 1, 0),
    ];
    let entries: Vec<_> = entries.map(CompactEntry::from).into();
    let slices: Vec<&[u8]> = entries.iter().map(IntoBytes::as_bytes).collect();
    let replies = bench.send(PEER, [&batch(BatchFormat::Compact, Promise::Accepted, &slices)[..]]);
    let Reply::Batch(reply) = Reply::parse(&replies[0]).unwrap() else { panic!() };
    assert_eq!(reply.header.promise(), Ok(Promise::Accepted));
    let wire::BatchEntries::Compact(entries) = reply.entries else { panic!() };
    let results: Vec<_> = entries.iter().map(|entry| (entry.frame.status().unwrap(), entry.frame.value())).collect();

    assert_eq!(results, [(Status::Ok, 0), (Status::Ok, 5), (Status::ZeroAmount, 5), (Status::AccountExists, 5)]);
}

#[test]
fn strangers_must_sign() {
    let mut bench = Bench::new();
    let replies = bench.send(STRANGER, [compact(Command::Create, 1, 1, 0).as_bytes()]);
    let Reply::Compact(reply) = Reply::parse(&replies[0]).unwrap() else { panic!() };
    assert_eq!(reply.status(), Ok(Status::NotTrusted));
    let operation = Operation::create(TransactionId::from(1u32), AccountId::from(1u32));
    let replies =
        bench.send(STRANGER, [&batch(BatchFormat::Operation, Promise::Accepted, &[operation.as_bytes()])[..]]);
    assert_eq!(replies[0].len(), BatchHeader::LENGTH);
    let Reply::Batch(reply) = Reply::parse(&replies[0]).unwrap() else { panic!() };
    assert_eq!(reply.status, Status::NotTrusted);
    let signed = SignedOperation::unsigned(operation, 1, 2, Promise::Accepted, [2; 33]);
    let replies = bench.send(STRANGER, [FullFrame::new(9, signed).as_bytes()]);
    let Reply::Full(reply) = Reply::parse(&replies[0]).unwrap() else { panic!() };
    assert_eq!((reply.operation.status(), reply.promise), (Ok(Status::Ok), Promise::Accepted.code()));
    assert_eq!(bench.counters.refused(Status::NotTrusted), 2);
}

#[test]
fn keyed_accounts_must_sign_also_from_trusted_prefixes() {
    let mut bench = Bench::new();
    let operation = Operation::create(TransactionId::from(1u32), AccountId::keyed(&[3; 32]));
    let replies = bench.send(PEER, [&batch(BatchFormat::Operation, Promise::Accepted, &[operation.as_bytes()])[..]]);
    let Reply::Batch(reply) = Reply::parse(&replies[0]).unwrap() else { panic!() };
    let wire::BatchEntries::Operation(entries) = reply.entries else { panic!() };
    assert_eq!(entries[0].status(), Ok(Status::NotAuthorised));
}

#[test]
fn signed_batches_are_answered_without_their_signatures() {
    let mut bench = Bench::new();
    let create = Operation::create(TransactionId::from(1u32), AccountId::from(1u32));
    let zero = Operation::issue(TransactionId::from(2u32), AccountId::from(1u32), 0);
    let signed = [create, zero].map(|operation| SignedOperation {
        signature: [9; 64],
        ..SignedOperation::unsigned(operation, 1, 2, Promise::Default, [2; 33])
    });
    let request = batch(BatchFormat::Signed, Promise::Default, &[signed[0].as_bytes(), signed[1].as_bytes()]);
    assert!(bench.send(STRANGER, [&request[..]]).is_empty());
    let replies = bench.release(1);
    assert_eq!(replies[0].len(), request.len());
    let Reply::Batch(reply) = Reply::parse(&replies[0]).unwrap() else { panic!() };
    assert_eq!(reply.header.promise(), Ok(Promise::Durable));
    let wire::BatchEntries::Signed(entries) = reply.entries else { panic!() };
    let statuses: Vec<_> = entries.iter().map(|entry| entry.operation.status().unwrap()).collect();
    assert_eq!(statuses, [Status::Ok, Status::ZeroAmount]);
    assert!(entries.iter().all(|entry| entry.signature == [0; 64] && entry.public_key == [0; 33]));
}

#[test]
fn queries_are_answered_deferred_or_refused() {
    let mut bench = Bench::new();
    let info = InfoFrame::new(1);
    assert_eq!(bench.send(STRANGER, [info.as_bytes()])[0].len(), InfoFrame::LENGTH);
    let proof = ProofRequest::new(2, Chain::Own, Query::Latest, [0; 32]);
    let replies = bench.send(STRANGER, [proof.as_bytes()]);
    let Reply::Error(error, Status::ReplyTooLarge) = Reply::parse(&replies[0]).unwrap() else { panic!() };
    assert_eq!((error.detail.get(), error.header.id.get()), (1234, 2));
    let replies = bench.send(STRANGER, [HeadersFrame::new(3, Chain::Own, 0, 0).as_bytes()]);
    assert!(matches!(Reply::parse(&replies[0]).unwrap(), Reply::Headers(reply) if reply.status == Status::NotFound));
    let toy = Toy { defers: true, ..Toy::default() };
    let mut bench = Bench::with(toy, Limits::default(), PoolSize { small: 8, large: 0 }, None);
    let replies = bench.send(STRANGER, [info.as_bytes(); 3]);
    assert_eq!(replies.len(), 1, "two wait for a worker, and the queue is full");
    assert!(matches!(Reply::parse(&replies[0]).unwrap(), Reply::Info(reply) if reply.status() == Ok(Status::Busy)));
}

#[test]
fn approvals_of_member_changes_get_to_replicas_whole() {
    let frame = |id| ChangeFrame::new(id, [id as u8; ChangeFrame::APPROVAL]);
    let status = |reply: &[u8]| match Reply::parse(reply).unwrap() {
        Reply::Change(reply) => (reply.header.id.get(), reply.status().unwrap()),
        other => panic!("{other:?}"),
    };
    let mut alone = Bench::new();
    let replies = alone.send(STRANGER, [frame(1).as_bytes()]);
    assert_eq!(status(&replies[0]), (1, Status::NotFound));
    assert_eq!(alone.counters.refused(Status::NotFound), 1);

    let toy = Toy { orders: true, ..Toy::default() };
    let changes = toy.changes.clone();
    let mut bench = Bench::with(toy, Limits::default(), PoolSize { small: 8, large: 0 }, None);
    let frames = [1, 2, 3].map(frame);
    let replies = bench.send(STRANGER, frames.iter().map(IntoBytes::as_bytes));
    assert_eq!(replies.iter().map(|reply| status(reply)).collect::<Vec<_>>(), [(3, Status::Busy)]);
    assert_eq!(bench.counters.busy(Class::Signed).get(), 1);
    let held = std::mem::take(&mut *changes.lock().unwrap());
    for (held, frame) in held.iter().zip(&frames) {
        assert_eq!(
            (&held[..], held.peer, held.trusted),
            (frame.as_bytes(), Peer::new(STRANGER.parse().unwrap()), false)
        );
    }
    assert_eq!(held.len(), 2);

    // A malformed datagram does not get there, nor does one for which there is no buffer.
    let mut malformed = frame(4);
    malformed.reserved[5] = 1;
    assert_eq!(status(&bench.send(PEER, [malformed.as_bytes()])[0]), (4, Status::Malformed));
    let mut full =
        Bench::with(Toy { orders: true, ..Toy::default() }, Limits::default(), PoolSize { small: 0, large: 0 }, None);
    assert_eq!(status(&full.send(PEER, [frame(5).as_bytes()])[0]), (5, Status::Busy));
}

#[test]
fn approvals_count_against_the_rate_of_a_prefix() {
    let toy = Toy { orders: true, ..Toy::default() };
    let changes = toy.changes.clone();
    let limit = RateLimit { per_second: 1, burst: 1, prefixes: 16 };
    let mut bench = Bench::with(toy, Limits::default(), PoolSize { small: 8, large: 0 }, Some(limit));
    let frame = ChangeFrame::new(1, [0; ChangeFrame::APPROVAL]);
    let replies = bench.send(STRANGER, [frame.as_bytes(); 2]);
    assert!(
        matches!(Reply::parse(&replies[0]).unwrap(), Reply::Change(reply) if reply.status() == Ok(Status::RateLimited))
    );
    assert_eq!(changes.lock().unwrap().len(), 1);
}

#[test]
fn a_full_parking_is_busy_and_nothing_is_done() {
    let mut bench =
        Bench::with(Toy::default(), Limits { bytes: 50, replies: 8 }, PoolSize { small: 1, large: 1 }, None);
    let frames: Vec<_> = (1..=4).map(|n| compact(Command::Create, n, n, 0)).collect();
    let replies = bench.send(PEER, frames.iter().map(IntoBytes::as_bytes));
    let statuses = |replies: &[Vec<u8>]| -> Vec<_> {
        let status = |reply: &Vec<u8>| match Reply::parse(reply).unwrap() {
            Reply::Compact(reply) => (reply.source.get(), reply.status().unwrap()),
            other => panic!("{other:?}"),
        };
        replies.iter().map(status).collect()
    };
    assert_eq!(statuses(&replies), [(3, Status::Busy), (4, Status::Busy)]);
    assert_eq!(statuses(&bench.release(2)), [(1, Status::Ok), (2, Status::Ok)]);
    assert!(bench.send(PEER, [frames[2].as_bytes()]).is_empty(), "there is room again");
    bench.departures.refuse(Status::StorageFailed, &mut bench.memory.transmitter().unwrap());
    let replies = bench.take();
    assert_eq!(statuses(&replies), [(3, Status::StorageFailed)]);
}

#[test]
fn a_full_pool_is_busy() {
    let mut bench = Bench::with(Toy::default(), Limits::default(), PoolSize { small: 0, large: 0 }, None);
    let operation = Operation::create(TransactionId::from(1u32), AccountId::from(1u32));
    let signed = SignedOperation::unsigned(operation, 1, 2, Promise::Accepted, [2; 33]);
    let replies = bench.send(STRANGER, [FullFrame::new(9, signed).as_bytes()]);
    let Reply::Full(reply) = Reply::parse(&replies[0]).unwrap() else { panic!() };
    assert_eq!(reply.operation.status(), Ok(Status::Busy));
}

#[test]
fn strangers_over_their_limit_are_told_so_and_then_ignored() {
    let limit = RateLimit { per_second: 1, burst: 10, prefixes: 16 };
    let mut bench = Bench::with(Toy::default(), Limits::default(), PoolSize { small: 1, large: 1 }, Some(limit));
    let info = InfoFrame::new(1);
    let replies = bench.send(STRANGER, [info.as_bytes(); 1000]);
    assert!((12..30).contains(&replies.len()), "{} replies", replies.len());
    assert!(bench.counters.refused(Status::RateLimited) > 0);
    assert!(bench.counters.dropped.get() > 900);
    assert_eq!(bench.send(PEER, [info.as_bytes(); 1000]).len(), 1000, "no limit is set for trusted prefixes");
}

#[test]
fn replies_and_datagrams_from_the_own_port_get_no_answer() {
    let mut bench = Bench::new();
    let info = InfoFrame::new(1);
    assert!(bench.send("192.0.2.1:7400", [info.as_bytes()]).is_empty());
    assert!(bench.send("192.0.2.1:0", [info.as_bytes()]).is_empty());
    let mut reply = InfoFrame::new(1);
    reply.header.set_reply();
    assert!(bench.send(STRANGER, [reply.as_bytes()]).is_empty());
    assert!(bench.send(STRANGER, [&[][..], &[1], &[0; 15]]).is_empty());
    assert_eq!(bench.send(STRANGER, [&[0; 17][..]])[0].len(), 16);
}

/// Bytes that look enough like frames to reach the later stages.
fn frame_like() -> impl Strategy<Value = Vec<u8>> {
    let header = (0u8..8, any::<u32>()).prop_map(|(kind, id)| [&[0x54, 0x50, 1, kind][..], &id.to_be_bytes()].concat());
    let lengths = prop_oneof![
        Just(14usize),
        Just(8),
        Just(32),
        Just(80),
        Just(176),
        Just(184),
        Just(120),
        Just(40),
        Just(56),
        0usize..400
    ];
    let body = lengths.prop_flat_map(|length| {
        let byte = prop_oneof![4 => Just(0u8), 2 => 0u8..4, 1 => any::<u8>()];
        prop::collection::vec(byte, length)
    });
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..300),
        2 => body.clone(),
        8 => (header, body).prop_map(|(header, body)| [header, body].concat()),
    ]
}

/// Batches whose header is valid, with any entries.
fn batch_like() -> impl Strategy<Value = Vec<u8>> {
    (0usize..3, 1usize..5, 0u8..4, any::<u64>()).prop_map(|(format, count, promise, seed)| {
        let format = BatchFormat::ALL[format];
        let header = BatchHeader::new(1, format, count as u16, Promise::try_from(promise).unwrap());
        let mut state = seed;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 62 == 0 { (state >> 40) as u8 & 7 } else { 0 }
        });
        header.as_bytes().iter().copied().chain(noise.take(count * format.entry_length())).collect()
    })
}

proptest! {
    #[test]
    fn any_bytes_are_survived_and_no_reply_is_longer(
        datagrams in prop::collection::vec(prop_oneof![frame_like(), batch_like()], 1..12),
        trusted: bool,
    ) {
        for datagram in &datagrams {
            let mut bench = Bench::new();
            let replies = bench.send(if trusted { PEER } else { STRANGER }, [&datagram[..]]);
            let later = bench.release(u64::MAX);
            prop_assert!(replies.len() + later.len() <= 1);
            for reply in replies.iter().chain(&later) {
                prop_assert!(reply.len() <= datagram.len());
                prop_assert!(Reply::parse(reply).is_ok(), "{:?} for {:?}", reply, datagram);
            }
        }
        // All in one batch get the same answers as one by one, except for what the accounts say.
        let mut bench = Bench::new();
        let at_once = bench.send(if trusted { PEER } else { STRANGER }, datagrams.iter().map(|datagram| &datagram[..]));
        prop_assert!(at_once.len() + bench.release(u64::MAX).len() <= datagrams.len());
    }
}
