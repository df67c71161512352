//! Timeouts of a replica.
use std::time::Duration;

/// Timeouts of a replica. All are local: replicas may differ. The voting engine's waits grow when proposed blocks are
/// abandoned, and shrink again.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Wait for the leader's proposal before voting to go on without it.
    pub leader: Duration,
    /// Maximum of that wait as it grows. All others grow in proportion, at most to 64 times the value here.
    pub longest: Duration,
    /// Wait for a quorum's votes on the proposal; longer than `leader`.
    pub certification: Duration,
    /// Interval between repetitions of a vote to go on.
    pub retry: Duration,
    /// After this time without any vote of a leader, while a quorum votes, its turns are skipped. It is longer than all
    /// of the above. Until then a leader that fails costs a wait for its proposal in each of its turns.
    pub silence: Duration,
    /// Wait for another replica's reply before asking the next one.
    pub fetch: Duration,
}

impl Default for Timing {
    /// For replicas in one building: round trips and disk syncs of a few milliseconds.
    fn default() -> Self {
        Self {
            leader: Duration::from_millis(60),
            longest: Duration::from_secs(16),
            certification: Duration::from_millis(120),
            retry: Duration::from_millis(250),
            silence: Duration::from_millis(500),
            fetch: Duration::from_millis(250),
        }
    }
}

impl Timing {
    /// Timeouts with this wait for a leader's proposal, and the others long enough beside it.
    pub fn with_leader(leader: Duration) -> Self {
        let least = Self::default();
        let silence = least.silence.max(4 * leader);
        Self { leader, certification: 2 * leader, retry: least.retry.max(leader), silence, ..least }
    }

    /// Whether the timeouts are consistent.
    pub(crate) fn is_sound(&self) -> bool {
        let waits = [self.leader, self.certification, self.retry, self.fetch];
        let positive = waits.iter().all(|wait| !wait.is_zero());
        let ascending = self.leader < self.certification && self.certification.max(self.retry) < self.silence;
        positive && ascending
    }
}
