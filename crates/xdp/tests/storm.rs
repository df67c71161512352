//! Coherence: while the writer changes balances and adds accounts without a pause, no answer is torn or stale.
//!
//! `READS` sets the number of reads (a tenth of a million by default: each is a system call).
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::{Envelope, Tier, bytes, compact};
use turnpike_xdp::Counter;
use wire::{Command, CompactFrame};
use zerocopy::FromBytes;

/// Accounts whose balances change.
const BUSY: u32 = 16;

/// Accounts that are added meanwhile, which moves keys between their buckets.
const ADDED: u32 = 20_000;

#[test]
fn answers_are_of_one_moment() {
    let reads: u32 = std::env::var("READS").map_or(100_000, |text| text.parse().unwrap());
    let Some(mut tier) = Tier::new((BUSY + ADDED) as usize, 1024) else { return };
    let Some(program) = tier.program() else { return };
    for account in 1..=BUSY {
        tier.execute(compact(Command::Create, account, account, 0, 0));
    }
    // What each account holds at least, and what it may hold.
    let begun: Vec<_> = (0..=BUSY).map(|_| AtomicU32::new(0)).collect();
    let done: Vec<_> = (0..=BUSY).map(|_| AtomicU32::new(0)).collect();
    let added = AtomicU32::new(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut transaction = 1_000_000;
            for turn in 0_u32.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let account = turn % BUSY + 1;
                let next = done[account as usize].load(Ordering::Relaxed) + 1;
                begun[account as usize].store(next, Ordering::SeqCst);
                transaction += 1;
                // Its transaction id is its new balance, so that a retry tells what it was.
                let reply = tier.execute(compact(Command::Issue, 100_000_000 + next, account, 0, 1));
                assert_eq!((reply.status.get(), reply.value()), (0, next));
                done[account as usize].store(next, Ordering::SeqCst);
                let account = added.load(Ordering::Relaxed) + 1;
                if account <= ADDED && turn % 4 == 0 {
                    tier.execute(compact(Command::Create, transaction, BUSY + account, 0, 0));
                    added.store(account, Ordering::SeqCst);
                }
            }
        });
        let (mut answered, mut retried) = (0_u32, 0_u32);
        for turn in 0..reads {
            let account = turn % BUSY + 1;
            let least = done[account as usize].load(Ordering::SeqCst);
            let known = added.load(Ordering::SeqCst);
            let request = match turn % 3 {
                0 if known > 0 => compact(Command::Refer, turn, BUSY + 1 + turn % known, 0, 0),
                1 if least > 0 => compact(Command::Issue, 100_000_000 + least, account, 0, 1),
                _ => compact(Command::Refer, turn, account, 0, 0),
            };
            let frame = Envelope::default().frame(&bytes(&request));
            let run = program.test_run(&frame, 1).unwrap();
            if run.passes() {
                assert_eq!(run.packet, frame, "what is left to the host is as it came");
                continue;
            }
            let most = begun[account as usize].load(Ordering::SeqCst);
            let reply = CompactFrame::read_from_bytes(&run.packet[42..64]).unwrap();
            assert_eq!(reply.status.get(), 0, "{request:?}");
            answered += 1;
            match (request.command().unwrap(), request.source.get()) {
                (Command::Issue, _) => {
                    retried += 1;
                    assert_eq!(reply.value(), least, "a retry has the first result");
                }
                (_, 1..=BUSY) => assert!((least..=most).contains(&reply.value()), "{least} {reply:?} {most}"),
                _ => assert_eq!(reply.value(), 0),
            }
        }
        stop.store(true, Ordering::Relaxed);
        println!("{answered} of {reads} answered, {retried} of them retries");
        assert!(answered > reads / 2 && retried > 0);
    });
    println!("{} left to the host because the writer was there", program.count(Counter::Contended));
}
