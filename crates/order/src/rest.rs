//! Whether a replica rests: there is nothing to order, so views may last.
//!
//! A view without a proposal ends after some hundred milliseconds, with votes on every disk. That is useless while
//! there is nothing to order: the leader waits for work, and so do all others. A resting replica therefore makes the
//! engine's waits [`RESTING`] times as long.
//!
//! State: the newest round that was `entered`, `proposed`, `finalized` and `contested`; each only grows. A replica
//! rests while all of these hold:
//!
//! - it has entered a round, so it has seen a certificate since its start;
//! - `proposed` is not newer than `finalized`: no proposed block waits for votes;
//! - `contested` is older than `entered`: no replica wants to end the present round;
//! - the application [is idle](Application::is_idle).
//!
//! On a vote to give up a round that ended two or more views ago, or in an earlier epoch: contest the present round.
//! Its voter missed what happened since, and learns of it when the present round ends. A vote for the round before is
//! usually just late, and changes nothing.
//!
//! Waits also end while replicas rest, so nothing depends on all of them agreeing on whether there is work.
use crate::application::Application;
use std::sync::{Arc, Mutex, PoisonError};

/// The factor by which a resting replica's waits are longer.
///
/// The waits still end, so that nothing depends on all replicas agreeing on whether there is work: a view of 250 ms
/// lasts a minute.
pub(crate) const RESTING: u32 = 256;

/// An epoch and a view of it.
type Round = (u64, u64);

/// The latest rounds of each kind.
#[derive(Debug, Default)]
struct Rounds {
    /// The round that the replica is in; zero before the first certificate since its start.
    entered: Round,
    proposed: Round,
    finalized: Round,
    /// The latest round that some replica voted to give up.
    contested: Round,
}

impl Rounds {
    /// Whether no round has a reason to end.
    fn is_settled(&self) -> bool {
        self.entered != Round::default() && self.proposed <= self.finalized && self.contested < self.entered
    }
}

/// What a replica knows about work. Clones share it.
#[derive(Clone)]
pub(crate) struct Rest {
    application: Arc<dyn Application>,
    rounds: Arc<Mutex<Rounds>>,
}

impl Rest {
    /// A replica that has just started. It does not rest before it has seen where the others are.
    pub(crate) fn new(application: Arc<dyn Application>) -> Self {
        Self { application, rounds: Arc::default() }
    }

    fn update(&self, update: impl FnOnce(&mut Rounds)) {
        update(&mut self.rounds.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether the replica rests now.
    pub(crate) fn is_resting(&self) -> bool {
        let is_settled = self.rounds.lock().unwrap_or_else(PoisonError::into_inner).is_settled();
        is_settled && self.application.is_idle()
    }

    pub(crate) fn entered(&self, round: Round) {
        self.update(|rounds| rounds.entered = rounds.entered.max(round));
    }

    pub(crate) fn proposed(&self, round: Round) {
        self.update(|rounds| rounds.proposed = rounds.proposed.max(round));
    }

    pub(crate) fn finalized(&self, round: Round) {
        self.update(|rounds| rounds.finalized = rounds.finalized.max(round));
    }

    /// Records that a replica voted to give up a round.
    ///
    /// A vote for a round that ended two or more rounds ago comes from a replica that missed what happened since; it
    /// learns of it when the current round ends. Votes for the round before are usually just late.
    pub(crate) fn contested(&self, round: Round) {
        self.update(|rounds| {
            let (epoch, view) = rounds.entered;
            let lags = round.0 < epoch || round.0 == epoch && round.1 + 1 < view;
            rounds.contested = rounds.contested.max(if lags { rounds.entered } else { round });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_rests_where_no_round_is_to_end() {
        let settled =
            |entered, proposed, finalized, contested| Rounds { entered, proposed, finalized, contested }.is_settled();
        assert!(!settled((0, 0), (0, 0), (0, 0), (0, 0)), "it does not know where the others are");
        assert!(settled((0, 5), (0, 4), (0, 4), (0, 4)));
        assert!(!settled((0, 5), (0, 5), (0, 4), (0, 4)), "a block is proposed");
        assert!(!settled((0, 5), (0, 4), (0, 4), (0, 5)), "a replica would give up the present view");
        assert!(!settled((0, 5), (0, 4), (0, 4), (1, 1)), "others are in a later epoch");
        assert!(settled((1, 2), (1, 1), (1, 1), (0, 9)));
    }
}
