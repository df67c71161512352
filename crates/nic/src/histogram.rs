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

impl HistogramSnapshot {
    /// The durations that were added after an earlier snapshot of the same histogram.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut cumulative = self.cumulative;
        for (count, before) in cumulative.iter_mut().zip(&earlier.cumulative) {
            *count -= before;
        }
        Self { cumulative, sum: self.sum.saturating_sub(earlier.sum) }
    }

    /// The duration that a share of all durations, from 0 to 1, does not exceed; `None` without durations.
    ///
    /// Interpolates linearly within a bucket, like Prometheus's `histogram_quantile`. Returns at most the last of
    /// [`BOUNDS`].
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all = *self.cumulative.last()?;
        if all == 0 {
            return None;
        }
        let rank = share * all as f64;
        let bucket = self.cumulative.partition_point(|count| (*count as f64) < rank);
        let Some(above) = BOUNDS.get(bucket) else { return BOUNDS.last().map(|last| Duration::from_micros(*last)) };
        let (below, before) = match bucket.checked_sub(1) {
            Some(previous) => (BOUNDS[previous], self.cumulative[previous]),
            None => (0, 0),
        };
        let part = (rank - before as f64) / (self.cumulative[bucket] - before).max(1) as f64;
        Some(Duration::from_secs_f64((below as f64 + part * (above - below) as f64) / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_within_its_bucket() {
        let histogram = Histogram::default();
        assert_eq!(histogram.snapshot().quantile(0.5), None);
        histogram.record(Duration::from_micros(70), 90);
        histogram.record(Duration::from_millis(3), 10);
        let first = histogram.snapshot();
        assert_eq!(first.quantile(0.45), Some(Duration::from_micros(75)));
        assert_eq!(first.quantile(0.9), Some(Duration::from_micros(100)));
        assert_eq!(first.quantile(1.0), Some(Duration::from_millis(5)));
        histogram.record(Duration::from_secs(60), 1);
        let later = histogram.snapshot().since(&first);
        assert_eq!((later.quantile(0.0), later.quantile(0.99)), (Some(Duration::ZERO), Some(Duration::from_secs(10))));
        assert_eq!(later.sum, Duration::from_secs(60));
    }

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
