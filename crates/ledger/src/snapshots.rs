//! When snapshots of the index are written.

use std::time::Duration;

use chain::own::Tip;

/// When the next snapshot is written: what is due first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// How long after the last one.
    pub interval: Duration,
    /// Transactions after it, at least; four times the accounts where that is more.
    pub transactions: u64,
}

impl Snapshots {
    /// Transactions that a restart applies again in a second or two.
    pub const TRANSACTIONS: u64 = 1 << 23;

    /// Snapshots at most so far apart.
    pub const fn every(interval: Duration) -> Self {
        Self { interval, transactions: Self::TRANSACTIONS }
    }

    /// Whether one of `tip` is due, so long after the one of `last`.
    pub(crate) fn is_due(&self, waited: Duration, last: &Tip, tip: &Tip) -> bool {
        // What a restart has to apply again is limited, but a snapshot costs in proportion to the accounts.
        let most = self.transactions.max(4 * tip.header.accounts.get());
        waited >= self.interval || tip.transactions - last.transactions >= most
    }
}
