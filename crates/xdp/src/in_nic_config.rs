//! The configuration of an in-NIC ledger, which determines the size of its store and its ring.

use std::time::Duration;

/// The capacity of an in-NIC ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InNicConfig {
    /// Number of accounts.
    pub accounts: usize,
    /// Operations remembered, over all accounts together; rounded up to a power of two.
    pub retries: usize,
    /// For how long an executed operation is not executed again; at most [`MOST_RETENTION`](crate::MOST_RETENTION).
    pub retention: Duration,
    /// Bytes of the ring, a power of two: 48 for each operation that is not in the journal yet.
    pub ring: usize,
}

/// By default, 1.6 million operations a second, the rate of one processor in the driver's hook, are remembered for ten
/// seconds, which takes 570 MiB. The ring holds the 350,000 operations that pile up if the journal hangs for a tenth of
/// a second at 3 million a second.
impl Default for InNicConfig {
    fn default() -> Self {
        Self { accounts: 1 << 20, retries: 1 << 24, retention: Duration::from_secs(10), ring: 16 << 20 }
    }
}
