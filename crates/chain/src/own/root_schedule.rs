//! Which blocks state the index root.
//!
//! A root costs in proportion to the parts of the index that changed since the last one. With many accounts, a block
//! changes most parts once, so a root for each block of transfers would cost more than everything else about it.
use super::tip::Tip;

/// Which blocks state the index root. Depends on the chain alone, because all replicas must make the same headers.
#[derive(Clone, Copy, Debug)]
pub struct RootSchedule {
    /// Blocks with fewer transactions always state it.
    pub small_block: u32,
    /// Others state it once the transactions since the last root are this many eighths of the accounts.
    pub eighths: u64,
}

impl RootSchedule {
    /// The schedule of nodes; tests have others.
    ///
    /// The root of a small block takes a fraction of a second, however many accounts there are, so without load each
    /// block has one. A transfer touches two accounts and a part has some 36, so after transfers for an eighth of the
    /// accounts almost all parts have changed: with later roots, a transaction would cost little less.
    pub const NODE: Self = Self { small_block: 1 << 16, eighths: 1 };

    /// Whether the block after `before` states the index root. `accounts` is their number after the block.
    pub(super) fn is_due(&self, before: &Tip, transactions: u32, accounts: u64) -> bool {
        let unstated = before.transactions.saturating_sub(before.index_transactions) + u64::from(transactions);
        let is_late = 8 * unstated >= self.eighths.saturating_mul(accounts);
        // The first accounts need a root: the root of none is not one.
        transactions < self.small_block || is_late || before.header.accounts.get() == 0
    }
}
