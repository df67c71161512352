//! The C engines against the Rust ones, on any machine: the golden vectors, and random sequences.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{collections::VecDeque, time::Duration};

use ledger::{Ledger, Limits, Secret, retries};
use proptest::prelude::*;
use turnpike_native::{Engine, Reference, Tables, fold_sum, frame};
use wire::{Command, CompactFrame, Status};
use xdp::{Committed, InNicConfig, Tick};
use zerocopy::FromBytes;

const LIMITS: Limits = Limits { accounts: 64, retries: retries::Limits::with_operations(1 << 16) };
const SECRET: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];

/// How long retries are recognised.
const RETENTION: Duration = Duration::from_secs(10);

/// Configuration with this many accounts, and room to remember everything in a test.
fn in_nic(accounts: usize) -> InNicConfig {
    InNicConfig { accounts, retries: 1 << 15, retention: RETENTION, ..InNicConfig::default() }
}

fn reference(limits: Limits) -> Reference {
    Reference::new(Ledger::new(limits, Secret::from_seed([3; 16])).unwrap())
}

/// Compares the results of a request to an in-NIC ledger.
fn check_in_nic(
    engine: &mut Engine,
    reference: &mut Reference,
    request: CompactFrame,
) -> (CompactFrame, Option<Committed>) {
    let frame = frame(&request);
    assert_eq!(reference.request(&frame), Some(request));
    let (reply, recorded) = reference.execute(&request);
    let (answer, committed) = engine.answer(&frame).expect("an answer");
    assert_eq!(answer, reference.turned(&frame, &reply));
    assert_eq!(committed.is_some(), recorded.is_some());
    if let (Some(committed), Some((operation, value))) = (&committed, recorded) {
        assert_eq!((committed.status, committed.value), (operation.status.get(), value));
        assert_eq!(committed.sequence, reference.ledger.last_sequence());
    }
    (reply, committed)
}

/// An engine restored from another's journal: its accounts lie elsewhere, as its secret differs.
fn restored(reference: &Reference, journal: &[Committed]) -> Engine {
    let mut engine = Engine::in_nic(&in_nic(LIMITS.accounts), [5, 6]).unwrap();
    let store = engine.store_mut().unwrap();
    for (account, balance) in reference.ledger.iter() {
        assert!(store.insert(account.to_compact().unwrap(), balance));
    }
    store.begin_after(reference.ledger.last_sequence());
    let now = Tick::after(Duration::ZERO);
    assert!(journal.iter().all(|committed| store.remember(committed, now, now)));
    engine
}

fn check_balances(engine: &Engine, reference: &Reference) {
    let Tables::InNic(store) = engine.tables() else { panic!("an in-NIC ledger") };
    let mut found: Vec<_> = store.balances().collect();
    let accounts = reference.ledger.iter();
    let mut expected: Vec<_> = accounts.map(|(account, balance)| (account.to_compact().unwrap(), balance)).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

fn golden(name: &str) -> Vec<CompactFrame> {
    let path = format!("{}/../../vectors/ledger/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let bytes = |line: &str| -> Vec<u8> {
        (0..CompactFrame::LENGTH).map(|at| u8::from_str_radix(&line[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let lines = text.lines().filter(|line| !line.starts_with("//"));
    lines.map(|line| CompactFrame::read_from_bytes(&bytes(line)).unwrap()).collect()
}

#[test]
fn the_golden_talk_in_compact_frames() {
    let limits = Limits { accounts: 4096, retries: retries::Limits::with_operations(1 << 16) };
    let mut engine = Engine::in_nic(&in_nic(limits.accounts), SECRET).unwrap();
    let mut reference = reference(limits);
    for (request, reply) in golden("compact_requests.hex").into_iter().zip(golden("compact_replies.hex")) {
        assert_eq!(check_in_nic(&mut engine, &mut reference, request).0, reply);
    }
    check_balances(&engine, &reference);
}

#[test]
fn many_accounts_overflow_their_buckets() {
    // One more than fits, in 4096 buckets of four.
    let limits = Limits { accounts: 8192, retries: retries::Limits::with_operations(1 << 16) };
    let mut engine = Engine::in_nic(&in_nic(limits.accounts), SECRET).unwrap();
    let mut reference = reference(limits);
    for account in 0..=8192 {
        check_in_nic(&mut engine, &mut reference, CompactFrame::new(Command::Create, account, account, 0, 0));
    }
    check_balances(&engine, &reference);
}

#[test]
fn as_many_accounts_as_there_may_be_are_put_back() {
    for secret in [SECRET, [0, 0]] {
        let mut engine = Engine::in_nic(&in_nic(8192), secret).unwrap();
        let store = engine.store_mut().unwrap();
        assert!((0..8192).all(|account| store.insert(account, account.into())));
        assert!(!store.insert(8192, 0), "one too many");
        for account in 0..8192 {
            let (reply, _) = engine.answer(&frame(&CompactFrame::new(Command::Refer, 1, account, 0, 0))).unwrap();
            let reply = CompactFrame::read_from_bytes(&reply[reply.len() - CompactFrame::LENGTH..]).unwrap();
            assert_eq!((reply.status(), reply.value()), (Ok(Status::Ok), account));
        }
        let create = CompactFrame::new(Command::Create, 1, 8192, 0, 0);
        assert_eq!(engine.answer(&frame(&create)).unwrap().1.unwrap().status, Status::TableFull.code());
    }
}

#[test]
fn numbers_in_a_row_find_room_under_any_secret() {
    let secrets = [[0, 0], [0, 1], [0, 1 << 32], [u64::MAX, u64::MAX], SECRET];
    for (secret, step) in secrets.into_iter().flat_map(|secret| [1, 1 << 8, 1 << 19].map(|step| (secret, step))) {
        let mut engine = Engine::in_nic(&in_nic(8192), secret).unwrap();
        for number in 0..8192 {
            let create = CompactFrame::new(Command::Create, number, number * step, 0, 0);
            assert!(engine.answer(&frame(&create)).is_some(), "secret {secret:x?}, account {number} of {step} apart");
        }
    }
}

/// An engine's answer, and the sequence if it executed the request.
fn ask(engine: &mut Engine, request: &CompactFrame) -> (CompactFrame, Option<u64>) {
    let (reply, committed) = engine.answer(&frame(request)).expect("an answer");
    let reply = CompactFrame::read_from_bytes(&reply[reply.len() - CompactFrame::LENGTH..]).unwrap();
    (reply, committed.map(|committed| committed.sequence))
}

/// One account takes all of the memory, in bursts that arrive faster than operations may be forgotten.
#[test]
fn nothing_younger_than_the_retention_is_forgotten() {
    let config = InNicConfig { retries: 4096, ..in_nic(64) };
    let mut engine = Engine::in_nic(&config, SECRET).unwrap();
    ask(&mut engine, &CompactFrame::new(Command::Create, 0, 7, 0, 0));
    let issue = |transaction| CompactFrame::new(Command::Issue, transaction, 7, 0, 1);
    // With the second in which they were executed.
    let mut executed = Vec::<(u64, CompactFrame, CompactFrame)>::new();
    let (mut next, mut busy, mut balance) = (1, 0, 0);
    for second in 0..40 {
        engine.now = Tick::after(Duration::from_secs(second));
        let mut taken = 0;
        for request in (next..next + 1000).map(issue) {
            let (reply, sequence) = ask(&mut engine, &request);
            if sequence.is_none() {
                assert_eq!((reply.status(), reply.value()), (Ok(Status::Busy), 0));
                busy += 1;
                continue;
            }
            balance += 1;
            taken += 1;
            assert_eq!((reply.status(), reply.value()), (Ok(Status::Ok), balance));
            executed.push((second, request, reply));
        }
        next += 1000;
        executed.retain(|(since, ..)| second - since <= RETENTION.as_secs());
        for (since, request, reply) in &executed {
            assert_eq!(ask(&mut engine, request), (*reply, None), "in second {second}, from second {since}");
        }
        // It is full after four seconds.
        assert!(second >= 3 || taken > 990, "{taken} in second {second}");
    }
    assert!(busy > 20_000 && balance > 8_000, "{busy} were refused, {balance} executed");
    assert_eq!(ask(&mut engine, &CompactFrame::new(Command::Refer, 1, 7, 0, 0)).0.value(), balance);
}

/// When the lower bits of sequences, and of times, wrap around.
#[test]
fn it_goes_on_where_numbers_come_again() {
    for (sequence, time) in [(u64::from(u32::MAX) - 1000, 1 << 24), (u64::from(i32::MAX as u32) - 1000, (1 << 24) - 3)]
    {
        let mut engine = Engine::in_nic(&InNicConfig { retries: 4096, ..in_nic(64) }, SECRET).unwrap();
        engine.store_mut().unwrap().begin_after(sequence);
        let tick = Duration::from_nanos(1 << 24);
        let mut last = VecDeque::new();
        for number in 0..20_000_u32 {
            engine.now = Tick::after(tick * (time + number / 2));
            let request = CompactFrame::new(Command::Issue, number, 7, 0, 1);
            let (reply, executed) = ask(&mut engine, &request);
            assert_eq!(executed, Some(sequence + 1 + u64::from(number)), "{:?}", reply.status());
            last.push_back((request, reply));
            if last.len() > 1000 {
                last.pop_front();
            }
            let (request, reply) = last[number as usize % last.len()];
            assert_eq!(ask(&mut engine, &request), (reply, None));
        }
    }
}

#[test]
fn what_is_put_back_is_as_old_as_it_was() {
    let mut engine = Engine::in_nic(&InNicConfig { retries: 4096, ..in_nic(64) }, SECRET).unwrap();
    let store = engine.store_mut().unwrap();
    assert!(store.insert(7, 5000));
    store.begin_after(9000);
    let (now, first) = (Tick::after(Duration::from_secs(3)), 9000 - 3000);
    for sequence in first..=9000_u64 {
        let committed = Committed {
            sequence,
            value: 1 << 40,
            command: Command::Issue.code().into(),
            transaction: sequence as u32,
            source: 7,
            destination: 0,
            amount: 1,
            status: 0,
        };
        // From before the clock started.
        assert!(store.remember(&committed, now.before(Duration::from_secs(5)), now));
    }
    let issue = |transaction| CompactFrame::new(Command::Issue, transaction, 7, 0, 1);
    for (second, is_young) in [(3, true), (8, true), (11, false)] {
        engine.now = Tick::after(Duration::from_secs(second));
        for transaction in (first as u32..=9000).step_by(100) {
            let (reply, executed) = ask(&mut engine, &issue(transaction));
            assert_eq!((executed, reply.value()), (None, u32::MAX), "second {second}");
        }
        let fresh =
            (0..2000).filter(|number| ask(&mut engine, &issue(20_000 + second as u32 * 2000 + number)).1.is_some());
        assert_eq!(fresh.count() > 1500, !is_young, "there is room where it may be forgotten");
    }
}

/// The folded 16 bits of a sum are congruent to it (RFC 1071), and 0 only if it is. One sum in 65,536 has a carry of a
/// carry, so the edges of all parts are tested.
#[test]
fn a_sum_loses_no_carry() {
    let parts = (0..=4).chain(0x7ffe..=0x8001).chain(0xfffb..=0xffff_u64);
    let two = parts.clone().flat_map(|high| parts.clone().map(move |middle| high << 32 | middle << 16));
    for sum in two.flat_map(|upper| parts.clone().map(move |low| upper | low)) {
        let folded = u64::from(fold_sum(sum));
        assert_eq!((folded % 0xffff, folded == 0), (sum % 0xffff, sum == 0), "{sum:#x}");
    }
}

/// The largest value and a status: their sum exceeds 32 bits.
#[test]
fn the_checksum_of_a_refusal_with_a_large_balance() {
    let (mut engine, ledger) = Engine::tier(LIMITS, [3; 16]).unwrap();
    let mut reference = Reference::new(ledger);
    reference.execute(&CompactFrame::new(Command::Create, 1, 7, 0, 0));
    reference.execute(&CompactFrame::new(Command::Issue, 2, 7, 0, u32::MAX));
    let again = CompactFrame::new(Command::Create, 3, 7, 0, 0);
    let (reply, _) = reference.execute(&again);
    assert_eq!((reply.value(), reply.status()), (u32::MAX, Ok(Status::AccountExists)));
    let frame = frame(&again);
    assert_eq!(engine.answer(&frame).unwrap().0, reference.turned(&frame, &reply));
}

/// A step of a random sequence: command, source, destination, amount, how far back the transaction id was used.
type Step = (u8, u32, u32, u32, u32);

fn talk() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((1_u8..5, 0_u32..70, 0_u32..80, 1_u32..1 << 31, 0_u32..8), 1..1500)
}

/// The well-formed requests of a sequence.
fn requests(steps: Vec<Step>) -> impl Iterator<Item = CompactFrame> {
    let request = |((command, source, destination, amount, back), number): (Step, u32)| {
        let command = Command::try_from(command).unwrap();
        let (destination, amount) = match command {
            Command::Transfer => (destination, amount),
            Command::Issue => (0, amount),
            Command::Create | Command::Refer => (0, 0),
            Command::Hold | Command::Capture | Command::Release | Command::Reclaim => unreachable!("not compact"),
            Command::Freeze | Command::Unfreeze | Command::Close | Command::Open => unreachable!("not compact"),
        };
        CompactFrame::new(command, number - back, source, destination, amount)
    };
    steps.into_iter().zip(100..).map(request).filter(|request| request.check() == Status::Ok)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn the_in_nic_ledger_is_the_rust_one(steps in talk(), stop: prop::sample::Index) {
        let mut engine = Engine::in_nic(&in_nic(LIMITS.accounts), SECRET).unwrap();
        let (mut reference, mut journal) = (reference(LIMITS), Vec::new());
        let stop = stop.index(steps.len());
        for (number, request) in requests(steps).enumerate() {
            if number == stop {
                engine = restored(&reference, &journal);
                check_balances(&engine, &reference);
            }
            journal.extend(check_in_nic(&mut engine, &mut reference, request).1);
        }
        check_balances(&engine, &reference);
    }

    /// The tier reads the Rust ledger's own tables: it gives the same answers, or none.
    #[test]
    fn the_tier_answers_as_the_ledger(steps in talk()) {
        let (mut engine, ledger) = Engine::tier(LIMITS, [3; 16]).unwrap();
        let mut reference = Reference::new(ledger);
        for request in requests(steps) {
            let frame = frame(&request);
            let answer = engine.answer(&frame);
            let (reply, recorded) = reference.execute(&request);
            // An account that the tier does not find may be frozen.
            let is_missing = request.command() == Ok(Command::Refer) && reply.status() == Ok(Status::SourceUnknown);
            let is_reused = reply.status() == Ok(Status::TransactionIdReused);
            let is_known = recorded.is_none() && !is_reused && !is_missing;
            prop_assert_eq!(answer.is_some(), is_known);
            if let Some((answer, _)) = answer {
                prop_assert_eq!(answer, reference.turned(&frame, &reply));
            }
        }
    }
}
