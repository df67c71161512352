//! What a measurement gives.

use std::time::Duration;

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Transfers that were answered.
    pub operations: usize,
    /// In which time.
    pub elapsed: Duration,
    /// Median time from a transfer's sending to its answer.
    pub p50: Duration,
    /// The time that 1 in 100 exceeds.
    pub p99: Duration,
}

impl Sample {
    /// From the time of each transfer.
    pub fn new(mut latencies: Vec<Duration>, elapsed: Duration) -> Self {
        latencies.sort_unstable();
        let at =
            |hundredths: usize| latencies.get(latencies.len() * hundredths / 100).copied().unwrap_or(Duration::ZERO);
        Self { operations: latencies.len(), elapsed, p50: at(50), p99: at(99) }
    }

    /// Transfers a second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }
}

/// The median of some numbers.
pub fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Random numbers that cost nothing (xorshift64*), the same for both sides.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `below`.
    pub fn below(&mut self, below: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((high * u64::from(below)) >> 32) as u32
    }

    /// Two different accounts, numbered from 1.
    pub fn pair(&mut self, accounts: u32) -> (u32, u32) {
        let source = self.below(accounts);
        let destination = (source + 1 + self.below(accounts - 1)) % accounts;
        (source + 1, destination + 1)
    }
}
