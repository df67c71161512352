//! Status of a replica, for metrics and health checks.
use spv::finality::Certificate;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
struct Numbers {
    round: AtomicU64,
    /// When the view began, in milliseconds after the status was created.
    entered: AtomicU64,
    /// When the replica last stopped resting, likewise.
    woken: AtomicU64,
    is_resting: AtomicBool,
    leader: AtomicU64,
    height: AtomicU64,
    votes: AtomicU64,
    abandoned: AtomicU64,
    /// How many times the timeouts were doubled.
    doublings: AtomicU32,
    evidence: AtomicU64,
    ended: AtomicBool,
    certificate: Mutex<Option<Arc<Certificate>>>,
}

/// Low bits of a packed round that hold the view; the high bits hold the epoch. Neither overflows for centuries.
const VIEW_BITS: u32 = 40;

/// Live status of a replica. Clones share it.
#[derive(Clone, Debug)]
pub struct Status {
    numbers: Arc<Numbers>,
    since: Instant,
}

/// A snapshot of a [`Status`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusSnapshot {
    /// Present epoch.
    pub epoch: u64,
    /// Present view; the first of an epoch is 1.
    pub view: u64,
    /// Time in this view with work to do. A view ends when its block is notarized or a quorum abandons it, so a long
    /// time means that no quorum can be reached. Zero while the replica rests.
    pub in_view: Duration,
    /// Whether there is nothing to order: the view then lasts until there is.
    pub is_resting: bool,
    /// Number of the replica that leads the view.
    pub leader: u32,
    /// Height of the last block delivered to the application.
    pub height: u64,
    /// Votes counted since the start, including its own.
    pub votes: u64,
    /// Views abandoned by a quorum since the start: the leader was offline, slow or wrong.
    pub abandoned: u64,
    /// Factor on the configured timeouts, 1 to 64. It grows when proposed blocks are abandoned.
    pub timeout_factor: u32,
    /// Stored pieces of evidence.
    pub evidence: u64,
    /// Whether the replica has ended, by itself or because it was stopped.
    pub ended: bool,
}

impl Default for Status {
    fn default() -> Self {
        Self { numbers: Arc::default(), since: Instant::now() }
    }
}

impl Status {
    /// Returns the present values. They are read one by one, not atomically together.
    pub fn snapshot(&self) -> StatusSnapshot {
        let numbers = &self.numbers;
        let is_resting = numbers.is_resting.load(Relaxed);
        let began = numbers.entered.load(Relaxed).max(numbers.woken.load(Relaxed));
        let lasted = self.since.elapsed().saturating_sub(Duration::from_millis(began));
        let round = numbers.round.load(Relaxed);
        StatusSnapshot {
            in_view: if is_resting { Duration::ZERO } else { lasted },
            is_resting,
            epoch: round >> VIEW_BITS,
            view: round & ((1 << VIEW_BITS) - 1),
            leader: numbers.leader.load(Relaxed) as u32,
            height: numbers.height.load(Relaxed),
            votes: numbers.votes.load(Relaxed),
            abandoned: numbers.abandoned.load(Relaxed),
            timeout_factor: self.timeout_factor(),
            evidence: numbers.evidence.load(Relaxed),
            ended: numbers.ended.load(Relaxed),
        }
    }

    /// Returns whether the replica has ended, by itself or because it was stopped.
    pub fn has_ended(&self) -> bool {
        self.numbers.ended.load(Relaxed)
    }

    /// The newest certificate of a block delivered to the application.
    pub fn certificate(&self) -> Option<Arc<Certificate>> {
        self.numbers.certificate.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn certified(&self, certificate: Certificate) {
        *self.numbers.certificate.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificate.into());
    }

    /// Records that a view began, unless a later one has.
    pub(crate) fn entered(&self, epoch: u64, view: u64, leader: u32) {
        let round = epoch << VIEW_BITS | view;
        if self.numbers.round.fetch_max(round, Relaxed) < round {
            self.numbers.leader.store(leader.into(), Relaxed);
            self.numbers.entered.store(self.since.elapsed().as_millis() as u64, Relaxed);
        }
    }

    pub(crate) fn voted(&self) {
        self.numbers.votes.fetch_add(1, Relaxed);
    }

    pub(crate) fn abandoned(&self) {
        self.numbers.abandoned.fetch_add(1, Relaxed);
    }

    /// Records the number of doublings of the timeouts.
    pub(crate) fn waits(&self, doublings: u32) {
        self.numbers.doublings.store(doublings, Relaxed);
    }

    /// Factor on the configured timeouts.
    pub(crate) fn timeout_factor(&self) -> u32 {
        1 << self.numbers.doublings.load(Relaxed)
    }

    /// Records whether the replica rests.
    pub(crate) fn rests(&self, is_resting: bool) {
        if !is_resting {
            self.numbers.woken.store(self.since.elapsed().as_millis() as u64, Relaxed);
        }
        self.numbers.is_resting.store(is_resting, Relaxed);
    }

    pub(crate) fn delivered(&self, height: u64) {
        self.numbers.height.fetch_max(height, Relaxed);
    }

    pub(crate) fn keeps_evidence(&self, pieces: u64) {
        self.numbers.evidence.store(pieces, Relaxed);
    }

    pub(crate) fn ended(&self) {
        self.numbers.ended.store(true, Relaxed);
    }

    /// Height of the last block delivered to the application.
    pub(crate) fn height(&self) -> u64 {
        self.numbers.height.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_tell_the_latest_view_and_that_it_ended() {
        let status = Status::default();
        let other = status.clone();
        status.entered(0, 3, 1);
        // A late notice of an older view.
        status.entered(0, 2, 0);
        let StatusSnapshot { epoch, view, leader, ended, .. } = other.snapshot();
        assert_eq!((epoch, view, leader, ended), (0, 3, 1, false));
        status.entered(1, 1, 2);
        let StatusSnapshot { epoch, view, leader, .. } = other.snapshot();
        assert_eq!((epoch, view, leader), (1, 1, 2));
        status.ended();
        assert!(other.snapshot().ended);
    }
}
