//! When snapshots of the index are written.

use std::time::Duration;

use chain::own::Tip;

/// Conditions for the next snapshot; the first that is met counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// Time since the last one.
    pub interval: Duration,
    /// Minimum number of transactions since the last one; four times the accounts if that is more.
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
        // This limits the work of a restart, but a snapshot costs in proportion to the accounts.
        let most = self.transactions.max(4 * tip.header.accounts.get());
        waited >= self.interval || tip.transactions - last.transactions >= most
    }
}
