//! How a replica fares, for metrics and health.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
struct Numbers {
    view: AtomicU64,
    leader: AtomicU64,
    height: AtomicU64,
    votes: AtomicU64,
    abandoned: AtomicU64,
    evidence: AtomicU64,
    ended: AtomicBool,
}

/// How a replica fares. Clones show the same replica.
#[derive(Clone, Debug, Default)]
pub struct Status(Arc<Numbers>);

/// [`Status`] at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusSnapshot {
    /// The view that the replica is in.
    pub view: u64,
    /// The number of the replica that leads it.
    pub leader: u32,
    /// The height up to which the application has what is final.
    pub height: u64,
    /// Votes that were counted since the start, the own ones too.
    pub votes: u64,
    /// Views that a quorum gave up since the start: their leaders were away, slow or wrong.
    pub abandoned: u64,
    /// Pieces of evidence that are kept.
    pub evidence: u64,
    /// It has ended, on its own or as it was told to.
    pub ended: bool,
}

impl Status {
    /// What is so now. The numbers are read one after the other.
    pub fn snapshot(&self) -> StatusSnapshot {
        let numbers = &self.0;
        StatusSnapshot {
            view: numbers.view.load(Relaxed),
            leader: numbers.leader.load(Relaxed) as u32,
            height: numbers.height.load(Relaxed),
            votes: numbers.votes.load(Relaxed),
            abandoned: numbers.abandoned.load(Relaxed),
            evidence: numbers.evidence.load(Relaxed),
            ended: numbers.ended.load(Relaxed),
        }
    }

    /// A view began, unless a later one has.
    pub(crate) fn entered(&self, view: u64, leader: u32) {
        if self.0.view.fetch_max(view, Relaxed) < view {
            self.0.leader.store(leader.into(), Relaxed);
        }
    }

    pub(crate) fn voted(&self) {
        self.0.votes.fetch_add(1, Relaxed);
    }

    pub(crate) fn abandoned(&self) {
        self.0.abandoned.fetch_add(1, Relaxed);
    }

    pub(crate) fn delivered(&self, height: u64) {
        self.0.height.fetch_max(height, Relaxed);
    }

    pub(crate) fn keeps_evidence(&self, pieces: u64) {
        self.0.evidence.store(pieces, Relaxed);
    }

    pub(crate) fn ended(&self) {
        self.0.ended.store(true, Relaxed);
    }

    /// The height up to which the application has what is final.
    pub(crate) fn height(&self) -> u64 {
        self.0.height.load(Relaxed)
    }
}
