use std::collections::HashMap;

use proptest::prelude::*;
use wire::U64;

use super::*;
use crate::testing::transfer;

const LIMITS: Limits = Limits::with_operations(MIN_CAPACITY);

fn retries(limits: &Limits, seed: u8) -> Retries {
    Retries::new(limits, 77, &Secret::from_seed([seed; 16]), None).unwrap()
}

fn record(operation: &Operation, value: u64) -> Record {
    Record { operation: *operation, value: U64::new(value) }
}

fn at(elapsed: u64) -> Now {
    Now { elapsed, unix: elapsed }
}

/// Records of every sequence, as a journal would return them, and the number of reads.
#[derive(Debug, Default)]
struct Records(std::sync::Arc<std::sync::Mutex<(Vec<Record>, usize)>>);

impl Recall for Records {
    fn recall(&mut self, sequence: u64) -> Option<Record> {
        let mut records = self.0.lock().unwrap();
        records.1 += 1;
        records.0.get(sequence as usize - 77).copied()
    }
}

/// The reach is the longer of the two times, plus a stretch; signers' clocks may be two seconds ahead.
#[test]
fn a_window_reaches_back_to_what_is_not_over() {
    let seconds = |retention, replay| {
        let [retention, replay] = [retention, replay].map(Duration::from_secs);
        Limits { retention, replay, ..LIMITS }.reach() as f64 / 1e6
    };
    let stretches = window::STRETCHES as f64;
    assert_eq!(seconds(640, 64), 640.0 + 640.0 / stretches);
    assert_eq!(seconds(64, 640), 640.0 + 2.0 + 640.0 / stretches);
}

#[test]
fn what_is_over_is_forgotten_and_nothing_before() {
    let mut retries = retries(&LIMITS, 1);
    let [plain, signed] = [transfer(1, 2, 3, 4), transfer(5, 2, 3, 4)];
    let [plain_hash, signed_hash] = [&plain, &signed].map(|operation| retries.hash(operation));
    let signed_at = micros(CLOCK_TOLERANCE);
    retries.push(plain_hash, 77, &record(&plain, 9), 0, 0);
    retries.push(signed_hash, 78, &record(&signed, 8), signed_at, 0);
    let mut known = |operation: &Operation, hash, signed_at, now| {
        retries.forget(now);
        retries.known(hash, operation, signed_at, now)
    };
    // For an unsigned operation the stretch of its execution counts.
    let last = grain(LIMITS.retention) + micros(LIMITS.retention);
    let until = |elapsed| Now { elapsed, unix: 0 };
    assert_eq!(known(&plain, plain_hash, 0, until(last)), Known::Executed(Status::Ok, 9));
    assert_eq!(known(&plain, plain_hash, 0, until(last + 1)), Known::New);
    let last = signed_at + micros(LIMITS.replay);
    let until = |unix| Now { elapsed: 0, unix };
    assert_eq!(known(&signed, signed_hash, signed_at, until(last)), Known::Executed(Status::Ok, 8));
    assert_eq!(known(&signed, signed_hash, signed_at, until(last + 1)), Known::Refused(Status::StaleTimestamp));
}

#[test]
fn a_match_is_compared_in_full() {
    let mut retries = retries(&LIMITS, 1);
    let base = transfer(1, 2, 3, 4);
    let hash = retries.hash(&base);
    retries.push(hash, 77, &record(&base, 9), 0, 0);
    assert_eq!(retries.known(hash, &base, 0, at(1)), Known::Executed(Status::Ok, 9));
    let mut others = vec![transfer(1, 2, 4, 4), transfer(1, 2, 3, 5)];
    others.push(Operation { command: 2, ..base });
    others.push(Operation { flags: 1, ..base });
    others.push(Operation { contract: 9.into(), ..base });
    for other in &others {
        assert_eq!(retries.known(hash, other, 0, at(1)), Known::Refused(Status::TransactionIdReused));
    }
    // An equal hash is not enough, not even all of it.
    for other in [transfer(2, 2, 3, 4), transfer(1, 5, 3, 4)] {
        assert_eq!(retries.known(hash, &other, 0, at(1)), Known::New);
    }
}

/// Records that memory no longer holds come from the journal; without a record nothing is executed.
#[test]
fn old_records_are_recalled() {
    let limits = Limits { operations: 3 * RECENT, ..LIMITS };
    let mut retries = retries(&limits, 2);
    let records = Records::default();
    let operations: Vec<_> = (0..RECENT as u64 + 1000).map(|id| transfer(id, id % 50, 3, 4)).collect();
    for (operation, sequence) in operations.iter().zip(77..) {
        let record = record(operation, sequence);
        records.0.lock().unwrap().0.push(record);
        let hash = retries.hash(operation);
        retries.push(hash, sequence, &record, 0, 0);
    }
    let ask = |retries: &mut Retries, at_: usize| {
        let operation = &operations[at_];
        retries.known(retries.hash(operation), operation, 0, at(1))
    };
    assert_eq!(ask(&mut retries, 3), Known::Refused(Status::Busy));
    assert_eq!(ask(&mut retries, 1000), Known::Executed(Status::Ok, 1077));
    let shared = records.0.clone();
    retries.set_recall(Box::new(records));
    for index in 0..1000 {
        assert_eq!(ask(&mut retries, index), Known::Executed(Status::Ok, 77 + index as u64));
    }
    assert_eq!(shared.lock().unwrap().1, 1000, "only what is not in memory is asked for");
    // A record that does not match is damaged: the operation may be the same.
    shared.lock().unwrap().0[5].operation.source = 4_u32.into();
    assert_eq!(ask(&mut retries, 5), Known::Refused(Status::Busy));
}

/// The defaults keep their promise: 3 million operations per second for ten seconds, in 512 MiB.
#[test]
fn records_are_small() {
    let sizes = Memory::sizes(&Limits::with_operations(30_000_000));
    assert!(sizes.iter().sum::<usize>() <= 512 << 20, "{sizes:?}");
}

#[test]
fn every_record_that_is_not_in_the_journal_is_in_memory() {
    let batch = crate::journal::Options::new([0; 32]).batch_bytes;
    assert!(RECENT >= 2 * batch.div_ceil(Record::LENGTH));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn behaves_like_a_map_of_what_is_young(
        steps in prop::collection::vec((0u64..3000, 0u64..4, prop_oneof![9 => 0u64..2, 1 => 0u64..200_000]), 1..6000), seed: u8,
    ) {
        // A second: 64 stretches of 15,625 microseconds.
        let limits = Limits { retention: Duration::from_secs(1), ..LIMITS };
        let mut retries = retries(&limits, seed);
        let mut known: HashMap<_, (u64, u64)> = HashMap::new();
        let (mut now, mut sequence) = (0, 77);
        for (id, source, passed) in steps {
            now += passed;
            let operation = transfer(id, source, 9, 1);
            let hash = retries.hash(&operation);
            retries.forget(at(now));
            let done = known.get(&(id, source)).copied();
            match retries.known(hash, &operation, 0, at(now)) {
                Known::Executed(_, value) => {
                    let (first, executed) = done.unwrap();
                    prop_assert_eq!(value, first);
                    prop_assert!(now - executed <= 1_000_000 + 1_000_000 / window::STRETCHES, "kept for too long");
                }
                Known::New => {
                    prop_assert!(done.is_none_or(|(_, executed)| now - executed > 1_000_000), "forgotten too soon");
                    retries.push(hash, sequence, &record(&operation, sequence), 0, now);
                    known.insert((id, source), (sequence, now));
                    sequence += 1 + id % 3;
                }
                Known::Refused(status) => {
                    prop_assert_eq!(status, Status::Busy);
                    let young = known.values().filter(|(_, executed)| now - executed <= 1_020_000).count();
                    prop_assert!(young >= MIN_CAPACITY, "{} are no reason", young);
                }
            }
        }
    }
}
