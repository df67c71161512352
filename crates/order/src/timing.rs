//! How long a replica waits.
use std::time::Duration;

/// How long a replica waits. All are local: replicas may differ. What the engine of votes waits for grows as blocks are proposed
/// and given up all the same, and shrinks again.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// For the leader's proposal, before it votes to go on without it.
    pub leader: Duration,
    /// For it at most, as the wait grows; all others grow in proportion, and none to more than 64 times what is told here.
    pub longest: Duration,
    /// For a quorum's votes on it; longer than that for the leader.
    pub certification: Duration,
    /// Between repetitions of a vote to go on.
    pub retry: Duration,
    /// Without any sign of a leader, after which its turns are not waited for; longer than all of the above.
    pub silence: Duration,
    /// For an answer of another replica, before another one is asked.
    pub fetch: Duration,
}

impl Default for Timing {
    /// For replicas in one building: a round trip of some milliseconds, and disks that sync in some.
    fn default() -> Self {
        Self {
            leader: Duration::from_millis(60),
            longest: Duration::from_secs(16),
            certification: Duration::from_millis(120),
            retry: Duration::from_millis(250),
            silence: Duration::from_secs(2),
            fetch: Duration::from_millis(250),
        }
    }
}

impl Timing {
    /// Whether the waits make sense together.
    pub(crate) fn is_sound(&self) -> bool {
        let waits = [self.leader, self.certification, self.retry, self.fetch];
        let positive = waits.iter().all(|wait| !wait.is_zero());
        let ascending = self.leader < self.certification && self.certification.max(self.retry) < self.silence;
        positive && ascending
    }
}
