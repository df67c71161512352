//! What a replica's retries are answered from, as one hash that all replicas come to.
//!
//! No header of the chain covers it: the operations that were refused are in no block, and neither are values of replies. So what
//! replicas agree on has this hash as well, and a replica that joins can check what others give it.
//!
//! Time is divided into periods. The batches of a period are chained by their hashes, and the hash of all is that of the periods that
//! are not over: those that memory of [retries](crate::retries) reaches back to. The newest one stays when it is over, as a ledger is
//! recovered from some batch. It follows from the blocks alone, whenever a replica was started.

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

/// Periods that memory reaches back over. A replica that joins gets a part in so many more than it needs, and each block costs the
/// hash of so many.
const PERIODS: u64 = 64;

/// The batches of a period.
#[derive(Clone, Copy, Debug, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Period {
    /// The period's time over its length.
    number: U64,
    /// Of all operations before it.
    before: Newest,
    /// Of its batches.
    hash: Hash,
}

/// What a batch begins with, as it is hashed.
#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct BatchStart {
    /// Of the batches of the period before it; zeros for the first.
    before: Hash,
    /// Microseconds since the Unix epoch.
    time: U64,
    records: U32,
    tails: U32,
}

/// The batches that retries are answered from.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    /// How far memory reaches back, and the length of a period, in microseconds.
    reach: u64,
    length: u64,
    /// Ascending; at least one where there was a batch.
    periods: VecDeque<Period>,
}

impl Recent {
    /// No batches.
    pub fn new(limits: &Limits) -> Self {
        let reach = limits.reach();
        Self { reach, length: period(reach), periods: VecDeque::new() }
    }

    /// Takes the next batch, which has at least one operation. `before` are the newest times of all operations before it.
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

    /// Forgets the periods that are over.
    pub fn forget(&mut self, time: u64) {
        let first = self.first_number(time);
        while self.periods.len() > 1 && self.periods.front().is_some_and(|period| period.number.get() < first) {
            self.periods.pop_front();
        }
    }

    /// The hash as of a time, not before that of the last batch.
    pub fn hash(&self, time: u64) -> Hash {
        let left: Vec<Period> = self.left(time).copied().collect();
        recent_hash(left.as_bytes())
    }

    /// The periods that count as of a time.
    fn left(&self, time: u64) -> impl Iterator<Item = &Period> {
        let first = self.first_number(time);
        let over = self.periods.iter().take_while(|period| period.number.get() < first).count();
        self.periods.iter().skip(over.min(self.periods.len().saturating_sub(1)))
    }

    /// Since when batches count as of a time, in microseconds since the Unix epoch.
    fn counts_from(&self, time: u64) -> u64 {
        let first = self.left(time).next().map(|period| period.number.get() * self.length);
        self.since(time).min(first.unwrap_or(u64::MAX))
    }

    /// Whether all that counts as of a time is later than a batch: others of the same microsecond may lie before it.
    pub fn is_behind(&self, began: u64, time: u64) -> bool {
        self.counts_from(time) > began
    }

    /// When the first period begins that counts as of a time, unless no batch came since.
    pub fn since(&self, time: u64) -> u64 {
        self.first_number(time) * self.length
    }

    /// When the period of a time begins.
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

/// How far back batches are to be kept and read, in microseconds before the last one: so that all are there that count, as of the
/// blocks of the last period as well.
pub(crate) fn reach(limits: &Limits) -> u64 {
    limits.reach() + 2 * period(limits.reach())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use wire::Operation;

    /// Periods of a second and a bit, as memory reaches back over 66 s.
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
        // The last one stays, however long ago it was.
        let time = 5000 * SECOND;
        recent.forget(time);
        assert_eq!(recent.periods.len(), 1);
        assert_eq!(recent.counts_from(time), recent.periods[0].number.get() * recent.length);
        assert_eq!(recent.period_of(recent.counts_from(time) + recent.length - 1), recent.counts_from(time));
        assert_eq!(recent.hash(time), recent_hash(recent.periods[0].as_bytes()));
    }

    /// All that counts as of any block of the last period, and not more than that by a period.
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
