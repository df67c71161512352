//! One hash of the operations that a replica answers retries from; all replicas compute the same.
//!
//! No header of the chain covers it: refused operations are in no block, and neither are reply values. So the statement
//! that replicas agree on includes this hash as well, and a joining replica can verify the data that it receives.
//!
//! - Time is divided into periods. The batches of a period are chained by their hashes.
//! - The hash covers the periods that are not over: those that the memory of [retries](crate::retries) reaches back to.
//!   The newest period stays even when it is over, because a ledger is recovered from some batch.
//! - It follows from the blocks alone, whenever a replica was started.

use std::collections::VecDeque;

use spv::{
    Hash, ZERO_HASH,
    hash::{recent_batch_hash, recent_hash},
};
use wire::U64;
use zerocopy::{Immutable, IntoBytes, KnownLayout, Unaligned, byteorder::big_endian::U32};

use crate::{
    journal::{Newest, Record, Tail},
    retries::Limits,
};

/// Periods that the memory of retries spans. A joining replica receives at most a 64th more than it needs, and each
/// block costs the hash of 64 periods.
const PERIODS: u64 = 64;

/// The batches of a period.
#[derive(Clone, Copy, Debug, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Period {
    /// The period's time divided by its length.
    number: U64,
    /// Newest times of all operations before it.
    before: Newest,
    /// Hash of its batches.
    hash: Hash,
}

/// Start of a batch in its hashed form.
#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct BatchStart {
    /// Hash of the period's earlier batches; zeros for the first.
    before: Hash,
    /// Microseconds since the Unix epoch.
    time: U64,
    records: U32,
    tails: U32,
}

/// The batches that retries are answered from.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    /// How far the memory of retries reaches back, and the length of a period, in microseconds.
    reach: u64,
    length: u64,
    /// Ascending; at least one once there was a batch.
    periods: VecDeque<Period>,
}

impl Recent {
    /// Creates the state without batches.
    pub fn new(limits: &Limits) -> Self {
        let reach = limits.reach();
        Self { reach, length: period(reach), periods: VecDeque::new() }
    }

    /// Adds the next batch, which has at least one operation. `before` holds the newest times of all operations before
    /// it.
    pub fn take(&mut self, time: u64, before: Newest, (records, tails): (&[Record], &[Tail])) {
        assert!(!records.is_empty(), "a batch is not empty");
        let number = time / self.length;
        if self.periods.back().is_none_or(|last| last.number.get() < number) {
            self.periods.push_back(Period { number: number.into(), before, hash: ZERO_HASH });
        }
        let last = self.periods.back_mut().expect("it was pushed");
        assert_eq!(last.number.get(), number, "ordered time goes on");
        let (time, counts) = (time.into(), [records.len(), tails.len()].map(|count| U32::new(count as u32)));
        let start = BatchStart { before: last.hash, time, records: counts[0], tails: counts[1] };
        last.hash = recent_batch_hash(&[start.as_bytes(), records.as_bytes(), tails.as_bytes()]);
    }

    /// Removes the periods that are over.
    pub fn forget(&mut self, time: u64) {
        let first = self.first_number(time);
        while self.periods.len() > 1 && self.periods.front().is_some_and(|period| period.number.get() < first) {
            self.periods.pop_front();
        }
    }

    /// The hash as of `time`, which is not before that of the last batch.
    pub fn hash(&self, time: u64) -> Hash {
        let left: Vec<Period> = self.left(time).copied().collect();
        recent_hash(left.as_bytes())
    }

    /// The periods that count as of `time`.
    fn left(&self, time: u64) -> impl Iterator<Item = &Period> {
        let first = self.first_number(time);
        let over = self.periods.iter().take_while(|period| period.number.get() < first).count();
        self.periods.iter().skip(over.min(self.periods.len().saturating_sub(1)))
    }

    /// Start of the batches that count as of `time`, in microseconds since the Unix epoch.
    fn counts_from(&self, time: u64) -> u64 {
        let first = self.left(time).next().map(|period| period.number.get() * self.length);
        self.since(time).min(first.unwrap_or(u64::MAX))
    }

    /// Whether everything that counts as of `time` is later than a batch at `began`: others of the same microsecond may
    /// precede it.
    pub fn is_behind(&self, began: u64, time: u64) -> bool {
        self.counts_from(time) > began
    }

    /// Start of the first period that counts as of `time`, if a batch came since.
    pub fn since(&self, time: u64) -> u64 {
        self.first_number(time) * self.length
    }

    /// Start of the period that contains `time`.
    pub fn period_of(&self, time: u64) -> u64 {
        time / self.length * self.length
    }

    fn first_number(&self, time: u64) -> u64 {
        time.saturating_sub(self.reach) / self.length
    }
}

/// The length of a period, in microseconds.
fn period(reach: u64) -> u64 {
    reach.div_ceil(PERIODS).max(1)
}

/// How far back batches must be kept and read, in microseconds before the last one: all that count must be there, also
/// as of the blocks of the last period.
pub(crate) fn reach(limits: &Limits) -> u64 {
    limits.reach() + 2 * period(limits.reach())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use wire::Operation;

    /// Periods of slightly more than a second: the memory of retries reaches back over 66 s.
    const LIMITS: Limits =
        Limits { operations: 1024, retention: Duration::from_secs(64), signed: 1024, replay: Duration::from_secs(8) };
    const SECOND: u64 = 1_000_000;

    fn take(recent: &mut Recent, time: u64) {
        let operation = Operation::transfer(1_u32.into(), 1_u32.into(), 2_u32.into(), time);
        recent.take(time, Newest::default(), (&[Record { operation, value: U64::new(0) }], &[]));
    }

    #[test]
    fn batches_of_a_period_are_chained_and_periods_that_are_over_go() {
        let mut recent = Recent::new(&LIMITS);
        assert!((60 * SECOND..80 * SECOND).contains(&recent.reach), "{}", recent.reach);
        assert_eq!(recent.hash(5), recent_hash(&[]));
        for number in 0..1000 {
            let (time, before) = (1000 * SECOND + number * SECOND / 4, recent.periods.clone());
            take(&mut recent, time);
            let last = recent.periods.back().unwrap();
            assert_eq!(last.number.get(), time / recent.length);
            match before.back() {
                Some(before) if before.number == last.number => assert_ne!(before.hash, last.hash),
                _ => assert_eq!(recent.periods.len(), before.len() + 1),
            }
            let (hash, since) = (recent.hash(time), recent.counts_from(time));
            recent.forget(time);
            assert_eq!(recent.hash(time), hash, "what is over counts no more");
            assert_eq!(since, recent.since(time).min(recent.periods[0].number.get() * recent.length));
            assert!(recent.periods.len() <= PERIODS as usize + 2, "{}", recent.periods.len());
            assert!(recent.periods.len() > 60 || number < 300);
        }
        // The last one stays, however old it is.
        let time = 5000 * SECOND;
        recent.forget(time);
        assert_eq!(recent.periods.len(), 1);
        assert_eq!(recent.counts_from(time), recent.periods[0].number.get() * recent.length);
        assert_eq!(recent.period_of(recent.counts_from(time) + recent.length - 1), recent.counts_from(time));
        assert_eq!(recent.hash(time), recent_hash(recent.periods[0].as_bytes()));
    }

    /// The journal holds everything that counts as of any block of the last period, and at most one period more.
    #[test]
    fn a_journal_reaches_back_to_all_that_counts() {
        let recent = Recent::new(&LIMITS);
        let needed = |last: u64| last - recent.since(last - recent.length);
        let longest = (1000 * SECOND..1000 * SECOND + 2 * recent.length).map(needed).max().unwrap();
        assert!((longest..longest + recent.length).contains(&reach(&LIMITS)), "{} of {longest}", reach(&LIMITS));
    }

    #[test]
    fn what_counts_is_not_behind_a_batch_of_the_same_microsecond() {
        let mut recent = Recent::new(&LIMITS);
        let began = 1000 * recent.length;
        take(&mut recent, began);
        let time = began + recent.reach;
        assert!(!recent.is_behind(began, time));
        assert!(recent.is_behind(began - 1, time));
    }

    #[test]
    fn each_part_of_a_batch_counts() {
        let hash = |time: u64, amounts: &[u64]| {
            let mut recent = Recent::new(&LIMITS);
            for amount in amounts {
                let operation = Operation::transfer(1_u32.into(), 1_u32.into(), 2_u32.into(), *amount);
                recent.take(time, Newest::default(), (&[Record { operation, value: U64::new(*amount) }], &[]));
            }
            recent.hash(time)
        };
        let all = [hash(1, &[1]), hash(2, &[1]), hash(1, &[2]), hash(1, &[1, 1]), hash(1, &[1, 2]), hash(1, &[2, 1])];
        assert_eq!(std::collections::BTreeSet::from(all).len(), all.len());
    }
}
