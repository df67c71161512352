//! The transitions of the protocol, and the properties of every state.
//!
//! The ordered path is assumed to be correct: a chain that only grows, which every honest replica executes at its own
//! pace. The ledger alone decides which entries are valid, as an honest quorum would judge a proposal.
//!
//! The last replica is Byzantine. It votes for every order in every set, and may report anything, so it needs no state.

use std::iter;

use stateright::{Model, Property};

use crate::defect::Defect;
use crate::ledger::{Entry, Ledger, Outcome, Report};
use crate::replica::Replica;
use crate::scenario::{OrderId, OrderSet, Scenario, Slot};
use crate::{FAULTY, QUORUM, REPLICAS};

/// The protocol over a scenario, with at most one defect.
#[derive(Clone, Debug)]
pub struct FastPath {
    /// Accounts, orders, and bounds.
    pub scenario: Scenario,
    /// The rule that is broken.
    pub defect: Option<Defect>,
}

/// A state of the whole system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The honest replicas, sorted: which is which makes no difference.
    pub replicas: Vec<Replica>,
    /// The entries that the ordered path has decided.
    pub chain: Vec<Entry>,
    /// Crashes that may still happen.
    pub crashes: u8,
}

/// A step. Replicas are named by their place in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A replica writes a lock.
    Lock(usize, OrderId),
    /// A replica syncs its locks and sends its votes.
    Sync(usize),
    /// A replica loses its unsynced writes.
    Crash(usize),
    /// A replica applies a certificate ahead of the chain.
    Apply(usize, OrderId),
    /// A replica executes the next entry of the chain.
    Execute(usize),
    /// A replica reports its lock of a slot.
    Report(usize, Slot),
    /// The ordered path decides an entry.
    Order(Entry),
    /// The ordered path begins the new set, which lacks this replica.
    Replace(usize, Entry),
}

impl FastPath {
    /// The protocol without defects.
    pub fn new(scenario: Scenario) -> Self {
        Self { scenario, defect: None }
    }

    /// The protocol without one of its rules.
    pub fn with_defect(scenario: Scenario, defect: Defect) -> Self {
        Self { scenario, defect: Some(defect) }
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// The ledger after the whole chain.
    pub fn ledger(&self, state: &State) -> Ledger<'_> {
        Ledger::after(&self.scenario, &state.chain, self.defect)
    }

    /// Whether the votes that were sent make a certificate of a generation.
    pub fn certified(&self, state: &State, id: OrderId, generation: usize) -> bool {
        let voted = |replica: &&Replica| replica.member[generation] && replica.votes[generation].contains(id);
        let quorum = if self.has(Defect::SmallQuorum) { QUORUM - 1 } else { QUORUM };
        state.replicas.iter().filter(voted).count() + FAULTY >= quorum
    }

    /// All orders with a certificate of any generation that has begun.
    fn all_certified(&self, state: &State, generation: usize) -> OrderSet {
        let ids = 0..self.scenario.orders.len();
        OrderSet::from_ids(ids.filter(|&id| (0..=generation).any(|generation| self.certified(state, id, generation))))
    }

    /// Whether the ordered path accepts the payment of an order now: by its certificate, or out of an escrow.
    fn includable(&self, state: &State, ledger: &Ledger<'_>, id: OrderId) -> bool {
        let of_old = (0..ledger.generation).any(|generation| self.certified(state, id, generation));
        let of_current = self.certified(state, id, ledger.generation);
        let order = self.scenario.orders[id];
        let next = ledger.next(order.source) == order.sequence;
        let fits = if self.has(Defect::NoCausalOrder) { next } else { ledger.payable(id) };
        let escrow = ledger.escrow(id);
        let certified = (of_current || of_old) && ledger.balances[order.source] >= order.amount;
        // Without a certificate it leaves enough for all other reserves, unless a defect lets it take them.
        let reserves = self.has(Defect::ReservesSpent) || ledger.spendable(order.source) >= 0;
        let single = escrow.ids().count() == 1 && ledger.balances[order.source] >= order.amount && reserves;
        let claims = escrow.contains(id) && (certified || single);
        (fits && (of_current || (of_old && self.has(Defect::OldSetVotes)))) || claims
    }

    /// Every choice of `n - f` reports, given those of honest replicas. The Byzantine one adds one of `lies`.
    fn quorums(honest: &[Report], lies: &[Report]) -> Vec<[Report; QUORUM]> {
        let sorted = |mut reports: [Report; QUORUM]| {
            reports.sort_unstable();
            reports
        };
        let mut found = Vec::new();
        for left in 0..honest.len() {
            for right in left + 1..honest.len() {
                found.extend(lies.iter().map(|lie| sorted([honest[left], honest[right], *lie])));
                found.extend((right + 1..honest.len()).map(|last| sorted([honest[left], honest[right], honest[last]])));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Everything that the Byzantine replica can report of these slots: none or one order of each.
    fn lies(&self, slots: &[Slot]) -> Vec<Report> {
        slots.iter().fold(vec![Report::default()], |lies, slot| {
            let orders = self.scenario.orders_of(*slot);
            let choices: Vec<_> =
                iter::once(Report::default()).chain(orders.ids().map(|id| OrderSet::from_ids([id]))).collect();
            lies.iter().flat_map(|lie| choices.iter().map(|choice| lie.union(*choice))).collect()
        })
    }

    /// Steps of the ordered path.
    fn order_actions(&self, state: &State, actions: &mut Vec<Action>) {
        let ledger = self.ledger(state);
        let includable = (0..self.scenario.orders.len()).filter(|&id| self.includable(state, &ledger, id));
        actions.extend(includable.map(|id| Action::Order(Entry::Pay(id))));
        if !ledger.closing {
            for &slot in self.scenario.unlockable.iter().filter(|slot| ledger.next(slot.0) == slot.1) {
                let members = state.replicas.iter().filter(|replica| replica.member[ledger.generation]);
                let honest: Vec<_> = members.filter_map(|replica| replica.report_of(slot)).collect();
                let unlocks = Self::quorums(&honest, &self.lies(&[slot])).into_iter();
                actions.extend(unlocks.map(|reports| Action::Order(Entry::Unlock(slot, reports))));
            }
        }
        if self.scenario.set_change && ledger.generation == 0 {
            if ledger.closing {
                let closed = |replica: &&Replica| state.chain[..replica.executed].contains(&Entry::Close);
                let honest: Vec<_> = state.replicas.iter().filter(closed).map(|replica| replica.locks).collect();
                let slots = self.scenario.slots();
                let open: Vec<_> = slots.into_iter().filter(|slot| ledger.outcome(*slot).is_none()).collect();
                for reports in Self::quorums(&honest, &self.lies(&open)) {
                    let entry = Entry::NewSet(reports);
                    actions.extend((0..state.replicas.len()).map(|leaves| Action::Replace(leaves, entry.clone())));
                }
            } else {
                actions.push(Action::Order(Entry::Close));
            }
        }
    }

    /// Steps of one replica.
    fn replica_actions(&self, state: &State, at: usize, actions: &mut Vec<Action>) {
        let replica = &state.replicas[at];
        let view = replica.view(&self.scenario, &state.chain, self.defect);
        let orders = 0..self.scenario.orders.len();
        actions.extend(
            orders
                .clone()
                .filter(|&id| replica.may_lock(id, &self.scenario, &view, self.defect))
                .map(|id| Action::Lock(at, id)),
        );
        let applicable = |id: &OrderId| {
            let order = self.scenario.orders[*id];
            view.next(order.source) == order.sequence && self.all_certified(state, view.generation).contains(*id)
        };
        actions.extend(orders.filter(applicable).map(|id| Action::Apply(at, id)));
        if !replica.unsynced.is_empty() {
            actions.push(Action::Sync(at));
        }
        if state.crashes > 0 && !(replica.unsynced.is_empty() && replica.applied.is_empty()) {
            actions.push(Action::Crash(at));
        }
        if replica.executed < state.chain.len() {
            actions.push(Action::Execute(at));
        }
        let open = |slot: &&Slot| view.outcome(**slot).is_none() && replica.report_of(**slot).is_none();
        actions.extend(self.scenario.unlockable.iter().filter(open).map(|slot| Action::Report(at, *slot)));
    }

    fn votes_in(&self, state: &State, at: usize) -> usize {
        let replica = &state.replicas[at];
        replica.generation(&Ledger::after(&self.scenario, &state.chain[..replica.executed], self.defect))
    }

    fn sync(&self, state: &mut State, at: usize) {
        let generation = self.votes_in(state, at);
        state.replicas[at].sync(generation);
    }
}

impl Model for FastPath {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let replica = Replica { member: [true; 2], ..Replica::default() };
        vec![State { replicas: vec![replica; REPLICAS - FAULTY], chain: Vec::new(), crashes: self.scenario.crashes }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.order_actions(state, actions);
        (0..state.replicas.len()).for_each(|at| self.replica_actions(state, at, actions));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Lock(at, id) => {
                state.replicas[at].unsynced.insert(id);
                if self.has(Defect::VoteBeforeSync) {
                    let generation = self.votes_in(&state, at);
                    state.replicas[at].votes[generation].insert(id);
                } else if self.scenario.crashes == 0 {
                    // Nothing can be lost in between.
                    self.sync(&mut state, at);
                }
            }
            Action::Sync(at) => self.sync(&mut state, at),
            Action::Crash(at) => {
                state.replicas[at].crash();
                state.crashes -= 1;
            }
            Action::Apply(at, id) => state.replicas[at].applied.insert(id),
            Action::Execute(at) => {
                // A replica that closes its generation reports every slot.
                if state.chain[state.replicas[at].executed] == Entry::Close && !self.has(Defect::ReportBeforeSync) {
                    self.sync(&mut state, at);
                }
                state.replicas[at].executed += 1;
            }
            Action::Report(at, slot) => {
                // One sync makes the mark and all earlier locks durable.
                if !self.has(Defect::ReportBeforeSync) {
                    self.sync(&mut state, at);
                }
                state.replicas[at].report(slot, &self.scenario);
            }
            Action::Order(entry) => state.chain.push(entry),
            Action::Replace(leaves, entry) => {
                state.chain.push(entry);
                state.replicas[leaves].member[1] = false;
                // It begins on the ledger of the others, and has never voted.
                let executed = state.chain.len();
                state.replicas.push(Replica { member: [false, true], executed, ..Replica::default() });
            }
        }
        state.replicas.sort_unstable();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a slot has one certificate", |model, state| {
                let certified = model.all_certified(state, 1);
                model
                    .scenario
                    .slots()
                    .into_iter()
                    .all(|slot| certified.intersection(model.scenario.orders_of(slot)).ids().count() <= 1)
            }),
            Property::always("no certified order loses", |model, state| {
                let ledger = model.ledger(state);
                model.all_certified(state, 1).ids().all(|id| match ledger.outcome(model.scenario.orders[id].slot()) {
                    None => true,
                    Some(Outcome::Skipped) => false,
                    Some(Outcome::Paid(paid)) => paid == id,
                    Some(Outcome::Escrow(orders)) => orders.contains(id),
                })
            }),
            Property::always("every certified order can be included", |model, state: &State| {
                let mut state = state.clone();
                let certified = model.all_certified(&state, 1);
                while let Some(id) = certified.ids().find(|&id| model.includable(&state, &model.ledger(&state), id)) {
                    state.chain.push(Entry::Pay(id));
                }
                let ledger = model.ledger(&state);
                certified.ids().all(|id| ledger.outcome(model.scenario.orders[id].slot()) == Some(Outcome::Paid(id)))
            }),
            Property::always("no ordered balance is negative", |model, state| !model.ledger(state).overdrawn),
            Property::always("money is conserved", |model, state| {
                let total = |balances: &[i8]| balances.iter().map(|balance| i32::from(*balance)).sum::<i32>();
                total(&model.ledger(state).balances) == total(&model.scenario.balances)
            }),
        ]
    }
}
