//! Makes operations durable and sends the replies that waited for it.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use ledger::journal::{Committer, Due, Work};
use nic::{Departures, Transmit};
use wire::Status;

use crate::shared::Shared;

/// A commit that took no longer than this is quick: a few times what it costs to have another thread do it, and what any
/// other request may wait without harm.
const QUICK: Duration = Duration::from_micros(250);

/// What completes operations, whatever it sends replies with.
pub trait Complete: Send {
    /// Does what is due, and sends the replies that it lets go.
    fn complete(&mut self, due: Due);

    /// Was the last commit quick?
    fn is_quick(&self) -> bool;
}

/// The committer, and the replies that wait for it. It is used by the journal thread, and by the data path where that is
/// quicker, one at a time.
pub struct Completer<T> {
    committer: Committer,
    departures: Departures,
    transmit: T,
    shared: Arc<Shared>,
    took: Duration,
}

impl<T: Transmit> Completer<T> {
    /// Puts the two together; replies leave through `transmit`.
    pub fn new(committer: Committer, departures: Departures, transmit: T, shared: Arc<Shared>) -> Self {
        Self { committer, departures, transmit, shared, took: Duration::MAX }
    }
}

impl<T: Transmit> Complete for Completer<T> {
    fn complete(&mut self, due: Due) {
        let result = match due {
            Due::Commit => {
                let start = Instant::now();
                let result = self.committer.commit();
                self.took = start.elapsed();
                result
            }
            Due::Seal => match self.committer.seal() {
                Ok(()) => return,
                Err(error) => Err(error),
            },
        };
        match result {
            Ok(durable) => {
                if let Some(tier) = self.shared.tier_state() {
                    tier.durable(durable);
                }
                self.departures.release(durable, &mut self.transmit);
            }
            Err(error) => {
                if !self.shared.storage_failed.swap(true, Relaxed) {
                    tracing::error!(%error, "the journal cannot be written: reads only from now on");
                }
                self.departures.refuse(Status::StorageFailed, &mut self.transmit);
            }
        }
    }

    fn is_quick(&self) -> bool {
        self.took <= QUICK
    }
}

/// What the journal thread does until the journal is closed.
pub fn run(work: &Work, completer: &Mutex<dyn Complete>) {
    while let Some(due) = work.wait() {
        completer.lock().unwrap_or_else(PoisonError::into_inner).complete(due);
    }
}
