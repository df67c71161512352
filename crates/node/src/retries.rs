//! Figures of the memory of retries.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ledger::retries::Fill;

/// The kinds of operations that are remembered apart.
pub(crate) const KINDS: [&str; 2] = ["unsigned", "signed"];

/// The fill of the memory of retries. One thread writes it and any thread reads it.
#[derive(Debug, Default)]
pub struct RetryFigures([Figures; KINDS.len()]);

#[derive(Debug, Default)]
struct Figures {
    operations: AtomicU64,
    capacity: AtomicU64,
    age: AtomicU64,
}

impl RetryFigures {
    /// Publishes how full the memory is: for unsigned operations, and for signed ones.
    pub fn tell(&self, fills: [Fill; KINDS.len()]) {
        for (figures, fill) in self.0.iter().zip(fills) {
            figures.operations.store(fill.operations as u64, Relaxed);
            figures.capacity.store(fill.capacity as u64, Relaxed);
            figures.age.store(fill.age, Relaxed);
        }
    }

    /// How full the memory is, as published last.
    pub(crate) fn fills(&self) -> [Fill; KINDS.len()] {
        self.0.each_ref().map(|Figures { operations, capacity, age }| Fill {
            operations: operations.load(Relaxed) as usize,
            capacity: capacity.load(Relaxed) as usize,
            age: age.load(Relaxed),
        })
    }
}
