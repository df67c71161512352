//! Makes operations durable and sends the replies that waited for it.
//!
//! - On a commit that is due: commit the journal. Then publish the durable sequence to the NIC tier, and after that
//!   send all parked replies up to it.
//! - On a seal that is due: seal the journal. Nothing waits for it.
//! - On an error: report `storage_failed`, and answer all parked replies `STORAGE_FAILED`. No later operation is
//!   accepted.
//!
//! The journal thread does this, or the data path for a single waiting client while the last commit was quick, one at a
//! time.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use ledger::journal::{Committer, Due, Work};
use nic::{Departures, Transmit};
use wire::{Promise, Status};

use crate::node_state::NodeState;

/// A commit up to this long is quick: a few times the cost of handing it to another thread, and a harmless wait for any
/// other request.
const QUICK: Duration = Duration::from_micros(250);

/// The committer, and the replies that wait for it. It is used by the journal thread, and by the data path where that
/// is quicker, one at a time.
pub struct Completer {
    committer: Committer,
    departures: Departures,
    transmit: Box<dyn Transmit>,
    node_state: Arc<NodeState>,
    took: Duration,
}

impl Completer {
    /// A completer for this journal; replies leave through `transmit`.
    pub fn new(
        committer: Committer,
        departures: Departures,
        transmit: impl Transmit + 'static,
        node_state: Arc<NodeState>,
    ) -> Self {
        Self { committer, departures, transmit: Box::new(transmit), node_state, took: Duration::MAX }
    }

    /// Commits or seals, then sends the replies that were waiting.
    pub fn complete(&mut self, due: Due) {
        let result = match due {
            Due::Commit => {
                let (before, start) = (self.node_state.durable(), Instant::now());
                let result = self.committer.commit();
                // A commit without data says nothing about the disk.
                if self.node_state.durable() > before {
                    self.took = start.elapsed();
                    self.node_state.sync.record(self.took, 1);
                }
                result
            }
            Due::Seal => match self.committer.seal() {
                Ok(()) => return,
                Err(error) => Err(error),
            },
        };
        match result {
            Ok(durable) => {
                if let Some(tier) = self.node_state.tier_state() {
                    tier.durable(durable);
                }
                let latency = self.node_state.counters.latency(Promise::Durable);
                self.departures.release(durable, &mut *self.transmit, latency);
            }
            Err(error) => {
                if !self.node_state.storage_failed.swap(true, Relaxed) {
                    tracing::error!(%error, "cannot write the journal: answering reads only from now on");
                }
                self.departures.refuse(Status::StorageFailed, &mut *self.transmit);
            }
        }
    }

    /// Was the last commit quick?
    pub fn is_quick(&self) -> bool {
        self.took <= QUICK
    }
}

/// The loop of the journal thread, until the journal is closed.
pub fn run(work: &Work, completer: &Mutex<Completer>) {
    while let Some(due) = work.wait() {
        completer.lock().unwrap_or_else(PoisonError::into_inner).complete(due);
    }
}
