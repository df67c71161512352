//! The window on a simulated network in simulated time: every request ends exactly once, and an operation is executed
//! once, however often it arrives.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use proptest::prelude::*;
use turnpike_client::{Failure, Limits, Window};
use wire::{
    BatchFormat, BatchHeader, BatchMut, CompactFrame, FrameMut, InfoFrame, Operation, Promise, ProofRequest, Reply,
    Status, TransactionId,
};
use zerocopy::IntoBytes;

const MILLISECOND: Duration = Duration::from_millis(1);

fn limits(window: usize) -> Limits {
    Limits {
        datagram: 500,
        window,
        retry_after: 10 * MILLISECOND,
        retry_at_most: 80 * MILLISECOND,
        give_up_after: Duration::from_secs(60),
    }
}

/// A network that loses, duplicates and delays, controlled by a list of numbers.
struct Network {
    /// By time of arrival, then by order of sending.
    under_way: BTreeMap<(Duration, u64), Vec<u8>>,
    sent: u64,
    loss: u8,
    state: u64,
}

impl Network {
    fn random(&mut self) -> u8 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 56) as u8
    }

    fn send(&mut self, bytes: &[u8], now: Duration) {
        let copies = if self.random() < 30 { 2 } else { 1 };
        for _ in 0..copies {
            if self.random() >= self.loss {
                let delay = MILLISECOND * u32::from(self.random() / 8);
                self.sent += 1;
                self.under_way.insert((now + delay, self.sent), bytes.to_vec());
            }
        }
    }

    fn arrived(&mut self, now: Duration) -> Option<Vec<u8>> {
        let next = self.under_way.first_entry()?;
        if next.key().0 <= now { Some(next.remove()) } else { None }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_request_ends_once(seed: u64, loss in 0..128u8, busy in 0..64u8, window in 1..20usize, first_id: u32) {
        const REQUESTS: u64 = 100;
        const OPERATIONS: u64 = 5;
        let network = |salt| Network { under_way: BTreeMap::new(), sent: 0, loss, state: seed ^ salt };
        let (mut there, mut back) = (network(1), network(2));
        let mut client = Window::new(limits(window), first_id);
        let mut executed: HashMap<u128, u32> = HashMap::new();
        let mut ended: HashMap<u64, u32> = HashMap::new();
        let (mut next, mut now) = (0, Duration::ZERO);
        while ended.len() < REQUESTS as usize {
            prop_assert!(now < Duration::from_secs(300), "{} of {REQUESTS} ended", ended.len());
            while next < REQUESTS {
                let Some(draft) = client.begin() else { break };
                let mut batch = draft.batch(BatchFormat::Operation, Promise::Durable);
                for operation in 0..OPERATIONS {
                    let id = u128::from(next * OPERATIONS + operation);
                    prop_assert!(batch.push(&Operation::transfer(id.into(), 1u32.into(), 2u32.into(), 1)));
                }
                batch.submit(next, now, now);
                next += 1;
            }
            prop_assert!(client.in_flight() <= window);
            while let Some(outgoing) = client.next_outgoing() {
                there.send(&client.memory()[outgoing.offset..outgoing.offset + outgoing.length], now);
            }
            while let Some(mut datagram) = there.arrived(now) {
                let FrameMut::Batch(BatchMut { header, mut entries }) = FrameMut::parse(&mut datagram).unwrap() else {
                    unreachable!("only batches were sent")
                };
                if back.random() < busy {
                    header.set_reply(Status::Busy, Promise::Default);
                    datagram.truncate(BatchHeader::LENGTH);
                } else {
                    header.set_reply(Status::Ok, Promise::Durable);
                    for index in 0..entries.as_ref().len() {
                        let id = entries.as_ref().operation(index).unwrap().transaction.to_u128();
                        if back.random() < busy / 4 {
                            entries.set_reply(index, Status::Busy, 0, Promise::Durable);
                            continue;
                        }
                        *executed.entry(id).or_default() += 1;
                        entries.set_reply(index, Status::Ok, id as u64, Promise::Durable);
                    }
                }
                back.send(&datagram, now);
            }
            let mut report = |completion: turnpike_client::Completion<'_>| {
                let Ok(Reply::Batch(batch)) = completion.reply else { panic!("{completion:?}") };
                assert_eq!(batch.entries.operation(0).unwrap().value(), completion.tag * OPERATIONS);
                *ended.entry(completion.tag).or_default() += 1;
            };
            while let Some(datagram) = back.arrived(now) {
                client.receive(&datagram, now, &mut report);
            }
            client.expire(now, &mut report);
            now += MILLISECOND;
        }
        prop_assert!(ended.values().all(|&times| times == 1));
        prop_assert_eq!(executed.len() as u64, REQUESTS * OPERATIONS);
        prop_assert_eq!(client.in_flight(), 0);
        prop_assert_eq!(client.next_deadline(), Duration::MAX);
    }

    #[test]
    fn no_datagram_can_confuse_it(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..50)) {
        let mut client = Window::new(limits(4), 7);
        let draft = client.begin().unwrap();
        let info = InfoFrame::new(draft.id());
        draft.submit_frame(info.as_bytes(), 1, Duration::ZERO, Duration::ZERO);
        for datagram in &datagrams {
            client.receive(datagram, MILLISECOND, |completion| panic!("{completion:?}"));
        }
        prop_assert_eq!(client.strays(), datagrams.len() as u64);
        prop_assert_eq!(client.in_flight(), 1);
    }
}

/// Runs until nothing is in flight, without a node; returns the failures and the times of sending.
fn alone(client: &mut Window) -> (Vec<Failure>, Vec<u128>) {
    let (mut failures, mut sent, mut now) = (Vec::new(), Vec::new(), Duration::ZERO);
    while client.in_flight() > 0 {
        client.expire(now, |completion| failures.push(completion.reply.unwrap_err()));
        while client.next_outgoing().is_some() {
            sent.push(now.as_millis());
        }
        now += MILLISECOND;
    }
    (failures, sent)
}

#[test]
fn waits_double_up_to_a_limit_and_end() {
    let mut client = Window::new(Limits { give_up_after: 300 * MILLISECOND, ..limits(1) }, 0);
    let draft = client.begin().unwrap();
    let id = draft.id();
    draft.submit_frame(InfoFrame::new(id).as_bytes(), 5, Duration::ZERO, Duration::ZERO);
    assert!(client.begin().is_none());
    assert_eq!(alone(&mut client), (vec![Failure::NoReply], vec![0, 10, 30, 70, 150, 230]));
    assert_eq!(client.retries(), 5);
    assert!(client.begin().is_some());
}

/// A request is not repeated when the node may have forgotten it; ids with a time are never affected.
#[test]
fn ids_without_a_time_are_given_up_before_the_node_forgets_them() {
    let timed = TransactionId::timed(1_645_557_742_000, 7);
    let transfer = |id: TransactionId| Operation::transfer(id, 1_u32.into(), 2_u32.into(), 3);
    let refer = Operation::refer(5_u32.into(), 1_u32.into());
    let sent_of = |operation: Operation| {
        let mut client = Window::new(Limits { give_up_after: 300 * MILLISECOND, ..limits(1) }, 0);
        client.limit_retries(100 * MILLISECOND);
        let mut batch = client.begin().unwrap().batch(BatchFormat::Operation, Promise::Default);
        assert!(batch.push(&operation));
        batch.submit(0, Duration::ZERO, Duration::ZERO);
        let (failures, sent) = alone(&mut client);
        assert_eq!(failures, [Failure::NoReply]);
        sent
    };
    assert_eq!(sent_of(transfer(5_u32.into())), [0, 10, 30, 70], "a quarter of the time is for the way");
    assert_eq!(sent_of(transfer(timed)), [0, 10, 30, 70], "only the flag counts");
    assert_eq!(sent_of(transfer(timed).timed()), [0, 10, 30, 70, 150, 230]);
    assert_eq!(sent_of(refer), [0, 10, 30, 70, 150, 230]);
}

#[test]
fn a_node_that_stays_busy_is_given_up() {
    let mut client = Window::new(Limits { give_up_after: 50 * MILLISECOND, ..limits(1) }, 0);
    let draft = client.begin().unwrap();
    draft.submit_compact(CompactFrame::new(wire::Command::Refer, 0, 1, 0, 0), 5, Duration::ZERO, Duration::ZERO);
    let mut now = Duration::ZERO;
    let mut failures = Vec::new();
    while client.in_flight() > 0 {
        client.expire(now, |completion| failures.push(completion.reply.unwrap_err()));
        while let Some(outgoing) = client.next_outgoing() {
            let mut datagram = client.memory()[outgoing.offset..outgoing.offset + outgoing.length].to_vec();
            let FrameMut::Compact(frame) = FrameMut::parse(&mut datagram).unwrap() else { panic!() };
            frame.set_reply(Status::Busy, 0);
            client.receive(&datagram, now, |completion| panic!("{completion:?}"));
        }
        now += MILLISECOND;
    }
    assert_eq!(failures, [Failure::Refused(Status::Busy)]);
}

/// A lost reply may have been that of an execution, so a caller who hears of a refusal only might pay twice.
#[test]
fn a_refusal_after_a_lost_reply_does_not_say_that_nothing_was_executed() {
    for (statuses, expected) in [
        (vec![None, Some(Status::Busy)], Failure::NoReply),
        (vec![Some(Status::Busy), None, Some(Status::Busy)], Failure::NoReply),
        (vec![Some(Status::Busy)], Failure::Refused(Status::Busy)),
        (vec![Some(Status::NotFinal), Some(Status::Busy)], Failure::Refused(Status::NotFinal)),
        (vec![None, Some(Status::NotFinal)], Failure::Refused(Status::NotFinal)),
    ] {
        let mut client = Window::new(Limits { give_up_after: 300 * MILLISECOND, ..limits(1) }, 0);
        let draft = client.begin().unwrap();
        let frame = CompactFrame::new(wire::Command::Refer, 0, 1, 0, 0);
        draft.submit_compact(frame, 5, Duration::ZERO, Duration::ZERO);
        let (mut now, mut attempts, mut failures) = (Duration::ZERO, statuses.iter(), Vec::new());
        while client.in_flight() > 0 {
            client.expire(now, |completion| failures.push(completion.reply.unwrap_err()));
            while let Some(outgoing) = client.next_outgoing() {
                // The last status goes on.
                let Some(status) = *attempts.next().or(statuses.last()).unwrap() else { continue };
                let mut datagram = client.memory()[outgoing.offset..outgoing.offset + outgoing.length].to_vec();
                let FrameMut::Compact(frame) = FrameMut::parse(&mut datagram).unwrap() else { panic!() };
                frame.set_reply(status, 0);
                client.receive(&datagram, now, |completion| panic!("{completion:?}"));
            }
            now += MILLISECOND;
        }
        assert_eq!(failures, [expected], "{statuses:?}");
    }
}

#[test]
fn missing_replies_halve_what_may_be_in_flight() {
    let mut client = Window::new(Limits { give_up_after: 15 * MILLISECOND, ..limits(8) }, 0);
    let fill = |client: &mut Window, now| {
        let mut count = 0;
        while let Some(draft) = client.begin() {
            let id = draft.id();
            draft.submit_frame(InfoFrame::new(id).as_bytes(), 0, now, now);
            count += 1;
        }
        count
    };
    assert_eq!(fill(&mut client, Duration::ZERO), 8);
    alone(&mut client);
    assert_eq!(fill(&mut client, Duration::from_secs(1)), 4);
    let mut answered = 0;
    for _ in 0..100 {
        while let Some(outgoing) = client.next_outgoing() {
            let mut reply = client.memory()[outgoing.offset..outgoing.offset + outgoing.length].to_vec();
            reply[3] |= wire::REPLY_BIT;
            client.receive(&reply, Duration::from_secs(1), |completion| {
                assert!(completion.reply.is_ok());
                answered += 1;
            });
        }
        fill(&mut client, Duration::from_secs(1));
    }
    assert!(answered > 100);
    assert_eq!(client.in_flight(), 8, "the window is regained");
}

#[test]
fn replies_to_other_questions_are_strays() {
    let mut client = Window::new(limits(2), 0);
    let draft = client.begin().unwrap();
    let request = ProofRequest::new(draft.id(), wire::Chain::Own, wire::Query::Latest, [1; 32]);
    draft.submit_frame(request.as_bytes(), 0, Duration::ZERO, Duration::ZERO);
    let mut other = request;
    other.key = [2; 32];
    other.set_reply(Status::NotFound, 0);
    client.receive(other.as_bytes(), MILLISECOND, |completion| panic!("{completion:?}"));
    assert_eq!((client.strays(), client.in_flight()), (1, 1));
    let mut reply = request;
    reply.set_reply(Status::NotFound, 0);
    let mut ended = 0;
    client.receive(reply.as_bytes(), MILLISECOND, |_| ended += 1);
    client.receive(reply.as_bytes(), MILLISECOND, |_| ended += 1);
    assert_eq!((client.strays(), client.in_flight(), ended), (2, 0, 1));
}

#[test]
fn ids_may_be_chosen_and_drafts_dropped() {
    let mut client = Window::new(limits(2), u32::MAX);
    assert_eq!(client.begin().unwrap().id(), u32::MAX);
    assert_eq!(client.begin_as(5).unwrap().id(), 5);
    for expected in [5, 6] {
        let draft = client.begin().unwrap();
        assert_eq!(draft.id(), expected);
        draft.submit_frame(&[0; 20], 0, Duration::ZERO, Duration::ZERO);
    }
    assert!(client.begin().is_none());
    assert!(client.begin_as(5).is_none());
    let mut client = Window::new(limits(1), 0);
    let mut batch = client.begin().unwrap().batch(BatchFormat::Signed, Promise::Default);
    assert!(!batch.push(&Operation::default()) && batch.is_empty());
    batch.submit(0, Duration::ZERO, Duration::ZERO);
    assert_eq!(client.in_flight(), 0);
    let mut batch = client.begin().unwrap().batch(BatchFormat::Operation, Promise::Default);
    while batch.push(&Operation::default()) {}
    assert_eq!(batch.len(), (500 - 16) / 64);
}

#[test]
fn what_was_answered_or_abandoned_is_not_sent_again() {
    let mut client = Window::new(limits(2), 0);
    let submit = |client: &mut Window, now| {
        let draft = client.begin().unwrap();
        let info = InfoFrame::new(draft.id());
        draft.submit_frame(info.as_bytes(), 0, now, now);
        info
    };
    let mut reply = submit(&mut client, Duration::ZERO);
    assert!(client.next_outgoing().is_some());
    client.expire(10 * MILLISECOND, |completion| panic!("{completion:?}"));
    reply.header.set_reply();
    client.receive(reply.as_bytes(), 11 * MILLISECOND, |completion| assert_eq!(completion.retries, 1));
    assert_eq!(client.next_outgoing(), None);
    submit(&mut client, 12 * MILLISECOND);
    client.abandon();
    assert_eq!((client.in_flight(), client.next_outgoing()), (0, None));
    submit(&mut client, 13 * MILLISECOND);
    assert_eq!(client.next_outgoing().unwrap().length, InfoFrame::LENGTH);
}
