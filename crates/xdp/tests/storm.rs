//! Coherence: while the writer continuously changes balances, adds accounts and announces blocks, no answer is torn or
//! stale.
//!
//! The kernel makes and checks ten million reads (`bpf/storm.bpf.c`). `READS` sets another number.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;
#[path = "common/storm_layout.rs"]
mod storm_layout;

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

use common::{Envelope, Tier, compact};
use proof::Tip;
use skip::Ability;
use storm_layout::{ADDRESSES, ISSUES, storm};
use table::Array;
use turnpike_xdp::{
    Counter, Error, Program,
    generator::{BODY_WORDS, PROOF_BODY},
};
use wire::{Chain, Command, Query};

/// Accounts whose balances change.
const BUSY: u64 = storm_layout::BUSY as u64;

/// Accounts added meanwhile, which moves keys between buckets.
const ADDED: u64 = 20_000;

/// Reads per system call.
const ROUND: u32 = 100_000;

/// The memory that the program and the writer share.
struct Storm(Array<AtomicU64>);

/// Kinds of requests, in order.
const KINDS: [&str; storm_layout::KINDS] = ["balances", "new accounts", "retries", "proofs"];

impl Storm {
    fn new(tier: &mut Tier) -> Self {
        let page = Arc::new(tier.spare.take().unwrap());
        Self(page.words(0, storm::BYTES / 8).unwrap())
    }

    fn word(&self, field: usize, at: usize) -> &AtomicU64 {
        &self.0[field / 8 + at]
    }

    fn added(&self) -> &AtomicU64 {
        self.word(storm::ADDED, 0)
    }

    fn announced(&self) -> &AtomicU64 {
        self.word(storm::ANNOUNCED, 0)
    }

    fn announcing(&self) -> &AtomicU64 {
        self.word(storm::ANNOUNCING, 0)
    }

    fn right(&self) -> [u64; KINDS.len()] {
        std::array::from_fn(|kind| self.word(storm::RIGHT, kind).load(Relaxed))
    }

    fn wrong(&self) -> [u64; KINDS.len()] {
        std::array::from_fn(|kind| self.word(storm::WRONG, kind).load(Relaxed))
    }

    /// Lower bound of an account's balance.
    fn done(&self, account: u64) -> &AtomicU64 {
        self.word(storm::DONE, account as usize)
    }

    /// Upper bound of an account's balance.
    fn begun(&self, account: u64) -> &AtomicU64 {
        self.word(storm::BEGUN, account as usize)
    }
}

fn tip(height: u64) -> Tip {
    let mut hash = [0; 32];
    for (word, at) in hash.chunks_exact_mut(8).zip(0..) {
        word.copy_from_slice(&height.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(at).to_le_bytes());
    }
    Tip { hash, height }
}

fn key(address: u64) -> [u8; 32] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&(address + 1).to_le_bytes());
    key
}

/// The reply for an address as of a height.
fn body(height: u64, address: u64) -> Vec<u8> {
    let latest = height - ((height - address) & 7);
    let mixed = latest.wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(address.wrapping_mul(0x94d0_49bb_1331_11eb));
    let tip = tip(height);
    let words = (0..BODY_WORDS as u64).flat_map(|at| mixed.wrapping_add(at).to_le_bytes());
    tip.hash.into_iter().chain(height.to_be_bytes()).chain(words).collect()
}

/// The single writer.
struct Writer<'a> {
    tier: &'a mut Tier,
    storm: &'a Storm,
    turn: u64,
}

impl Writer<'_> {
    /// Changes something of each kind.
    fn step(&mut self) {
        self.turn += 1;
        self.issue(self.turn % BUSY);
        if self.turn.is_multiple_of(128) {
            self.add_account();
        }
        if self.turn.is_multiple_of(256) {
            self.announce();
        }
        // A block's stale proofs are computed again, sometimes too late.
        let (height, address) = (self.storm.announced().load(Relaxed), self.turn * 7 % ADDRESSES);
        let height = height - u64::from(self.turn.is_multiple_of(5));
        self.tier.cache.fill(Chain::Own, Query::Latest, &key(address), &body(height, address));
    }

    fn issue(&mut self, account: u64) {
        let next = self.storm.done(account).load(Relaxed) + 1;
        self.storm.begun(account).store(next, SeqCst);
        let request = compact(Command::Issue, ISSUES + next as u32, account as u32 + 1, 0, 1);
        let reply = self.tier.execute(request);
        assert_eq!((reply.status.get(), reply.value()), (0, next as u32));
        self.storm.done(account).store(next, SeqCst);
    }

    fn add_account(&mut self) {
        let account = self.storm.added().load(Relaxed) + 1;
        if account <= ADDED {
            let number = BUSY as u32 + account as u32;
            self.tier.execute(compact(Command::Create, number, number, 0, 0));
            self.storm.added().store(account, SeqCst);
        }
    }

    fn announce(&mut self) {
        let height = self.storm.announced().load(Relaxed) + 1;
        self.storm.announcing().store(height, SeqCst);
        if height.is_multiple_of(64) {
            self.tier.cache.reorganise(Chain::Own, tip(height));
        } else {
            let touched = (0..ADDRESSES).filter(|address| (height - address) & 7 == 0).map(key);
            self.tier.cache.announce(Chain::Own, &tip(height - 1).hash, tip(height), touched);
        }
        self.storm.announced().store(height, SeqCst);
    }
}

/// Tells the writer to stop, even if a check has failed.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn set_up() -> Option<(Tier, Storm, Program)> {
    let mut tier = Tier::new((BUSY + ADDED) as usize, 1024)?;
    let storm = Storm::new(&mut tier);
    let program = match Program::load_storm(&tier.arena) {
        Ok(program) => program,
        Err(error @ (Error::NotBuilt | Error::Kernel { .. })) => {
            skip::lacking(Ability::Bpf, error);
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    for account in 1..=BUSY as u32 {
        tier.execute(compact(Command::Create, account, account, 0, 0));
    }
    // Higher than any address, so that each was touched.
    let height = ADDRESSES;
    storm.announced().store(height, SeqCst);
    storm.announcing().store(height, SeqCst);
    tier.cache.reorganise(Chain::Own, tip(height));
    Some((tier, storm, program))
}

/// A frame with room for each kind of request; the program writes the contents.
fn frame() -> Vec<u8> {
    Envelope::default().frame(&vec![0; 48 + PROOF_BODY])
}

#[test]
fn answers_are_of_one_moment() {
    let reads: u64 = std::env::var("READS").map_or(10_000_000, |text| text.parse().unwrap());
    let Some((mut tier, storm, program)) = set_up() else { return };
    let (frame, stop) = (frame(), AtomicBool::new(false));
    let turns = std::thread::scope(|scope| {
        let stopping = Stop(&stop);
        let writer = scope.spawn(|| {
            let mut writer = Writer { tier: &mut tier, storm: &storm, turn: 0 };
            while !stop.load(Relaxed) {
                writer.step();
            }
            writer.turn
        });
        for _ in 0..reads.div_ceil(ROUND.into()) {
            program.test_run(&frame, ROUND).unwrap();
            assert_eq!(storm.wrong(), [0; KINDS.len()], "{KINDS:?}");
        }
        drop(stopping);
        writer.join().unwrap()
    });
    let right = storm.right();
    println!("{right:?} of {KINDS:?} in {reads} reads, beside {turns} turns of the writer");
    println!("{} left because the writer was there", program.count(Counter::Contended));
    assert!(right.iter().all(|count| *count > reads / 100), "{right:?} of each kind");
    assert!(right.iter().sum::<u64>() > reads / 2);
    assert!(turns > reads / 1000, "the writer was there all the while: {turns}");
}

/// The checker detects each kind of error.
#[test]
fn the_checker_sees_what_is_wrong() {
    let Some((mut tier, storm, program)) = set_up() else { return };
    let frame = frame();
    let mut writer = Writer { tier: &mut tier, storm: &storm, turn: 0 };
    for _ in 0..1000 {
        writer.step();
    }
    program.test_run(&frame, 1000).unwrap();
    assert_eq!(storm.wrong(), [0; KINDS.len()]);
    assert!(storm.right().iter().all(|right| *right > 0), "{:?}", storm.right());
    // Claim more than was done, give an added account a balance, and announce a block that does not exist.
    for account in 0..BUSY {
        storm.done(account).fetch_add(1, SeqCst);
        storm.begun(account).fetch_add(1, SeqCst);
    }
    writer.tier.execute(compact(Command::Issue, 1, BUSY as u32 + 1, 0, 1));
    storm.announced().fetch_add(1, SeqCst);
    storm.announcing().fetch_add(1, SeqCst);
    storm.added().store(1, SeqCst);
    let before = storm.right();
    program.test_run(&frame, 1000).unwrap();
    let wrong = storm.wrong();
    assert!(wrong[0] > 0 && wrong[1] > 0 && wrong[3] > 0, "{wrong:?}");
    // A retry of an operation that was not executed is left to the host; every other reply is now wrong instead of
    // right.
    assert_eq!(storm.right(), before);
    // A retry with another result than the first reply.
    for account in 0..BUSY {
        storm.done(account).fetch_sub(1, SeqCst);
    }
    writer.tier.execute(compact(Command::Issue, ISSUES + 1_000_000, 1, 0, 1));
    storm.done(0).store(1_000_000, SeqCst);
    program.test_run(&frame, 1000).unwrap();
    assert!(storm.wrong()[2] > 0);
}
