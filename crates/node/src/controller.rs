//! The store controller: connects the data path of this node to ledger, journal and block builder.
//!
//! To execute operations:
//!
//! 1. Sleep up to 5 ms if the block builder lags far, so that the journal does not grow without bound.
//! 2. Begin a submission to the journal, and wait up to 5 ms until it has room for all. Operations beyond the room are
//!    `BUSY`, or `STORAGE_FAILED` if the journal cannot be written; REFER needs no room.
//! 3. Announce the last sequence that the operations may take, so that the NIC tier defers.
//! 4. Execute them, append each recorded one to the submission, and withdraw the rest of the announcement.
//! 5. After each batch, wake the journal thread, or commit here if a single client waits and the disk is quick.
//!
//! The ledger's last sequence and that of the submission must agree, or the node panics before it replies. A reply
//! under `durable` waits for the last sequence executed so far, even a retry or a REFER: it may depend on all of them.

use std::{
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use ledger::{
    Executable, Ledger, Now,
    journal::{Due, Submission, Submitter},
    refuse_beyond,
};
use nic::{Answer, Held, Peer, QueryKind, Release, StoreController};
use wire::{Operation, Promise, SignedOperation, Status};

use crate::{admission, completer::Completer, node_state::NodeState, queries::Queries, workers::Workers};

/// Length and number of the data path's sleeps before operations without room in the journal are `BUSY`: long enough
/// for a disk sync, which makes room, and short enough for reads.
const NAP: Duration = Duration::from_micros(500);
const NAPS: u32 = 10;

/// Lag of the block builder, in operations, above which the data path slows down: some seconds of full load, and 300 MB
/// of journal.
pub const BEHIND: u64 = 1 << 22;

/// Executes operations on the ledger and hands them to the journal.
pub struct Controller {
    ledger: Ledger,
    journal: Submitter,
    completer: Arc<Mutex<Completer>>,
    promise: Promise,
    queries: Queries,
    workers: Workers,
    node_state: Arc<NodeState>,
    /// A reply waits for the journal.
    is_awaited: bool,
    /// The last sequence included in the metrics.
    told: u64,
    /// When the ledger was recovered.
    started: Instant,
}

impl Controller {
    /// A controller for `ledger`. `journal` submits to its journal, and `completer` writes it.
    pub fn new(
        ledger: Ledger,
        journal: Submitter,
        completer: Arc<Mutex<Completer>>,
        promise: Promise,
        queries: Queries,
        workers: Workers,
        node_state: Arc<NodeState>,
    ) -> Self {
        let told = ledger.last_sequence();
        node_state.count_entries(&ledger);
        let started = Instant::now();
        Self { ledger, journal, completer, promise, queries, workers, node_state, is_awaited: false, told, started }
    }

    fn now(&self) -> Now {
        Now { elapsed: self.started.elapsed().as_micros() as u64, unix: admission::now() }
    }

    /// Waits while the block builder lags far, so that the journal does not grow without bound: the larger the lag, the
    /// longer the wait.
    fn wait_for_builder(&self) {
        let excess = self.node_state.behind().saturating_sub(BEHIND);
        if excess > 0 && !self.node_state.builder_failed.load(Relaxed) {
            std::thread::sleep((NAP * (1 + excess / (BEHIND / 8)) as u32).min(NAP * NAPS));
        }
    }

    /// Completes executed operations on this thread, which saves a waiting client two thread switches. Returns false
    /// without doing so while the journal thread completes, or if the disk is slow, since everything else would wait.
    fn complete(&self) -> bool {
        match self.completer.try_lock() {
            Ok(mut completer) if completer.is_quick() => {
                completer.complete(Due::Commit);
                true
            }
            _ => false,
        }
    }

    /// Executes entries while the journal has room for them; refuses the others except REFER.
    fn execute_entries<E: Executable>(
        &mut self,
        entries: &mut [E],
        values: &mut [u64],
        push: impl Fn(&mut Submission<'_>, &E, u64),
    ) {
        self.wait_for_builder();
        let (mut submission, room) = wait_for_room(&self.journal, entries.len());
        let refusal = submission.refusal();
        refuse_beyond(entries, room, refusal);
        if let Some(tier) = self.node_state.tier_state() {
            tier.announce(self.ledger.last_sequence() + entries.len() as u64);
        }
        let now = self.now();
        self.ledger.execute(entries, values, now, |entry, value| push(&mut submission, entry, value));
        // A failed journal accepts nothing, and operations that would have to be in it are not answered.
        assert_eq!(submission.last_sequence(), self.ledger.last_sequence(), "the journal has what was executed");
        if let Some(tier) = self.node_state.tier_state() {
            tier.executed(self.ledger.last_sequence());
        }
    }
}

impl StoreController for Controller {
    fn default_promise(&self) -> Promise {
        self.promise
    }

    fn execute(&mut self, operations: &mut [Operation], values: &mut [u64]) {
        self.execute_entries(operations, values, |submission, operation, value| submission.push(operation, value));
    }

    fn execute_signed(&mut self, operations: &mut [SignedOperation], values: &mut [u64]) {
        self.execute_entries(operations, values, |submission, signed, value| submission.push_signed(signed, value));
        for (signed, value) in operations.iter().zip(values) {
            if signed.operation.status() == Ok(Status::DepositRequired) {
                *value = self.node_state.deposit;
            }
        }
    }

    fn release(&mut self, promise: Promise) -> Release {
        // Any answer may depend on everything that was executed before it, a retry or a REFER too.
        let last = self.ledger.last_sequence();
        if promise < Promise::Durable {
            return Release::Now(Promise::Accepted);
        }
        if self.journal.durable() >= last {
            return Release::Now(Promise::Durable);
        }
        // After the journal has failed this never happens: the reply is `STORAGE_FAILED`. It must not be sent at a
        // lower promise, since compact frames cannot state one.
        self.is_awaited = true;
        Release::Durable(last)
    }

    fn answer(&mut self, query: QueryKind, datagram: &mut [u8], _peer: &Peer) -> Answer {
        self.queries.answer(query, datagram)
    }

    fn defer(&mut self, query: QueryKind, held: Held) -> Result<(), Held> {
        self.workers.defer(query, held, &self.node_state.costs)
    }

    fn verify(&mut self, held: Held) -> Result<(), Held> {
        self.workers.verifiers.try_push(held)
    }

    fn verified(&mut self) -> Option<Held> {
        let mut held = self.workers.verified.try_recv().ok()?;
        if !held.trusted {
            let room = self.node_state.accounts_unreserved.saturating_sub(self.ledger.accounts() as u64);
            admission::keep_reserve(&mut held, room, |account| self.ledger.balance(account).is_some());
        }
        Some(held)
    }

    fn commit(&mut self, lone: bool) {
        let last = self.ledger.last_sequence();
        let has_work = std::mem::take(&mut self.is_awaited) || last != self.told;
        if last != self.told {
            self.node_state.executed.fetch_add(last - self.told, Relaxed);
            self.node_state.count_entries(&self.ledger);
            self.node_state.retries.tell(self.ledger.retries(self.now()));
            self.told = last;
        }
        if has_work && !(lone && self.complete()) {
            self.journal.wake();
        }
    }
}

/// Begins to append once the journal has room for `operations`, or the wait times out.
fn wait_for_room(journal: &Submitter, operations: usize) -> (Submission<'_>, usize) {
    let mut naps = 0;
    loop {
        let submission = journal.begin();
        let room = submission.room();
        if naps == NAPS || room.is_err() || room.is_ok_and(|room| room >= operations) {
            return (submission, room.unwrap_or(0));
        }
        drop(submission);
        std::thread::sleep(NAP);
        naps += 1;
    }
}
