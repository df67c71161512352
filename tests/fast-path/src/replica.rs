//! An honest replica: its disk, the writes that are not synced yet, and the messages that it has sent.

use crate::defect::Defect;
use crate::ledger::{Entry, Ledger, Outcome};
use crate::scenario::{OrderId, OrderSet, Scenario, Slot};

/// An honest replica. Messages stay in the network, so the votes and reports that it sent are part of its state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Replica {
    /// Whether it is a member of the set of generation 0 and of generation 1.
    pub member: [bool; 2],
    /// Length of the prefix of the chain that it has executed.
    pub executed: usize,
    /// Locks that are written and not synced.
    pub unsynced: OrderSet,
    /// Locks that are synced.
    pub locks: OrderSet,
    /// Votes that it has sent, by generation.
    pub votes: [OrderSet; 2],
    /// Certificates that it has applied ahead of the chain.
    pub applied: OrderSet,
    /// Slots that it reported, with its lock at that time. It reports each once.
    pub reports: Vec<(Slot, OrderSet)>,
}

impl Replica {
    /// The ledger as this replica sees it: the chain that it executed, and the certificates that it applied ahead of
    /// it.
    ///
    /// It applies a certificate once it has applied all earlier debits of the account, even if credits are missing. A
    /// balance may then be negative for a time, and the replica votes for no debit of it.
    pub fn view<'a>(&self, scenario: &'a Scenario, chain: &[Entry], defect: Option<Defect>) -> Ledger<'a> {
        let mut ledger = Ledger::after(scenario, &chain[..self.executed], defect);
        let mut ahead: Vec<_> = self.applied.ids().filter(|&id| !settled(&ledger, scenario, id)).collect();
        ahead.sort_by_key(|&id| scenario.orders[id].sequence);
        ahead.into_iter().for_each(|id| ledger.pay(id));
        ledger
    }

    /// The generation in which this replica votes. After it left the set, which only a defect lets it vote in, that
    /// set's.
    pub fn generation(&self, view: &Ledger<'_>) -> usize {
        if self.member[view.generation] { view.generation } else { 0 }
    }

    /// Whether this replica may lock the order and vote for it. In a new generation it votes again for an order that it
    /// locked.
    pub fn may_lock(&self, id: OrderId, scenario: &Scenario, view: &Ledger<'_>, defect: Option<Defect>) -> bool {
        let slot = scenario.orders[id].slot();
        let orders = scenario.orders_of(slot);
        let open = defect == Some(Defect::OldSetVotes) || (!view.closing && self.member[view.generation]);
        let reported = defect != Some(Defect::VoteAfterReport) && self.report_of(slot).is_some();
        let funded =
            if defect == Some(Defect::NoBalanceCheck) { view.next(slot.0) == slot.1 } else { view.payable(id) };
        let held = self.locks.union(self.unsynced).intersection(orders);
        let sent = self.unsynced.contains(id) || self.votes[self.generation(view)].contains(id);
        open && !reported && funded && !sent && held.ids().all(|held| held == id)
    }

    /// The lock that this replica reported for a slot, or `None` if it has not reported the slot.
    pub fn report_of(&self, slot: Slot) -> Option<OrderSet> {
        self.reports.iter().find(|(reported, _)| *reported == slot).map(|(_, lock)| *lock)
    }

    /// Reports the lock of a slot, which is final: this replica locks no other order of it.
    pub fn report(&mut self, slot: Slot, scenario: &Scenario) {
        let lock = self.locks.intersection(scenario.orders_of(slot));
        self.reports.push((slot, lock));
        self.reports.sort_unstable();
    }

    /// Syncs locks, and then sends the votes for them in this generation.
    pub fn sync(&mut self, generation: usize) {
        self.locks = self.locks.union(self.unsynced);
        self.votes[generation] = self.votes[generation].union(self.unsynced);
        self.unsynced = OrderSet::default();
    }

    /// Loses unsynced locks, and applied certificates, which are in memory only and are fetched again.
    pub fn crash(&mut self) {
        (self.unsynced, self.applied) = (OrderSet::default(), OrderSet::default());
    }
}

/// Whether the chain has settled the slot of an order, other than by an escrow.
fn settled(ledger: &Ledger<'_>, scenario: &Scenario, id: OrderId) -> bool {
    matches!(ledger.outcome(scenario.orders[id].slot()), Some(Outcome::Paid(_) | Outcome::Skipped))
}
