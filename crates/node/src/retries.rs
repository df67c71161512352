//! Figures of the memory of retries.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ledger::retries::Fill;

use crate::metrics::Metrics;

/// The kinds of operations that are remembered apart.
const KINDS: [&str; 2] = ["unsigned", "signed"];

/// How full the memory of retries is. One thread writes them and any thread reads.
#[derive(Debug, Default)]
pub struct RetryFigures([Figures; KINDS.len()]);

#[derive(Debug, Default)]
struct Figures {
    operations: AtomicU64,
    capacity: AtomicU64,
    age: AtomicU64,
}

impl RetryFigures {
    /// Tells how full it is: for operations without a signature, and for signed ones.
    pub fn tell(&self, fills: [Fill; KINDS.len()]) {
        for (figures, fill) in self.0.iter().zip(fills) {
            figures.operations.store(fill.operations as u64, Relaxed);
            figures.capacity.store(fill.capacity as u64, Relaxed);
            figures.age.store(fill.age, Relaxed);
        }
    }

    /// Writes them as Prometheus reads them.
    pub(crate) fn write(&self, metrics: &mut Metrics) {
        let each = |figure: fn(&Figures) -> &AtomicU64| {
            KINDS.iter().zip(&self.0).map(move |(kind, figures)| ([*kind], figure(figures).load(Relaxed)))
        };
        let remembered = each(|figures| &figures.operations);
        metrics.gauges("retry_operations", "Operations remembered for retries.", ["kind"], remembered);
        let capacity = each(|figures| &figures.capacity);
        metrics.gauges("retry_capacity", "Operations that can be remembered; one more is BUSY.", ["kind"], capacity);
        let ages = each(|figures| &figures.age);
        metrics.gauges("retry_age_microseconds", "Age of the oldest one remembered.", ["kind"], ages);
    }
}
