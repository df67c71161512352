//! Histograms of durations, which any thread can add to and read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The upper bounds of the buckets, in microseconds: three per decade, from a reply from memory to longer than any
/// client waits.
pub const BOUNDS: [u64; 17] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

/// A histogram of durations, by [`BOUNDS`].
#[derive(Debug, Default)]
pub struct Histogram {
    /// One for each bound, and one for durations above the last.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

/// The counts of a histogram at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistogramSnapshot {
    /// Number of durations up to each of [`BOUNDS`], in the same order, and, last, of all durations.
    pub cumulative: [u64; BOUNDS.len() + 1],
    /// Their sum.
    pub sum: Duration,
}

impl Histogram {
    /// Adds a duration a number of times.
    pub fn record(&self, duration: Duration, times: u64) {
        if times == 0 {
            return;
        }
        let nanoseconds = duration.as_nanos() as u64;
        let bucket = BOUNDS.partition_point(|bound| bound * 1000 < nanoseconds);
        self.buckets[bucket].fetch_add(times, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds.saturating_mul(times), Relaxed);
    }

    /// The current counts. A duration added meanwhile may be in the buckets and not yet in the sum.
    pub fn snapshot(&self) -> HistogramSnapshot {
        let mut sum = 0;
        let cumulative = self.buckets.each_ref().map(|bucket| {
            sum += bucket.load(Relaxed);
            sum
        });
        HistogramSnapshot { cumulative, sum: Duration::from_nanos(self.nanoseconds.load(Relaxed)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_that_is_not_below_it() {
        let histogram = Histogram::default();
        histogram.record(Duration::from_micros(50), 1);
        histogram.record(Duration::from_nanos(50_001), 2);
        histogram.record(Duration::from_secs(10), 3);
        histogram.record(Duration::from_secs(11), 4);
        histogram.record(Duration::ZERO, 0);
        let HistogramSnapshot { cumulative, sum } = histogram.snapshot();
        assert_eq!(cumulative[..3], [1, 3, 3]);
        assert_eq!(cumulative[15..], [3, 6, 10]);
        assert_eq!(sum, Duration::from_micros(50) + 2 * Duration::from_nanos(50_001) + Duration::from_secs(74));
    }
}
