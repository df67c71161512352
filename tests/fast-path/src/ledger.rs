//! The ledger that follows from the chain: balances, and what became of each slot.

use crate::defect::Defect;
use crate::scenario::{OrderId, OrderSet, Scenario, Slot};
use crate::{FAULTY, QUORUM};

/// What became of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// An order was paid.
    Paid(OrderId),
    /// No order can have a certificate, so the sequence number is passed over.
    Skipped,
    /// One of these orders may have a certificate. The largest amount among them is reserved until one of them is paid:
    /// by a certificate, or without it if there is only one and the balance covers all reserves of the account.
    Escrow(OrderSet),
}

/// What one replica reports of its locks. Honest replicas hold at most one lock for each slot.
pub type Report = OrderSet;

/// An entry of the chain, which all honest replicas execute in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// An order is paid, out of the balance or out of the escrow of its slot.
    Pay(OrderId),
    /// The reports of `n - f` replicas, which settle one slot.
    Unlock(Slot, [Report; QUORUM]),
    /// The set changes: its replicas vote no further.
    Close,
    /// The reports of `n - f` replicas of the old set, which settle every slot with a lock. Then the new set votes.
    NewSet([Report; QUORUM]),
}

/// Balances and settled slots after a prefix of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger<'a> {
    scenario: &'a Scenario,
    /// Balance of each account, escrow included.
    pub balances: Vec<i8>,
    /// Outcomes of the settled slots of each account, by sequence number.
    outcomes: Vec<Vec<Outcome>>,
    /// How often the set has changed.
    pub generation: usize,
    /// Whether the set is about to change.
    pub closing: bool,
    /// Whether a balance was negative after any entry.
    pub overdrawn: bool,
}

impl<'a> Ledger<'a> {
    /// The ledger before the first entry.
    pub fn new(scenario: &'a Scenario) -> Self {
        let (balances, outcomes) = (scenario.balances.clone(), vec![Vec::new(); scenario.balances.len()]);
        Self { scenario, balances, outcomes, generation: 0, closing: false, overdrawn: false }
    }

    /// The ledger after `chain`.
    pub fn after(scenario: &'a Scenario, chain: &[Entry], defect: Option<Defect>) -> Self {
        let mut ledger = Self::new(scenario);
        chain.iter().for_each(|entry| ledger.execute(entry, defect));
        ledger
    }

    /// The next sequence number of an account.
    pub fn next(&self, account: usize) -> u8 {
        u8::try_from(self.outcomes[account].len()).expect("a scenario has few orders")
    }

    /// What became of a slot, or `None` if it is not settled.
    pub fn outcome(&self, slot: Slot) -> Option<Outcome> {
        self.outcomes[slot.0].get(usize::from(slot.1)).copied()
    }

    fn set_outcome(&mut self, slot: Slot, outcome: Outcome) {
        let outcomes = &mut self.outcomes[slot.0];
        match outcomes.get_mut(usize::from(slot.1)) {
            Some(escrow) => *escrow = outcome,
            None => outcomes.push(outcome),
        }
    }

    /// What an account can spend: its balance less what its slots in escrow reserve.
    pub fn spendable(&self, account: usize) -> i8 {
        let amount = |orders: OrderSet| orders.ids().map(|id| self.scenario.orders[id].amount).max().unwrap_or(0);
        let reserved = self.outcomes[account].iter().map(|outcome| match outcome {
            Outcome::Escrow(orders) => amount(*orders),
            Outcome::Paid(_) | Outcome::Skipped => 0,
        });
        self.balances[account] - reserved.sum::<i8>()
    }

    /// Whether an order is the next debit of its source and its source can pay it.
    pub fn payable(&self, id: OrderId) -> bool {
        let order = self.scenario.orders[id];
        self.next(order.source) == order.sequence && self.spendable(order.source) >= order.amount
    }

    /// The orders that the slot of an order holds in escrow.
    pub fn escrow(&self, id: OrderId) -> OrderSet {
        match self.outcome(self.scenario.orders[id].slot()) {
            Some(Outcome::Escrow(orders)) => orders,
            None | Some(Outcome::Paid(_) | Outcome::Skipped) => OrderSet::default(),
        }
    }

    /// Pays an order.
    pub fn pay(&mut self, id: OrderId) {
        let order = self.scenario.orders[id];
        self.balances[order.source] -= order.amount;
        self.balances[order.destination] += order.amount;
        self.set_outcome(order.slot(), Outcome::Paid(id));
        self.overdrawn |= self.balances[order.source] < 0;
    }

    /// Executes an entry of the chain.
    pub fn execute(&mut self, entry: &Entry, defect: Option<Defect>) {
        match entry {
            Entry::Pay(id) => self.pay(*id),
            Entry::Unlock(slot, reports) => self.settle(*slot, reports, defect),
            Entry::Close => self.closing = true,
            Entry::NewSet(reports) => {
                if defect != Some(Defect::SetChangeSettlesNothing) {
                    self.settle_all(reports, defect);
                }
                (self.closing, self.generation) = (false, self.generation + 1);
            }
        }
    }

    /// Settles a slot by the reports of a quorum.
    ///
    /// A certificate takes `n - f` votes, so any `n - f` reports include at least one by an honest voter of it. An
    /// order that nobody reports therefore has no certificate. It gets none later, since a replica that reported a slot
    /// votes no further. An order that is reported alone is paid: no other can have a certificate, and its owner signed
    /// it.
    fn settle(&mut self, slot: Slot, reports: &[Report; QUORUM], defect: Option<Defect>) {
        let threshold = if defect == Some(Defect::ReportsBelowThreshold) { FAULTY + 1 } else { 1 };
        let reported = |id: &OrderId| reports.iter().filter(|report| report.contains(*id)).count();
        let candidates = OrderSet::from_ids(self.scenario.orders_of(slot).ids().filter(|id| reported(id) >= threshold));
        let most = candidates.ids().max_by_key(reported);
        let single = candidates.ids().count() == 1 || defect == Some(Defect::MajorityOfReports);
        match most {
            None => self.set_outcome(slot, Outcome::Skipped),
            Some(id) if single && self.payable(id) => self.pay(id),
            Some(_) => self.set_outcome(slot, Outcome::Escrow(candidates)),
        }
    }

    /// Settles every slot with a reported lock: first those that can be paid, in causal order, then the rest.
    fn settle_all(&mut self, reports: &[Report; QUORUM], defect: Option<Defect>) {
        let all = reports.iter().fold(OrderSet::default(), |all, report| all.union(*report));
        let open = |ledger: &Self, slot: Slot| {
            ledger.next(slot.0) == slot.1 && !all.intersection(ledger.scenario.orders_of(slot)).is_empty()
        };
        let single = |ledger: &Self, slot: Slot| {
            let reported = all.intersection(ledger.scenario.orders_of(slot));
            reported.ids().count() == 1 && reported.ids().all(|id| ledger.payable(id))
        };
        let slots = self.scenario.slots();
        loop {
            let payable = slots.iter().find(|slot| open(self, **slot) && single(self, **slot));
            let Some(slot) = payable.or_else(|| slots.iter().find(|slot| open(self, **slot))) else { return };
            self.settle(*slot, reports, defect);
        }
    }
}
