//! The configuration of an in-NIC ledger, by which its store and its ring are made.

use std::time::Duration;

/// How much an in-NIC ledger holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InNicConfig {
    /// Number of accounts.
    pub accounts: usize,
    /// Operations that are remembered, of all accounts together; rounded up to a power of two.
    pub retries: usize,
    /// How long an operation that was executed is not executed again; at most
    /// [`MOST_RETENTION`](crate::MOST_RETENTION).
    pub retention: Duration,
    /// Bytes of the ring, a power of two: 48 for each operation that is not in the journal yet.
    pub ring: usize,
}

/// By default 1.6 million operations a second are remembered for ten seconds, which is what one processor executes out
/// of a driver's hand; they take 570 MiB. The ring takes 350,000 operations, which a journal that hangs for a tenth of
/// a second leaves at 3 million a second.
impl Default for InNicConfig {
    fn default() -> Self {
        Self { accounts: 1 << 20, retries: 1 << 24, retention: Duration::from_secs(10), ring: 16 << 20 }
    }
}
