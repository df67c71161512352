//! The tier's readers beside a writer that comes at the worst moments: between any two reads that are ordered.
//!
//! The storm test of `turnpike-xdp` has real threads and finds what comes often; this finds what comes once in a year.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{cell::Cell, rc::Rc};

use ledger::{Ledger, Limits, Now, retries};
use proof::{Cache, Config, Tip};
use turnpike_native::{Engine, datagram, frame};
use wire::{Chain, Command, CompactFrame, ProofRequest, Query};
use xdp::Flags;
use zerocopy::IntoBytes;

/// What is before the body: Ethernet, IPv4, UDP, the fixed part of a proof frame.
const BEFORE_BODY: usize = 14 + 20 + 8 + ProofRequest::LENGTH;

/// Words of a body behind the tip, so that it takes several lines of the value store.
const WORDS: u64 = 32;

/// Proofs of other keys that take every line of the smallest store.
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

/// The body of the answer where a writer does all of its work at one barrier, and whether there are so many barriers.
fn answer_beside(barrier: usize, work: impl Fn(&Cache) + 'static) -> (Option<Vec<u8>>, bool) {
    let (mut engine, cache) = engine();
    let met = Rc::new(Cell::new(0));
    let at = met.clone();
    let answer = engine.answer_beside(&request(), move || {
        at.set(at.get() + 1);
        if at.get() == barrier {
            work(&cache);
        }
    });
    (answer.map(|frame| frame[BEFORE_BODY..].to_vec()), met.get() >= barrier)
}

/// Answers beside the work at each barrier in turn, which have to be one of those given; and how many there were and were not.
fn check(work: impl Fn(&Cache) + Copy + 'static, right: &[Vec<u8>]) -> (usize, usize) {
    let (mut answered, mut refused) = (0, 0);
    for barrier in 1.. {
        let (answer, met) = answer_beside(barrier, work);
        if !met {
            assert_eq!(answer, Some(body(1, &ASKED)), "without a writer there is an answer");
            return (answered, refused);
        }
        match answer {
            Some(answer) => {
                assert!(right.contains(&answer), "a writer at barrier {barrier}: {answer:02x?}");
                answered += 1;
            }
            None => refused += 1,
        }
    }
    unreachable!("an answer takes few barriers")
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
    let (answered, refused) = check(write_over, &[body(1, &ASKED)]);
    // Before and behind the value's own barriers there are others.
    assert!(refused >= 2, "{answered} answered, {refused} not");
}

/// A block that touches the key: what is told is as of the tip that it names.
#[test]
fn a_tip_that_changes_is_not_mixed_with_the_one_before() {
    let announce = |cache: &Cache| {
        cache.announce(Chain::Own, &tip(1).hash, tip(2), [ASKED]);
        cache.fill(Chain::Own, Query::Latest, &ASKED, &body(2, &ASKED));
    };
    let (_, refused) = check(announce, &[body(1, &ASKED), body(2, &ASKED)]);
    assert!(refused >= 1);
}

/// A block that does not touch the key: the proof is as true of the new tip, and names the one or the other whole.
#[test]
fn an_untouched_proof_names_one_tip() {
    let announce = |cache: &Cache| cache.announce(Chain::Own, &tip(1).hash, tip(2), []);
    let renamed = [&body(2, &ASKED)[..40], &body(1, &ASKED)[40..]].concat();
    let (_, refused) = check(announce, &[body(1, &ASKED), renamed]);
    assert!(refused >= 1);
}

fn execute(ledger: &mut Ledger, command: Command, transaction: u32, amount: u32) {
    let mut operation = CompactFrame::new(command, transaction, 1, 0, amount).to_operation();
    ledger.execute(std::slice::from_mut(&mut operation), &mut [0], Now::default(), |_, _| ());
}

/// The balance that is told beside a writer, and how many barriers it took. The writer has a batch of two operations, each of which
/// adds one: it announces it, executes the first, then the second, which is the last that has to be durable. Each step is at one
/// barrier.
fn balance_beside(steps: [usize; 3]) -> (Option<u32>, usize) {
    let limits = Limits { accounts: 16, retries: retries::Limits::of(1024) };
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

/// Where answers wait for what is durable, none is out of the midst of a batch, wherever its steps come.
#[test]
fn a_batch_is_told_whole_or_not() {
    let never = usize::MAX;
    let (before, barriers) = balance_beside([never; 3]);
    assert_eq!(before, Some(0));
    let (mut told, mut left) = ([0; 3], 0);
    // Behind the last barrier a step comes too late to matter.
    let all = barriers + 1;
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
