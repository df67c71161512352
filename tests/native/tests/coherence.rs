//! The tier's readers with a writer that runs at the worst moments: between any two loads.
//!
//! The storm test of `turnpike-xdp` has real threads and finds frequent races; this finds those that occur once a year.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{cell::Cell, rc::Rc};

use ledger::{Ledger, Limits, Now, retries};
use proof::{Cache, Config, Tip};
use turnpike_native::{Engine, KvEngine, KvHost, datagram, frame};
use wire::{Chain, Command, CompactFrame, ProofRequest, Query};
use xdp::Flags;
use zerocopy::IntoBytes;

/// Bytes before the body: Ethernet, IPv4, UDP, the fixed part of a proof frame.
const BEFORE_BODY: usize = 14 + 20 + 8 + ProofRequest::LENGTH;

/// Words of a body after the tip, so that it takes several lines of the value store.
const WORDS: u64 = 32;

/// Proofs of other keys, enough to occupy every line of the smallest store.
const OTHERS: u64 = 20_000;

const ASKED: [u8; 32] = [1; 32];

fn tip(height: u64) -> Tip {
    Tip { hash: [height as u8; 32], height }
}

/// The reply for a key as of a height.
fn body(height: u64, key: &[u8; 32]) -> Vec<u8> {
    let tip = tip(height);
    let first = u64::from_le_bytes(key[..8].try_into().unwrap()) ^ height << 32;
    let words = (0..WORDS).flat_map(|word| (first ^ word).to_le_bytes());
    tip.hash.into_iter().chain(tip.height.to_be_bytes()).chain(words).collect()
}

fn engine() -> (Engine, Cache) {
    let (engine, cache) = Engine::proofs(&Config { bytes: 1 << 20, ..Config::default() }).unwrap();
    cache.reorganise(Chain::Own, tip(1));
    cache.fill(Chain::Own, Query::Latest, &ASKED, &body(1, &ASKED));
    (engine, cache)
}

fn request() -> Vec<u8> {
    let mut payload = ProofRequest::new(7, Chain::Own, Query::Latest, ASKED).as_bytes().to_vec();
    payload.resize(ProofRequest::LENGTH + body(1, &ASKED).len(), 0);
    datagram(&payload)
}

/// Answers with a writer that does all of its work before one load, for each load in turn. Each answer must be one of
/// those given, and without the writer the first of them. Returns the number of requests answered and refused.
fn check(answer_at: impl Fn(&Rc<Countdown>) -> Option<Vec<u8>>, right: &[Vec<u8>]) -> (usize, usize) {
    let (mut answered, mut refused) = (0, 0);
    for load in 1.. {
        let countdown = Rc::new(Countdown(Cell::new(load)));
        let answer = answer_at(&countdown);
        if countdown.0.get() > 0 {
            assert_eq!(answer.as_ref(), right.first(), "without a writer there is an answer");
            return (answered, refused);
        }
        match answer {
            Some(answer) => {
                assert!(right.contains(&answer), "a writer before load {load}: {answer:02x?}");
                answered += 1;
            }
            None => refused += 1,
        }
    }
    unreachable!("an answer takes few loads")
}

/// Loads up to and including the one before which the writer runs.
struct Countdown(Cell<usize>);

impl Countdown {
    /// Counts a load. Returns whether the writer runs now.
    fn is_over(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 1
    }
}

/// Like [`check`], for the body of a proof.
fn check_proof(work: impl Fn(&Cache) + Copy + 'static, right: &[Vec<u8>]) -> (usize, usize) {
    let answer_at = |countdown: &Rc<Countdown>| {
        let ((mut engine, cache), countdown) = (engine(), countdown.clone());
        let answer = engine.answer_beside(&request(), move || {
            if countdown.is_over() {
                work(&cache);
            }
        });
        answer.map(|frame| frame[BEFORE_BODY..].to_vec())
    };
    check(answer_at, right)
}

#[test]
fn a_proof_that_is_written_over_is_not_told() {
    let write_over = |cache: &Cache| {
        for other in 2..OTHERS {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&other.to_le_bytes());
            cache.fill(Chain::Own, Query::Latest, &key, &body(1, &key));
        }
    };
    let (answered, refused) = check_proof(write_over, &[body(1, &ASKED)]);
    assert!(refused >= 2, "{answered} answered, {refused} not");
}

/// A block that touches the key: the answer matches the tip that it names.
#[test]
fn a_tip_that_changes_is_not_mixed_with_the_one_before() {
    let announce = |cache: &Cache| {
        cache.announce(Chain::Own, &tip(1).hash, tip(2), [ASKED]);
        cache.fill(Chain::Own, Query::Latest, &ASKED, &body(2, &ASKED));
    };
    let (_, refused) = check_proof(announce, &[body(1, &ASKED), body(2, &ASKED)]);
    assert!(refused >= 1);
}

/// A block that does not touch the key: the proof also holds for the new tip, and names one tip or the other as a
/// whole.
#[test]
fn an_untouched_proof_names_one_tip() {
    let announce = |cache: &Cache| cache.announce(Chain::Own, &tip(1).hash, tip(2), []);
    let renamed = [&body(2, &ASKED)[..40], &body(1, &ASKED)[40..]].concat();
    let (_, refused) = check_proof(announce, &[body(1, &ASKED), renamed]);
    assert!(refused >= 1);
}

/// A writer interrupted in the middle of a bucket by this very reader.
#[test]
fn a_bucket_that_is_being_changed_is_not_read() {
    let (mut engine, _cache) = engine();
    assert!(engine.answer(&request()).is_some());
    engine.interrupt_changes();
    assert_eq!(engine.answer(&request()), None);
}

/// Time of the store.
const NOW: u32 = 1000;

/// Like [`check`], for the whole reply to a `get` of the store.
fn check_item(work: impl Fn(&mut KvHost) + Copy + 'static, right: &[&str]) -> (usize, usize) {
    const GET: &[u8] = b"\x12\x34\0\0\0\x01\0\0get key\r\n";
    let mut model = KvEngine::new(4 << 20, 1 << 20);
    let mut reply = |item: &str| {
        model.host.execute(format!("set key 0 0 {}\r\n{item}\r\n", item.len()).as_bytes(), NOW);
        model.host.serve(GET, NOW).unwrap()
    };
    let right: Vec<_> = right.iter().map(|item| reply(item)).collect();
    let answer_at = |countdown: &Rc<Countdown>| {
        let (mut engine, countdown) = (KvEngine::new(4 << 20, 1 << 20), countdown.clone());
        engine.host.execute(format!("set key 0 0 40\r\n{ITEM}\r\n").as_bytes(), NOW);
        engine.host.serve(GET, NOW);
        engine.answer_beside(&datagram(GET), ITEM_ROOM, NOW, move |host| {
            if countdown.is_over() {
                work(host);
                host.serve(GET, NOW);
            }
        })
    };
    check(answer_at, &right)
}

const ITEM: &str = "0123456789012345678901234567890123456789";
const LATER: &str = "abcdefghijabcdefghijabcdefghijabcdefghij";
const ITEM_ROOM: usize = 512;

#[test]
fn an_item_that_is_written_over_is_not_told() {
    let write_over = |host: &mut KvHost| drop(host.execute(format!("set key 0 0 40\r\n{LATER}\r\n").as_bytes(), NOW));
    let (answered, refused) = check_item(write_over, &[ITEM, LATER]);
    assert!(answered >= 2, "{answered} answered, {refused} not");
}

#[test]
fn an_item_that_gets_shorter_is_told_whole() {
    let shorten = |host: &mut KvHost| drop(host.execute(b"set key 0 0 3\r\nabc\r\n", NOW));
    check_item(shorten, &[ITEM, "abc"]);
}

fn execute(ledger: &mut Ledger, command: Command, transaction: u32, amount: u32) {
    let mut operation = CompactFrame::new(command, transaction, 1, 0, amount).to_operation();
    ledger.execute(std::slice::from_mut(&mut operation), &mut [0], Now::default(), |_, _| ());
}

/// The balance reported concurrently with a writer, and the number of loads. The writer has a batch of two operations,
/// each of which adds one: it announces the batch, executes the first, then the second, which is the last one to become
/// durable. Each step is before one load.
fn balance_beside(steps: [usize; 3]) -> (Option<u32>, usize) {
    let limits = Limits { accounts: 16, retries: retries::Limits::with_operations(1024) };
    let (mut engine, mut ledger) = Engine::tier(limits, [3; 16]).unwrap();
    let state = engine.state();
    state.set_flags(Flags::DURABLE);
    execute(&mut ledger, Command::Create, 1, 0);
    state.durable(ledger.last_sequence());
    let met = Rc::new(Cell::new(0));
    let at = met.clone();
    let refer = frame(&CompactFrame::new(Command::Refer, 9, 1, 0, 0));
    let answer = engine.answer_beside(&refer, move || {
        at.set(at.get() + 1);
        let [announced, first, second] = steps.map(|step| step == at.get());
        if announced {
            state.announce(ledger.last_sequence() + 2);
        }
        if first {
            execute(&mut ledger, Command::Issue, 2, 1);
        }
        if second {
            execute(&mut ledger, Command::Issue, 3, 1);
            state.durable(ledger.last_sequence());
        }
    });
    let balance = |frame: Vec<u8>| u32::from_be_bytes(frame[14 + 20 + 8 + 16..][..4].try_into().unwrap());
    (answer.map(balance), met.get())
}

/// If answers wait for durability, none exposes part of a batch, whenever its steps run.
#[test]
fn a_batch_is_told_whole_or_not() {
    let never = usize::MAX;
    let (before, loads) = balance_beside([never; 3]);
    assert_eq!(before, Some(0));
    let (mut told, mut left) = ([0; 3], 0);
    // After the last load, a step is too late to matter.
    let all = loads + 1;
    for announced in 1..=all {
        for first in announced..=all {
            for second in first..=all {
                match balance_beside([announced, first, second]).0 {
                    Some(balance) => told[balance as usize] += 1,
                    None => left += 1,
                }
            }
        }
    }
    assert_eq!(told[1], 0, "of {told:?} told, {left} left");
    assert!(told[0] > 0 && left > 0, "{told:?} told, {left} left");
}
