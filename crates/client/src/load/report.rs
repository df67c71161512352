//! Results of a load run.

use std::time::Duration;

use hdrhistogram::Histogram;
use wire::{Promise, Status};

use crate::{Completion, Failure};

/// Minimum of the measured latencies, in nanoseconds.
const LATENCY_LOW: u64 = 100;

/// Maximum of the measured latencies, in nanoseconds: ten minutes, beyond any timeout.
const LATENCY_HIGH: u64 = 600_000_000_000;

/// Limit of status codes.
const CODES: usize = 128;

/// Counts of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Operations sent.
    pub sent: u64,
    /// Operations answered, with any status.
    pub answered: u64,
    /// Operations without an answer to any attempt.
    pub lost: u64,
    /// Datagrams sent, without repetitions.
    pub datagrams: u64,
    /// Repeated datagrams.
    pub retries: u64,
    /// The weakest promise of the replies. `None` if no reply carried one: replies to compact frames do not.
    pub promise: Option<Promise>,
    /// Invalid answers: proofs that do not verify, operations with another id.
    pub wrong: u64,
    /// Time from the first request to the last reply.
    pub elapsed: Duration,
    /// Nanoseconds from when a datagram was due to its reply.
    pub latency: Histogram<u64>,
    statuses: [u64; CODES],
}

impl Default for Report {
    fn default() -> Self {
        // Three digits are as precise as a measurement can be repeated. The bounds are valid; if they were not, the
        // histogram would grow by itself.
        let latency = Histogram::new_with_bounds(LATENCY_LOW, LATENCY_HIGH, 3).unwrap_or_else(|_| auto_histogram());
        Self {
            sent: 0,
            answered: 0,
            lost: 0,
            datagrams: 0,
            retries: 0,
            promise: None,
            wrong: 0,
            elapsed: Duration::ZERO,
            latency,
            statuses: [0; CODES],
        }
    }
}

impl Report {
    /// Operations that succeeded.
    pub fn ok(&self) -> u64 {
        self.count(Status::Ok)
    }

    /// Operations answered with a status.
    pub fn count(&self, status: Status) -> u64 {
        self.statuses.get(usize::from(status.code())).copied().unwrap_or(0)
    }

    /// All statuses that occurred, with their counts.
    pub fn statuses(&self) -> impl Iterator<Item = (Status, u64)> {
        Status::ALL.iter().map(|&status| (status, self.count(status))).filter(|(_, count)| *count > 0)
    }

    /// Operations answered per second.
    pub fn rate(&self) -> f64 {
        self.answered as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The latency within which this share of the datagrams was answered.
    pub fn latency_at(&self, quantile: f64) -> Duration {
        Duration::from_nanos(self.latency.value_at_quantile(quantile))
    }

    /// Counts the promise of a reply.
    #[inline]
    pub(super) fn promised(&mut self, promise: Promise) {
        let weakest = self.promise.filter(|weakest| weakest.code() <= promise.code());
        self.promise = weakest.or(Some(promise));
    }

    /// Counts operations answered with a status.
    #[inline]
    pub fn add(&mut self, status: Status, operations: u64) {
        self.answered += operations;
        if let Some(count) = self.statuses.get_mut(usize::from(status.code())) {
            *count += operations;
        }
    }

    /// Counts the end of a request; the workload counts the operations of a reply.
    #[inline]
    pub(super) fn take(&mut self, completion: &Completion<'_>) {
        match completion.reply {
            Ok(_) => {
                let nanoseconds = u64::try_from(completion.latency.as_nanos()).unwrap_or(u64::MAX);
                self.latency.saturating_record(nanoseconds.clamp(LATENCY_LOW, LATENCY_HIGH));
            }
            Err(Failure::Refused(status)) => self.add(status, completion.tag),
            Err(Failure::NoReply) => self.lost += completion.tag,
        }
    }
}

#[expect(clippy::expect_used, reason = "three significant digits are among the five that there are")]
fn auto_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_counter() {
        let mut report = Report::default();
        for status in Status::ALL {
            report.add(*status, 2);
            assert_eq!(report.count(*status), 2);
        }
        assert_eq!(report.statuses().count(), Status::ALL.len());
        assert_eq!(report.answered, 2 * Status::ALL.len() as u64);
    }
}
