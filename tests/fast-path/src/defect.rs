//! Planted defects: each leaves out a rule of the protocol. The checker finds a counterexample for every one.

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A vote leaves before its lock is synced.
    VoteBeforeSync,
    /// A replica reports a slot while a lock of it is written and not synced, and leaves that lock out.
    ReportBeforeSync,
    /// A certificate takes one vote less than `n - f`.
    SmallQuorum,
    /// An unlock pays only what `f + 1` reports name. One honest report is all that a certificate guarantees.
    ReportsBelowThreshold,
    /// An unlock of two orders pays the one that more reports name, in place of an escrow.
    MajorityOfReports,
    /// The only order in an escrow is paid without a certificate, though other slots of the account reserve the amount.
    ReservesSpent,
    /// A replica that reported a slot still votes for it.
    VoteAfterReport,
    /// A change of the set settles no slot, though certificates of the old set count no further.
    SetChangeSettlesNothing,
    /// Certificates of any set count, and a replica of the old set votes after it was closed.
    OldSetVotes,
    /// A certificate is ordered before those that its source was paid by.
    NoCausalOrder,
    /// A replica votes without a look at the balance.
    NoBalanceCheck,
}
