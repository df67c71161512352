//! When snapshots of the index are written, and old blocks pruned.

use std::time::{Duration, Instant};

use chain::own::{OwnChain, SNAPSHOT_SLICE, Tip};
use spv::IndexEntry;

use crate::Error;

/// Conditions for the next snapshot, of which the first that is met counts, and for the blocks to prune after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// Time since the last one.
    pub interval: Duration,
    /// Minimum number of transactions since the last one; the number of accounts if that is more.
    pub transactions: u64,
    /// Time for which blocks are retained, `None` for ever. Those that a start may need are retained longer.
    pub retention: Option<Duration>,
}

impl Snapshots {
    /// Transactions that a restart applies again in a second or two.
    pub const TRANSACTIONS: u64 = 1 << 23;

    /// Snapshots at most `interval` apart.
    pub const fn every(interval: Duration) -> Self {
        Self { interval, transactions: Self::TRANSACTIONS, retention: None }
    }

    /// The same, and blocks are pruned that are older than `retention`.
    pub const fn retain(self, retention: Option<Duration>) -> Self {
        Self { retention, ..self }
    }

    /// Whether a snapshot of `tip` is due, `waited` after the one of `last`.
    fn is_due(&self, waited: Duration, last: &Tip, tip: &Tip) -> bool {
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

/// Bytes of a snapshot that a stop writes in any case, and that show the disk's speed: a second of such a disk.
const SAMPLE: u64 = 128 << 20;

/// The longest time that a stop writes a snapshot. If the disk is too slow for that, the next start applies the blocks
/// after the previous snapshot instead.
const LONGEST_AT_STOP: Duration = Duration::from_secs(4);

/// The pace at which a snapshot is written.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// When the next slice is due, in microseconds.
    due: u64,
}

impl Pace {
    /// Microseconds per slice.
    const SLICE: u64 = SNAPSHOT_SLICE as u64 * 1_000_000 / RATE;

    /// Whether a slice is due, which the caller then writes.
    fn take(&mut self, now: u64) -> bool {
        if now < self.due {
            return false;
        }
        let earliest = now.saturating_sub(BURST * 1_000_000 / RATE);
        self.due = self.due.max(earliest) + Self::SLICE;
        true
    }
}

/// A slice of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slice {
    /// None was due.
    None,
    /// One was written, and others follow.
    Written,
    /// The last one was written.
    Last,
}

/// Begins the snapshots of a chain when they are due, and writes them slice by slice, at their pace.
#[derive(Debug)]
pub(crate) struct SnapshotWriter {
    conditions: Snapshots,
    /// The tip of the last snapshot, or the tip at the start.
    last: Tip,
    pace: Pace,
}

impl SnapshotWriter {
    /// A writer for a chain with this tip.
    pub fn new(conditions: Snapshots, tip: Tip) -> Self {
        Self { conditions, last: tip, pace: Pace::default() }
    }

    /// The tip of the last snapshot, or the tip at the start.
    pub fn last(&self) -> &Tip {
        &self.last
    }

    /// Begins a snapshot if one is due, `waited` after the last, and none is being written. Returns whether it did.
    pub fn begin(&mut self, chain: &mut OwnChain, waited: Duration) -> Result<bool, Error> {
        let begins = self.conditions.is_due(waited, &self.last, &chain.tip()) && chain.snapshot_left().is_none();
        if begins {
            chain.begin_snapshot()?;
        }
        Ok(begins)
    }

    /// Writes a slice if a snapshot is being written and one is due. `now` is in microseconds.
    pub fn write_slice(&mut self, chain: &mut OwnChain, now: u64) -> Result<Slice, Error> {
        if chain.snapshot_left().is_none() || !self.pace.take(now) {
            return Ok(Slice::None);
        }
        if !chain.continue_snapshot()? {
            return Ok(Slice::Written);
        }
        self.last = chain.tip();
        if let Some(retention) = self.conditions.retention {
            // By the time of the blocks, so that nothing is pruned while none are made.
            chain.prune(self.last.header.timestamp.get().saturating_sub(retention.as_micros() as u64))?;
        }
        Ok(Slice::Last)
    }
}

/// Writes a snapshot that ends as of the tip, or the rest of one being written, if the tip states an index root and a
/// stop has the time.
pub(crate) fn write_at_stop(chain: &mut OwnChain) -> Result<(), Error> {
    if !chain.tip().header.states_index() {
        return Ok(());
    }
    if chain.snapshot_left().is_none() {
        chain.begin_snapshot()?;
    }
    let bytes = chain.snapshot_left().unwrap_or(0).saturating_mul(size_of::<IndexEntry>() as u64);
    let start = Instant::now();
    let mut written = 0;
    while !chain.continue_snapshot()? {
        written += SNAPSHOT_SLICE as u64;
        if written == SAMPLE && !has_time(bytes, start.elapsed()) {
            break;
        }
    }
    Ok(())
}

/// Whether a stop has the time to write this number of bytes, of which the sample took `sample`.
fn has_time(bytes: u64, sample: Duration) -> bool {
    sample.as_secs_f64() * (bytes as f64 / SAMPLE as f64) <= LONGEST_AT_STOP.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 million accounts are written by a stop if the disk takes 410 MB a second.
    #[test]
    fn a_stop_leaves_out_a_snapshot_that_takes_long() {
        assert!(SAMPLE.is_multiple_of(SNAPSHOT_SLICE as u64));
        let bytes = 50_000_000 * size_of::<IndexEntry>() as u64;
        for (megabytes_per_second, expected) in [(125.0, false), (390.0, false), (410.0, true), (2000.0, true)] {
            let sample = Duration::from_secs_f64(SAMPLE as f64 / 1e6 / megabytes_per_second);
            assert_eq!(has_time(bytes, sample), expected, "{megabytes_per_second} MB/s");
        }
    }

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
