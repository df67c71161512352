//! The in-NIC ledger against the Rust one: same replies, same journal, same balances.
//!
//! The program runs on test packets (`BPF_PROG_TEST_RUN`), which needs no interface, but root and Linux 6.15.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use common::{Checksum, Envelope, MAC, PORT, bytes, compact};
use ledger::{Ledger, Limits, Now, Secret, retries};
use proptest::prelude::*;
use skip::Ability;
use turnpike_xdp::{Committed, InNicConfig, InNicLedger, LedgerCounter, RetryFill};
use wire::{Command, CompactFrame, Operation, Status};
use zerocopy::FromBytes;

/// How far back a sequence of commands repeats itself.
const REPEATED: usize = 64;

/// As random as a secret.
const SECRET: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];

fn load(accounts: usize, ring: usize) -> Option<InNicLedger> {
    load_with(&InNicConfig { accounts, ring, retries: 1 << 16, ..InNicConfig::default() })
}

fn load_with(config: &InNicConfig) -> Option<InNicLedger> {
    let nic = match InNicLedger::load(config, SECRET) {
        Ok(nic) => nic,
        Err(error @ turnpike_xdp::Error::Verifier { .. }) => panic!("{error}"),
        Err(error) => {
            skip::lacking(Ability::Bpf, error);
            return None;
        }
    };
    nic.state().set_listening(PORT, MAC, &["10.0.0.1", "fd00::1"].map(|address| address.parse().unwrap()));
    nic.state().set_trusted([("10.0.0.0".parse().unwrap(), 8), ("fd00::".parse().unwrap(), 8)]);
    Some(nic)
}

fn model(accounts: usize) -> Ledger {
    Ledger::new(Limits { accounts, retries: retries::Limits::with_operations(1 << 16) }, Secret::from_seed([3; 16]))
        .unwrap()
}

/// Executes a request on the Rust ledger: the reply, and what goes into the journal.
fn execute(ledger: &mut Ledger, request: CompactFrame) -> (CompactFrame, Option<(Operation, u64)>) {
    let (mut reply, mut operation, mut value, mut recorded) = (request, request.to_operation(), 0, None);
    let (operations, values) = (std::slice::from_mut(&mut operation), std::slice::from_mut(&mut value));
    ledger.execute(operations, values, Now::default(), |operation, value| recorded = Some((*operation, value)));
    reply.set_reply(operation.status().unwrap(), value);
    (reply, recorded)
}

/// The reply of the in-NIC ledger.
fn ask(nic: &InNicLedger, request: CompactFrame) -> Option<CompactFrame> {
    let run = nic.test_run(&Envelope::default().frame(&bytes(&request)), 1).unwrap();
    run.replies().then(|| {
        let reply = CompactFrame::read_from_bytes(&run.packet[run.packet.len() - CompactFrame::LENGTH..]).unwrap();
        assert_eq!(run.packet, Envelope::default().turned().frame(&bytes(&reply)), "the headers of a reply");
        reply
    })
}

fn operation(committed: &Committed) -> (Operation, u64) {
    let command = Command::try_from(committed.command as u8).unwrap();
    let Committed { transaction, source, destination, amount, .. } = *committed;
    let mut operation = compact(command, transaction, source, destination, amount).to_operation();
    operation.status.set(committed.status);
    (operation, committed.value)
}

/// The inverse conversion.
fn committed(sequence: u64, operation: &Operation, value: u64) -> Committed {
    let mut requested = *operation;
    requested.status.set(0);
    let frame = CompactFrame::from_operation(&requested).unwrap();
    Committed {
        sequence,
        value,
        command: frame.command.get(),
        transaction: frame.transaction.get(),
        source: frame.source.get(),
        destination: frame.destination.get(),
        amount: frame.amount.get(),
        status: operation.status.get(),
    }
}

fn drained(nic: &mut InNicLedger) -> Vec<(Operation, u64)> {
    let mut all = Vec::new();
    while nic.drain(100, |committed| all.push(operation(committed))) > 0 {}
    assert_eq!(nic.early(), 0, "nothing is missing");
    all
}

/// Both ledgers hold the same.
fn assert_same(nic: &InNicLedger, ledger: &Ledger) {
    let mut found: Vec<_> = nic.balances().collect();
    let mut expected: Vec<_> =
        ledger.iter().map(|(account, balance)| (account.to_compact().unwrap(), balance)).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(nic.accounts(), ledger.accounts() as u64);
    assert_eq!(nic.sequence(), ledger.last_sequence());
}

#[test]
fn the_golden_talk_in_compact_frames() {
    let Some(mut nic) = load(4096, 1 << 16) else { return };
    let frames = |name: &str| -> Vec<CompactFrame> {
        let path = format!("{}/../../vectors/ledger/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let hex = |line: &str| -> Vec<u8> {
            (0..22).map(|at| u8::from_str_radix(&line[2 * at..2 * at + 2], 16).unwrap()).collect()
        };
        let lines = text.lines().filter(|line| !line.starts_with("//"));
        lines.map(|line| CompactFrame::read_from_bytes(&hex(line)).unwrap()).collect()
    };
    let mut ledger = model(4096);
    let mut journal = Vec::new();
    for (request, reply) in frames("compact_requests.hex").into_iter().zip(frames("compact_replies.hex")) {
        assert_eq!(ask(&nic, request), Some(reply));
        journal.extend(execute(&mut ledger, request).1);
    }
    assert_eq!(drained(&mut nic), journal);
    assert_same(&nic, &ledger);
}

#[test]
fn a_balance_never_wraps() {
    let Some(mut nic) = load(64, 1 << 16) else { return };
    nic.insert(1, u64::MAX - 9).unwrap();
    nic.insert(2, 100).unwrap();
    let replies = [
        (compact(Command::Transfer, 1, 2, 1, 10), Status::Overflow),
        (compact(Command::Issue, 2, 1, 0, 10), Status::Overflow),
        (compact(Command::Transfer, 3, 2, 1, 9), Status::Ok),
        (compact(Command::Issue, 4, 1, 0, 1), Status::Overflow),
    ];
    for (request, status) in replies {
        assert_eq!(ask(&nic, request).unwrap().status.get(), status.code(), "{request:?}");
    }
    let mut balances: Vec<_> = nic.balances().collect();
    balances.sort_unstable();
    assert_eq!(balances, [(1, u64::MAX), (2, 91)]);
}

#[test]
fn what_is_not_for_it_passes_as_it_came() {
    let Some(nic) = load(64, 1 << 16) else { return };
    let good = Envelope::default();
    let request = compact(Command::Create, 1, 1, 0, 0);
    let mut frames = vec![
        Envelope { source: "11.0.0.2".parse().unwrap(), ..good.clone() }.frame(&bytes(&request)),
        Envelope { checksum: Checksum::Wrong, ..good.clone() }.frame(&bytes(&request)),
        Envelope { ports: [4000, PORT + 1], ..good.clone() }.frame(&bytes(&request)),
        good.frame(&[0; 100]),
    ];
    // Refusals by form alone are left to the host.
    for request in [
        compact(Command::Create, 1, 1, 2, 0),
        compact(Command::Create, 1, 1, 0, 2),
        compact(Command::Issue, 1, 1, 0, 0),
        compact(Command::Transfer, 1, 1, 1, 5),
        compact(Command::Refer, 1, 1, 0, 1),
    ] {
        assert_ne!(request.check(), Status::Ok);
        frames.push(good.frame(&bytes(&request)));
    }
    for frame in frames {
        let run = nic.test_run(&frame, 1).unwrap();
        assert!(run.passes() && run.packet == frame);
    }
    assert_eq!((nic.accounts(), nic.sequence(), nic.count(LedgerCounter::Checksum)), (0, 0, 1));
}

#[test]
fn without_room_in_the_ring_nothing_is_done() {
    // 4096 bytes take 85 records of 48.
    let Some(mut nic) = load(1024, 4096) else { return };
    let mut ledger = model(1024);
    let mut journal = Vec::new();
    assert_eq!(nic.ring_bytes(), (0, 4096));
    for account in 0..400 {
        let request = compact(Command::Create, account, account, 0, 0);
        let answered = ask(&nic, request);
        assert_eq!(answered.is_none(), account % 100 >= 85, "{account}");
        // Reads still work.
        let refer = ask(&nic, compact(Command::Refer, 1, account, 0, 0)).unwrap();
        assert_eq!(refer.status.get() == 0, answered.is_some());
        if let Some(reply) = answered {
            let (expected, recorded) = execute(&mut ledger, request);
            assert_eq!(reply, expected);
            journal.extend(recorded);
        }
        if account % 100 == 99 {
            assert_eq!(nic.ring_bytes(), (85 * 48, 4096));
            assert_eq!(drained(&mut nic), std::mem::take(&mut journal));
        }
    }
    assert_eq!(nic.count(LedgerCounter::RingFull), 4 * 15);
    assert_same(&nic, &ledger);
}

/// Operations by several threads at once: in the order of their sequences, the Rust ledger gives the same replies.
#[test]
fn what_several_processors_execute_has_an_order() {
    let Some(mut nic) = load(1024, 1 << 22) else { return };
    const THREADS: u32 = 4;
    const EACH: u32 = 10_000;
    for account in 0..8 {
        ask(&nic, compact(Command::Create, 1, account, 0, 0)).unwrap();
        ask(&nic, compact(Command::Issue, 2, account, 0, 50)).unwrap();
    }
    let shared = &nic;
    let answers: Vec<Vec<CompactFrame>> = std::thread::scope(|scope| {
        let run = |thread: u32| {
            move || {
                let mut random = thread;
                let mut next = |below: u32| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    ((u64::from(random) * u64::from(below)) >> 32) as u32
                };
                let mut replies = Vec::new();
                while (replies.len() as u32) < EACH {
                    // Few accounts, so that threads conflict.
                    let (source, other, amount) = (next(8), next(7), next(40) + 1);
                    let destination = (source + 1 + other) % 8;
                    let transaction = 10 + thread * EACH + replies.len() as u32;
                    let request = compact(Command::Transfer, transaction, source, destination, amount);
                    // If it could not take the lock, the request is repeated, as by a client.
                    replies.extend(ask(shared, request));
                }
                replies
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(run(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let journal = drained(&mut nic);
    assert_eq!(journal.len() as u32, 16 + THREADS * EACH);
    let mut ledger = model(1024);
    let mut replies = BTreeMap::new();
    for (mut operation, value) in journal {
        let status = std::mem::take(&mut operation.status);
        let request = CompactFrame::from_operation(&operation).unwrap();
        let (reply, recorded) = execute(&mut ledger, request);
        let (recorded, recorded_value) = recorded.unwrap();
        assert_eq!((recorded.status, recorded_value), (status, value));
        replies.insert((reply.source.get(), reply.transaction.get()), reply);
    }
    for reply in answers.into_iter().flatten() {
        assert_eq!(replies[&(reply.source.get(), reply.transaction.get())], reply);
    }
    assert_same(&nic, &ledger);
    assert_eq!(nic.balances().map(|(_, balance)| balance).sum::<u64>(), 400, "money is neither made nor lost");
}

/// More load on one account than the memory has room for, on several processors: executed operations get the same
/// reply, others are refused, and after the retention there is room again.
#[test]
fn a_retry_is_never_executed_again_under_load() {
    const RETENTION: Duration = Duration::from_secs(2);
    let config = InNicConfig { accounts: 64, ring: 1 << 22, retries: 4096, retention: RETENTION };
    let Some(nic) = load_with(&config) else { return };
    ask(&nic, compact(Command::Create, 1, 7, 0, 0)).unwrap();
    let begun = Instant::now();
    let issue = |transaction| compact(Command::Issue, transaction, 7, 0, 1);
    let answers: Vec<Vec<_>> = std::thread::scope(|scope| {
        let run = |thread: u32| {
            let nic = &nic;
            move || -> Vec<_> {
                let transactions = 10 + thread * 10_000..10 + thread * 10_000 + 3000;
                transactions.map(issue).map(|request| (request, ask(nic, request))).collect()
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(run(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (executed, refused): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .flatten()
        .filter_map(|(request, reply)| Some((request, reply?)))
        .partition(|(_, reply)| reply.status() == Ok(Status::Ok));
    assert!(executed.len() > 3000 && executed.len() < 4096, "{} of 12000", executed.len());
    assert!(refused.iter().all(|(_, reply)| (reply.status(), reply.value()) == (Ok(Status::Busy), 0)));
    assert!(nic.count(LedgerCounter::Full) >= refused.len() as u64 && refused.len() > 7000);
    for (request, reply) in &executed {
        assert_eq!(ask(&nic, *request), Some(*reply), "a retry");
    }
    let refer = compact(Command::Refer, 1, 7, 0, 0);
    assert_eq!(ask(&nic, refer).unwrap().value(), executed.len() as u32, "each was executed once");
    let fill = nic.retries();
    assert_eq!(fill.operations, executed.len() + 1, "with the CREATE");
    assert!(fill.operations <= fill.capacity && fill.capacity < 4096, "{fill:?}");
    assert!(begun.elapsed() < RETENTION, "this machine is too slow for the test");
    std::thread::sleep(RETENTION + Duration::from_millis(1200));
    assert_eq!(nic.retries(), RetryFill { operations: 0, age: Duration::ZERO, ..fill });
    let (request, _) = refused[0];
    assert_eq!(ask(&nic, request).unwrap().status(), Ok(Status::Ok));
    assert_eq!(nic.retries().operations, 1);
}

/// Random commands: source, destination, amount; how far back the transaction id was used, 0 for a new one.
fn talk(length: usize) -> impl Strategy<Value = Vec<(u32, u32, u32, u32, usize)>> {
    prop::collection::vec((1_u32..5, 0_u32..14, 0_u32..14, 1_u32..60, 0_usize..REPEATED), length)
}

proptest! {
    // Each case loads the program, which takes the verifier a second.
    #![proptest_config(ProptestConfig { max_shrink_iters: 16, failure_persistence: None, ..ProptestConfig::with_cases(3) })]

    /// In lock step with the Rust ledger; then another one continues where it stopped.
    #[test]
    fn replies_are_those_of_the_ledger(steps in talk(3000)) {
        const ACCOUNTS: usize = 10;
        let Some(mut nic) = load(ACCOUNTS, 1 << 20) else { return Ok(()) };
        let mut ledger = model(ACCOUNTS);
        let (mut journal, mut sent) = (Vec::new(), Vec::<CompactFrame>::new());
        let mut counted = Vec::<(LedgerCounter, u64)>::new();
        for (command, source, destination, amount, back) in steps {
            let command = Command::try_from(command as u8).unwrap();
            let transfers = command == Command::Transfer;
            let amount = if transfers || command == Command::Issue { amount * amount * 1000 } else { 0 };
            let destination = match transfers {
                true if destination == source => destination + 1,
                true => destination,
                false => 0,
            };
            let mut request = compact(command, 1000 + sent.len() as u32, source, destination, amount);
            // One in three is a retry, or reuses the id of another operation.
            if back % 3 == 0 && back > 0 && back <= sent.len() {
                let earlier = sent[sent.len() - back];
                if back % 2 == 0 {
                    request = earlier;
                } else {
                    request.transaction = earlier.transaction;
                    request.source = earlier.source;
                    request.destination.set(if transfers { earlier.source.get() + 1 } else { 0 });
                }
            }
            sent.push(request);
            let (reply, recorded) = execute(&mut ledger, request);
            prop_assert_eq!(ask(&nic, request), Some(reply));
            let (command, status) = (request.command().unwrap(), reply.status().unwrap());
            let counter = match recorded {
                Some(_) => LedgerCounter::Executed { command, status },
                None => LedgerCounter::Answered { command, status },
            };
            match counted.iter_mut().find(|(known, _)| *known == counter) {
                Some((_, count)) => *count += 1,
                None => counted.push((counter, 1)),
            }
            journal.extend(recorded);
        }
        prop_assert_eq!(&drained(&mut nic), &journal);
        assert_same(&nic, &ledger);

        for (counter, count) in counted {
            prop_assert_eq!(nic.count(counter), count, "{:?}", counter);
        }

        let Some(mut restored) = load(ACCOUNTS, 1 << 20) else { return Ok(()) };
        for (account, balance) in ledger.iter() {
            restored.insert(account.to_compact().unwrap(), balance).unwrap();
        }
        restored.begin_after(ledger.last_sequence());
        for (sequence, (operation, value)) in (1..).zip(&journal) {
            restored.remember(&committed(sequence, operation, *value), Duration::ZERO).unwrap();
        }
        assert_same(&restored, &ledger);
        // It continues where it was: retries are recognised, and the next operation has the next sequence.
        let last = *sent.last().unwrap();
        prop_assert_eq!(ask(&restored, last), Some(execute(&mut ledger, last).0));
        let fresh = compact(Command::Issue, 1, 1, 0, 1);
        let (reply, recorded) = execute(&mut ledger, fresh);
        prop_assert_eq!(ask(&restored, fresh), Some(reply));
        prop_assert_eq!(drained(&mut restored), recorded.into_iter().collect::<Vec<_>>());
    }
}
