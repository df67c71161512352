//! The status of a follower: its node, and its lag.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

use super::FollowError;

/// The reports of the node, and the progress of this one. Any thread reads it.
#[derive(Debug)]
pub struct FollowStatus {
    /// The node's address.
    pub node: SocketAddr,
    is_up: AtomicBool,
    reconnections: AtomicU64,
    /// The node's last durable operation.
    durable: AtomicU64,
    executed: AtomicU64,
    /// Height of the last block that is published here.
    height: AtomicU64,
    /// Number of operations that wait for the header of their block.
    waiting: AtomicU64,
    level: Mutex<Level>,
    stopped: OnceLock<FollowError>,
}

/// When this node had all that the node reported.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The time of a report of which everything is executed.
    since: Instant,
    /// A later report of which something is missing: the operation, and its time. Of all such reports only this and the
    /// last are stored, so the lag is never underestimated.
    next: Option<(u64, Instant)>,
    last: Option<(u64, Instant)>,
}

impl Level {
    fn advance(&mut self, executed: u64) {
        let Some((_, time)) = self.next.filter(|(durable, _)| *durable <= executed) else { return };
        self.since = time;
        self.next = self.last.filter(|(_, last)| *last > time);
        if let Some((_, time)) = self.next.filter(|(durable, _)| *durable <= executed) {
            (self.since, self.next) = (time, None);
        }
    }
}

impl FollowStatus {
    /// The status at the start.
    pub(super) fn new(node: SocketAddr, executed: u64, height: u64) -> Self {
        Self {
            node,
            is_up: AtomicBool::new(false),
            reconnections: AtomicU64::new(0),
            durable: AtomicU64::new(executed),
            executed: AtomicU64::new(executed),
            height: AtomicU64::new(height),
            waiting: AtomicU64::new(0),
            level: Mutex::new(Level { since: Instant::now(), next: None, last: None }),
            stopped: OnceLock::new(),
        }
    }

    fn level(&self) -> MutexGuard<'_, Level> {
        // No holder of the lock panics.
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node reported its last durable operation.
    pub(super) fn report(&self, durable: u64) {
        self.durable.store(durable, Relaxed);
        let mut level = self.level();
        level.last = Some((durable, Instant::now()));
        level.next = level.next.or(level.last);
        level.advance(self.executed.load(Relaxed));
    }

    /// The operations up to `executed` are executed, and the blocks up to `height` published.
    pub(super) fn advance(&self, executed: u64, height: u64, waiting: usize) {
        self.executed.store(executed, Relaxed);
        self.waiting.store(waiting as u64, Relaxed);
        self.height.store(height, Release);
        self.level().advance(executed);
    }

    pub(super) fn set_up(&self, is_up: bool) -> bool {
        self.is_up.swap(is_up, Relaxed) != is_up
    }

    pub(super) fn set_reconnections(&self, count: u64) {
        self.reconnections.store(count, Relaxed);
    }

    /// Ends the following for good.
    pub(super) fn stop(&self, error: FollowError) {
        if let Err(error) = self.stopped.set(error) {
            tracing::debug!(%error, "the follower has stopped already");
        }
    }

    pub(super) fn height(&self) -> u64 {
        self.height.load(Acquire)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// Whether the node answers.
    pub fn is_up(&self) -> bool {
        self.is_up.load(Relaxed)
    }

    /// Number of connections to the node after the first.
    pub fn reconnections(&self) -> u64 {
        self.reconnections.load(Relaxed)
    }

    /// Number of operations that the node reported durable, and that are not executed here.
    pub fn behind(&self) -> u64 {
        self.durable.load(Relaxed).saturating_sub(self.executed.load(Relaxed))
    }

    /// Time since this node had everything that the node reported: up to a second without operations.
    pub fn lag(&self) -> Duration {
        self.level().since.elapsed()
    }

    /// Why this node follows no more, if so.
    pub fn stopped(&self) -> Option<&FollowError> {
        self.stopped.get()
    }

    /// Whether what the node sent contradicts itself: nothing may be served.
    pub fn has_diverged(&self) -> bool {
        self.stopped().is_some_and(FollowError::is_contradiction)
    }

    /// The value of replies with `FOLLOWER`: the node's IPv4 address and port; 0 for IPv6.
    pub fn value(&self) -> u64 {
        match self.node {
            SocketAddr::V4(node) => u64::from(node.ip().to_bits()) << 16 | u64::from(node.port()),
            SocketAddr::V6(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_is_level_with_a_report() {
        let status = FollowStatus::new("10.0.0.7:7400".parse().unwrap(), 0, 0);
        assert_eq!(status.value(), 0x0a00_0007_1ce8);
        let begin = status.level().since;
        status.report(10);
        assert_eq!((status.behind(), status.level().since), (10, begin));
        let (_, first) = status.level().next.unwrap();
        status.report(20);
        status.advance(9, 1, 0);
        assert_eq!((status.behind(), status.level().since), (11, begin));
        status.advance(15, 2, 0);
        assert_eq!((status.behind(), status.level().since), (5, first));
        let (_, last) = status.level().last.unwrap();
        status.advance(20, 3, 0);
        assert_eq!((status.behind(), status.level().since), (0, last));
        assert!(status.level().next.is_none());
        // An idle node reports the same again.
        status.report(20);
        assert!(status.level().since >= last && status.level().next.is_none());
    }
}
