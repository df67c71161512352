//! How a replica fares, for metrics and health.
use spv::finality::Certificate;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
struct Numbers {
    round: AtomicU64,
    /// When it began, in milliseconds after the status was made.
    entered: AtomicU64,
    /// When it had work again after it rested, likewise.
    woken: AtomicU64,
    is_resting: AtomicBool,
    leader: AtomicU64,
    height: AtomicU64,
    votes: AtomicU64,
    abandoned: AtomicU64,
    /// How often what it waits for was doubled.
    doublings: AtomicU32,
    evidence: AtomicU64,
    ended: AtomicBool,
    certificate: Mutex<Option<Arc<Certificate>>>,
}

/// Bits of a view in a number that has its epoch in the others: as many views of an epoch, and epochs, as centuries give.
const VIEW_BITS: u32 = 40;

/// How a replica fares. Clones show the same replica.
#[derive(Clone, Debug)]
pub struct Status {
    numbers: Arc<Numbers>,
    since: Instant,
}

/// [`Status`] at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusSnapshot {
    /// The epoch that the replica is in.
    pub epoch: u64,
    /// The view that the replica is in: the first of an epoch is 1.
    pub view: u64,
    /// How long it has been in it with work to do. A view ends when its block is notarized or a quorum gives it up; so
    /// one that lasts shows that no quorum can be reached. Zero while the replica rests.
    pub in_view: Duration,
    /// Nothing is to be ordered: the view lasts until there is.
    pub is_resting: bool,
    /// The number of the replica that leads it.
    pub leader: u32,
    /// The height up to which the application has what is final.
    pub height: u64,
    /// Votes that were counted since the start, the own ones too.
    pub votes: u64,
    /// Views that a quorum gave up since the start: their leaders were away, slow or wrong.
    pub abandoned: u64,
    /// How many times as long as configured it waits, as blocks were proposed and given up all the same: 1 to 64.
    pub timeout_factor: u32,
    /// Pieces of evidence that are kept.
    pub evidence: u64,
    /// It has ended, on its own or as it was told to.
    pub ended: bool,
}

impl Default for Status {
    fn default() -> Self {
        Self { numbers: Arc::default(), since: Instant::now() }
    }
}

impl Status {
    /// What is so now. The numbers are read one after the other.
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

    /// Whether the replica has ended, by itself or because it was stopped.
    pub fn has_ended(&self) -> bool {
        self.numbers.ended.load(Relaxed)
    }

    /// The newest certificate of a block that the application has.
    pub fn certificate(&self) -> Option<Arc<Certificate>> {
        self.numbers.certificate.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn certified(&self, certificate: Certificate) {
        *self.numbers.certificate.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificate.into());
    }

    /// A view of an epoch began, unless a later one has.
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

    /// What it waits for was doubled so often.
    pub(crate) fn waits(&self, doublings: u32) {
        self.numbers.doublings.store(doublings, Relaxed);
    }

    /// How many times as long as configured it waits.
    pub(crate) fn timeout_factor(&self) -> u32 {
        1 << self.numbers.doublings.load(Relaxed)
    }

    /// It rests, or has work again.
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

    /// The height up to which the application has what is final.
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
        // A view is told of late.
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
