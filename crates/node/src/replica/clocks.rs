//! Compares this node's clock with the times of blocks, for the log, `/ready` and metrics.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::admission;

/// Interval between logs of a difference.
const REPORT: Duration = Duration::from_secs(60);

/// Number of consecutive proposals with times too far in the past after which this node's clock counts as ahead: a
/// single one may be from a leader with a slow clock.
const PROPOSALS: u32 = 8;

const TOLERANCE: u64 = ledger::CLOCK_TOLERANCE.as_micros() as u64;

/// The times of blocks, in microseconds since the Unix epoch.
#[derive(Debug, Default)]
pub struct Clocks {
    /// The time of the last block that was executed.
    block: AtomicU64,
    /// By how much this clock was ahead of the last proposal of another replica.
    ahead: AtomicU64,
    /// Proposals in a row that it was too far ahead of.
    proposals: AtomicU32,
    /// By how much the last proposal of another replica was too far ahead of this clock.
    behind: AtomicU64,
    /// When each kind of difference was logged last.
    reported: Mutex<[Option<Instant>; 3]>,
}

/// The kinds of differences.
#[derive(Clone, Copy)]
enum Difference {
    /// A leader's proposal is ahead of this clock.
    Proposal,
    /// This clock is ahead of the other replicas'.
    Clock,
    /// The time of blocks is ahead of this clock.
    Blocks,
}

impl Clocks {
    /// Whether a difference is to be logged now. Each kind has its own turn: one must not hide another.
    fn is_due(&self, difference: Difference) -> bool {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let last = &mut reported[difference as usize];
        let is_due = last.is_none_or(|last| last.elapsed() >= REPORT);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }

    /// Whether replicas may vote for a block of this time on a parent of that time.
    ///
    /// No leader advances the time of blocks further than the tolerance beyond the clocks of a quorum. The parent's
    /// time was accepted by a quorum, whatever clocks show since: blocks go on with it until the clocks have passed it.
    pub fn accepts(time: u64, parent: u64, now: u64) -> bool {
        time <= parent.max(now.saturating_add(TOLERANCE))
    }

    /// A leader proposes a block of this time on a parent of that time.
    pub fn proposed(&self, time: u64, parent: u64) {
        let now = admission::now();
        // If the parent's time is ahead of its clock, a leader can only repeat that time.
        if time <= parent {
            return;
        }
        let is_accepted = Self::accepts(time, parent, now);
        self.behind.store(if is_accepted { 0 } else { time.saturating_sub(now) }, Relaxed);
        if !is_accepted && self.is_due(Difference::Proposal) {
            tracing::warn!(
                seconds = time.saturating_sub(now) / 1_000_000,
                "a leader proposed a block ahead of this node's clock: this replica votes only once its clock has \
                 reached it; set the clocks of all replicas by NTP"
            );
        }
        let ahead = now.saturating_sub(time);
        self.ahead.store(ahead, Relaxed);
        if ahead <= TOLERANCE {
            self.proposals.store(0, Relaxed);
        } else if self.proposals.fetch_add(1, Relaxed) + 1 >= PROPOSALS && self.is_due(Difference::Clock) {
            tracing::warn!(
                seconds = ahead / 1_000_000,
                "this node's clock is ahead of the other replicas': they do not vote for the blocks that it proposes; \
                 set it by NTP"
            );
        }
    }

    /// A block of a time was executed.
    pub fn executed(&self, time: u64) {
        self.block.store(time, Relaxed);
        let seconds = self.block_ahead();
        if seconds > 0 && self.is_due(Difference::Blocks) {
            tracing::warn!(
                seconds,
                "the time of blocks is ahead of this node's clock: blocks keep that time until the clocks have passed \
                 it, and operations signed now may be STALE_TIMESTAMP until then; set the clocks of all replicas by NTP"
            );
        }
    }

    /// Seconds by which the time of blocks is ahead of this node's clock; 0 within the tolerance.
    pub fn block_ahead(&self) -> u64 {
        let ahead = self.block.load(Relaxed).saturating_sub(admission::now());
        if ahead > TOLERANCE { ahead / 1_000_000 } else { 0 }
    }

    /// Seconds by which this node's clock is ahead of the other replicas'; 0 within the tolerance.
    pub fn clock_ahead(&self) -> u64 {
        let is_ahead = self.proposals.load(Relaxed) >= PROPOSALS;
        if is_ahead { self.ahead.load(Relaxed) / 1_000_000 } else { 0 }
    }

    /// Seconds by which another replica's last proposal was ahead of this node's clock; 0 within the tolerance.
    pub fn clock_behind(&self) -> u64 {
        self.behind.load(Relaxed) / 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn blocks_go_on_with_the_time_of_a_parent_that_is_ahead_of_all_clocks() {
        let now = 1000 * SECOND;
        for (time, parent, is_accepted) in [
            (now, now - SECOND, true),
            (now + TOLERANCE, now, true),
            (now + TOLERANCE + 1, now, false),
            (now + 600 * SECOND, now + 600 * SECOND, true),
            (now + 600 * SECOND + 1, now + 600 * SECOND, false),
            (now + TOLERANCE, now + SECOND, true),
        ] {
            assert_eq!(Clocks::accepts(time, parent, now), is_accepted, "time {time}, parent {parent}");
        }
    }

    #[test]
    fn a_clock_is_ahead_where_all_proposals_are_in_the_past() {
        let clocks = Clocks::default();
        let now = admission::now();
        for _ in 0..PROPOSALS {
            assert_eq!(clocks.clock_ahead(), 0);
            clocks.proposed(now - 600 * SECOND, now - 700 * SECOND);
        }
        assert!((600..700).contains(&clocks.clock_ahead()));
        // A block that repeats its parent's time says nothing about a clock.
        clocks.proposed(now - 700 * SECOND, now - 700 * SECOND);
        assert!(clocks.clock_ahead() > 0);
        clocks.proposed(admission::now(), now - 700 * SECOND);
        assert_eq!((clocks.clock_ahead(), clocks.clock_behind()), (0, 0));
        clocks.proposed(now + 700 * SECOND, now);
        assert!((600..=700).contains(&clocks.clock_behind()));
        clocks.executed(now);
        assert_eq!(clocks.block_ahead(), 0);
        clocks.executed(now + 700 * SECOND);
        assert!((600..=700).contains(&clocks.block_ahead()));
    }
}
