//! When snapshots of the index are written.

use std::time::Duration;

use chain::own::{OwnChain, SNAPSHOT_SLICE, Tip};
use spv::IndexEntry;

use crate::Error;

/// Conditions for the next snapshot; the first that is met counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// Time since the last one.
    pub interval: Duration,
    /// Minimum number of transactions since the last one; the number of accounts if that is more.
    pub transactions: u64,
}

impl Snapshots {
    /// Transactions that a restart applies again in a second or two.
    pub const TRANSACTIONS: u64 = 1 << 23;

    /// Snapshots at most `interval` apart.
    pub const fn every(interval: Duration) -> Self {
        Self { interval, transactions: Self::TRANSACTIONS }
    }

    /// Whether a snapshot of `tip` is due, `waited` after the one of `last`.
    pub(crate) fn is_due(&self, waited: Duration, last: &Tip, tip: &Tip) -> bool {
        // This limits the work of a restart, but a snapshot costs in proportion to the accounts. It adds at most 32
        // bytes to the hundred or so that are written for a transaction.
        let most = self.transactions.max(tip.header.accounts.get());
        waited >= self.interval || tip.transactions - last.transactions >= most
    }
}

/// Bytes of a snapshot written per second at most: half of what the usual network disks of cloud machines write (125
/// MB/s), so that journal and blocks have the rest. 50 million accounts take 25 s.
const RATE: u64 = 64 << 20;

/// Bytes that may be written at once when nothing was for a while, because a large block was being built: half a
/// second's worth.
const BURST: u64 = RATE / 2;

/// Bytes of a snapshot that a stop writes at most: three seconds of such a disk. If more is left, the next start
/// applies the blocks after the previous snapshot instead, because a stop must not take long.
const AT_STOP: u64 = 384 << 20;

/// The pace at which a snapshot is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// When the next slice is due, in microseconds.
    due: u64,
}

impl Pace {
    /// Microseconds per slice.
    const SLICE: u64 = SNAPSHOT_SLICE as u64 * 1_000_000 / RATE;

    /// Whether a slice is due, which the caller then writes.
    pub(crate) fn take(&mut self, now: u64) -> bool {
        if now < self.due {
            return false;
        }
        let earliest = now.saturating_sub(BURST * 1_000_000 / RATE);
        self.due = self.due.max(earliest) + Self::SLICE;
        true
    }
}

/// Whether a stop writes the snapshot of the tip, or the rest of one being written.
pub(crate) fn fits_in_a_stop(chain: &OwnChain) -> bool {
    let left = chain.snapshot_left().unwrap_or(chain.tip().header.accounts.get());
    left.saturating_mul(size_of::<IndexEntry>() as u64) <= AT_STOP
}

/// Writes a snapshot that ends as of the tip, or the rest of one being written, if the tip states an index root.
pub(crate) fn write_all(chain: &mut OwnChain) -> Result<(), Error> {
    if !chain.tip().header.states_index() {
        return Ok(());
    }
    if chain.snapshot_left().is_none() {
        chain.begin_snapshot()?;
    }
    while !chain.continue_snapshot()? {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices come at the rate; after a pause a burst follows, and no more.
    #[test]
    fn a_snapshot_is_written_at_a_pace() {
        let mut pace = Pace::default();
        let start = 1_000_000_000;
        let taken =
            |pace: &mut Pace, now| std::iter::repeat_with(|| pace.take(now)).take_while(|due| *due).count() as u64;
        let burst = BURST / SNAPSHOT_SLICE as u64;
        assert_eq!(taken(&mut pace, start), burst + 1);
        let seconds = 10;
        let steps = seconds * 1000;
        let slices: u64 = (1..=steps).map(|step| taken(&mut pace, start + step * 1000)).sum();
        assert_eq!(slices, seconds * RATE / SNAPSHOT_SLICE as u64);
        assert_eq!(taken(&mut pace, start + 1000 * 1_000_000), burst + 1);
        assert_eq!(taken(&mut pace, start + 1000 * 1_000_000 + Pace::SLICE - 1), 0);
    }
}
