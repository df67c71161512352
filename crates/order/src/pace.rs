//! Pace of views: timeouts grow while views are lost and shrink while they are kept.
//!
//! A view is lost if its leader proposed and a quorum abandoned it all the same: votes take longer than replicas wait.
//! A view whose leader proposed nothing does not count, because the leader was idle or offline. If it counted, an idle
//! network would wait long for a leader that fails.
//!
//! State: `steps`, from 0 to twice `most`; rounds that were proposed, and rounds that were given up, up to 256 of each,
//! the oldest dropped first; `kept`, the newest round with a certified block. The factor on all timeouts is 2 to the
//! power of `steps` / 2, rounded up.
//!
//! - On a proposal in round r: if r was given up, it is lost. Otherwise remember r if it is newer than `kept`.
//! - On a quorum's `nullify` in r: if r was proposed, it is lost. Otherwise remember r if it is newer than `kept`.
//! - On a lost round: add 2 to `steps`, up to the maximum. A round is lost at most once.
//! - On a certified or final block in r newer than `kept`: set `kept` to r, subtract 1 from `steps`, and drop proposed
//!   rounds up to r.
//!
//! `most` is 6, or less if the timeout for a leader would exceed the configured maximum. All of it is in memory: a
//! restart begins with the configured timeouts. No message carries it, so replicas may differ, and no vote depends on
//! it.
use crate::limits::VIEWS_KEPT;
use crate::rest::{RESTING, Rest};
use crate::status::Status;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Maximum number of timeout doublings: a factor of 64.
const MOST: u32 = 6;

/// Weight of a lost view, in steps of half a doubling; a kept view undoes one step. f leaders of 3f + 1 can spoil one
/// view for more than two that are kept, so they cannot make timeouts grow for good.
const LOST: u32 = 2;

/// An epoch and a view in it.
type Round = (u64, u64);

/// How many times the wait for a leader may double without exceeding `longest`.
fn most(leader: Duration, longest: Duration) -> u32 {
    (0..MOST).take_while(|doublings| leader.saturating_mul(2 << doublings) <= longest).count() as u32
}

#[derive(Debug)]
struct Views {
    most: u32,
    steps: u32,
    /// Views whose leaders proposed, without an outcome yet.
    proposed: BTreeSet<Round>,
    /// Views that were abandoned, with no proposal of their leaders seen yet.
    given_up: BTreeSet<Round>,
    /// The latest view whose block was certified.
    kept: Round,
}

fn insert(rounds: &mut BTreeSet<Round>, round: Round) {
    rounds.insert(round);
    if rounds.len() > VIEWS_KEPT as usize {
        rounds.pop_first();
    }
}

impl Views {
    fn proposed(&mut self, round: Round) {
        if self.given_up.remove(&round) {
            self.lost();
        } else if round > self.kept {
            insert(&mut self.proposed, round);
        }
    }

    fn given_up(&mut self, round: Round) {
        if self.proposed.remove(&round) {
            self.lost();
        } else if round > self.kept {
            insert(&mut self.given_up, round);
        }
    }

    fn lost(&mut self) {
        self.steps = (self.steps + LOST).min(LOST * self.most);
    }

    fn kept(&mut self, round: Round) {
        if round > self.kept {
            self.kept = round;
            self.steps = self.steps.saturating_sub(1);
            self.proposed = self.proposed.split_off(&round);
            self.proposed.remove(&round);
        }
    }
}

/// The pace of a replica across all epochs. Clones share it.
#[derive(Clone)]
pub(crate) struct Pace {
    views: Arc<Mutex<Views>>,
    status: Status,
    rest: Option<Rest>,
}

impl Pace {
    /// Creates the pace for a wait for the leader that starts at `leader` and grows to at most `longest`; publishes it
    /// in `status`.
    pub(crate) fn new(leader: Duration, longest: Duration, status: Status) -> Self {
        let views = Views {
            most: most(leader, longest),
            steps: 0,
            proposed: BTreeSet::new(),
            given_up: BTreeSet::new(),
            kept: (0, 0),
        };
        Self { views: Arc::new(Mutex::new(views)), status, rest: None }
    }

    /// Adds a [`Rest`]: timeouts grow further while the replica rests.
    pub(crate) fn with_rest(self, rest: Rest) -> Self {
        Self { rest: Some(rest), ..self }
    }

    fn see(&self, see: impl FnOnce(&mut Views)) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        see(&mut views);
        self.status.waits(views.steps.div_ceil(LOST));
    }

    /// The leader of a view proposed a block. The engine reports it once per view; the leader itself may repeat it.
    pub(crate) fn proposed(&self, round: Round) {
        self.see(|views| views.proposed(round));
        if let Some(rest) = &self.rest {
            rest.proposed(round);
        }
    }

    /// The replica has entered a view.
    pub(crate) fn entered(&self, round: Round) {
        if let Some(rest) = &self.rest {
            rest.entered(round);
        }
    }

    /// A replica voted to abandon a view.
    pub(crate) fn contested(&self, round: Round) {
        if let Some(rest) = &self.rest {
            rest.contested(round);
        }
    }

    /// The block of a view is final.
    pub(crate) fn finalized(&self, round: Round) {
        self.kept(round);
        if let Some(rest) = &self.rest {
            rest.finalized(round);
        }
    }

    /// A quorum abandoned a view.
    pub(crate) fn given_up(&self, round: Round) {
        self.see(|views| views.given_up(round));
    }

    /// The block of a view is certified.
    pub(crate) fn certified(&self, round: Round) {
        self.kept(round);
        // A certified block was proposed, even if its proposal did not arrive here.
        if let Some(rest) = &self.rest {
            rest.proposed(round);
        }
    }

    fn kept(&self, round: Round) {
        self.see(|views| views.kept(round));
    }

    /// The factor on configured timeouts, and whether the replica rests.
    pub(crate) fn factor(&self) -> (u32, bool) {
        let is_resting = self.rest.as_ref().is_some_and(Rest::is_resting);
        let resting = if is_resting { RESTING } else { 1 };
        (self.status.timeout_factor() * resting, is_resting)
    }

    /// Publishes whether the replica rests.
    pub(crate) fn rests(&self, is_resting: bool) {
        self.status.rests(is_resting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(longest: u64) -> Pace {
        Pace::new(Duration::from_millis(250), Duration::from_millis(longest), Status::default())
    }

    #[test]
    fn it_doubles_with_each_view_that_is_lost_and_halves_with_two_that_are_kept() {
        let pace = pace(16_000);
        for (view, factor) in [(1, 2), (2, 4), (3, 8)] {
            pace.proposed((0, view));
            pace.given_up((0, view));
            assert_eq!(pace.factor().0, factor);
        }
        for (view, factor) in [(4, 8), (5, 4), (6, 4), (7, 2), (8, 2), (9, 1), (10, 1)] {
            pace.proposed((0, view));
            pace.kept((0, view));
            // A certified block is reported again when it becomes final.
            pace.kept((0, view));
            assert_eq!(pace.factor().0, factor);
        }
        // Views of the next epoch begin at 1 again.
        pace.given_up((1, 1));
        pace.proposed((1, 1));
        assert_eq!(pace.factor().0, 2);
    }

    #[test]
    fn a_view_is_lost_once_and_only_where_its_leader_proposed() {
        let pace = pace(16_000);
        for view in 1..1000 {
            pace.given_up((0, view));
        }
        assert_eq!(pace.factor().0, 1, "leaders were idle or away");
        pace.proposed((0, 1));
        assert_eq!(pace.factor().0, 1, "it is too long ago");
        pace.proposed((0, 999));
        pace.proposed((0, 999));
        assert_eq!(pace.factor().0, 2, "its leader's vote came late");
        pace.proposed((0, 1000));
        pace.kept((0, 1000));
        pace.given_up((0, 1000));
        pace.proposed((0, 1000));
        pace.kept((0, 1001));
        assert_eq!(pace.factor().0, 1, "a quorum kept it, and others had given it up");
    }

    #[test]
    fn leaders_that_spoil_all_their_turns_do_not_have_it_grow_for_good() {
        for (replicas, liars) in [(4, 1), (7, 2), (64, 21)] {
            let pace = pace(16_000);
            for view in 1..100 * replicas {
                pace.proposed((0, view));
                match view % replicas < liars {
                    true => pace.given_up((0, view)),
                    false => pace.kept((0, view)),
                }
                let is_last_of_round = view % replicas == replicas - 1;
                assert!(!is_last_of_round || pace.factor().0 == 1, "{replicas} replicas, view {view}");
            }
        }
    }

    #[test]
    fn there_is_a_longest_wait() {
        for (longest, factor) in [(0, 1), (250, 1), (499, 1), (500, 2), (3999, 8), (16_000, 64), (60_000, 64)] {
            let pace = pace(longest);
            for view in 1..10 {
                pace.proposed((0, view));
                pace.given_up((0, view));
            }
            assert_eq!(pace.factor().0, factor, "{longest} ms");
        }
    }
}
