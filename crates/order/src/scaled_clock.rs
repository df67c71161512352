//! A runtime with a slower clock, which stretches all waits by the factor of a [`Pace`].
//!
//! The voting engine derives its deadlines from its clock and fixed durations. Slowing the clock stretches all of them
//! in proportion, including those already set, and no vote or message depends on it.
use crate::pace::Pace;
use crate::rest::RESTING;
use crate::with_clock::{Timer, WithClock};
use commonware_runtime::{Clock, Supervisor};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Granularity of sleeps on the slower clock. If the factor falls, a sleeper notices at most this much later.
const LOOK: Duration = Duration::from_millis(5);

/// The same while the replica rests. Work can end a rest at any time.
const RESTING_LOOK: Duration = Duration::from_millis(100);

/// The last change of the factor: its time on both clocks, and the factor since.
#[derive(Debug)]
struct Change {
    real: SystemTime,
    slow: SystemTime,
    factor: u32,
    is_resting: bool,
}

impl Change {
    /// Time on this clock. The real clock may be set back.
    fn at(&self, real: SystemTime) -> SystemTime {
        match real.duration_since(self.real) {
            Ok(passed) => self.slow + passed / self.factor,
            Err(back) => self.slow - back.duration() / self.factor,
        }
    }
}

pub(crate) struct ScaledClock<E> {
    real: E,
    pace: Pace,
    change: Mutex<Change>,
}

impl<E: Clock> ScaledClock<E> {
    /// Returns the time and the factor from now on. Whoever changes the factor must then read the clock.
    fn look(&self) -> (SystemTime, u32) {
        let real = self.real.current();
        let mut change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let (slow, (factor, is_resting)) = (change.at(real), self.pace.factor());
        if is_resting != change.is_resting {
            self.pace.rests(is_resting);
        }
        if factor != change.factor {
            *change = Change { real, slow, factor, is_resting };
        }
        (slow, factor)
    }
}

impl<E: Clock> Timer for ScaledClock<E> {
    fn current(&self) -> SystemTime {
        self.look().0
    }

    async fn sleep_until(self: Arc<Self>, deadline: SystemTime) {
        loop {
            let (now, factor) = self.look();
            let left = deadline.duration_since(now).unwrap_or_default();
            if left.is_zero() {
                return;
            }
            // The remainder is the least real time that it takes, whatever the factor becomes.
            let longest = if factor < RESTING { left.max(LOOK) } else { left.clamp(LOOK, RESTING_LOOK) };
            self.real.sleep(longest.min(left.saturating_mul(factor))).await;
        }
    }
}

/// A runtime whose clock slows down by its [`Pace`].
pub(crate) type WithScaledClock<E> = WithClock<E, ScaledClock<E>>;

impl<E: Clock + Supervisor> WithScaledClock<E> {
    /// A runtime with the slower clock.
    pub(crate) fn new(runtime: E, pace: Pace) -> Self {
        let real = runtime.child("clock");
        let now = real.current();
        let change = Mutex::new(Change { real: now, slow: now, factor: 1, is_resting: false });
        Self::from_parts(runtime, ScaledClock { real, pace, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Status;
    use commonware_runtime::{Runner, deterministic};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_follow_the_factor_those_under_way_as_well() {
        deterministic::Runner::default().start(|context| async move {
            let status = Status::default();
            let pace = Pace::new(SECOND, 64 * SECOND, status.clone());
            let scaled = WithScaledClock::new(context.child("patient"), pace);
            // Real time that a wait on this clock takes.
            let wait = async |sleep| {
                let since = context.current();
                scaled.sleep(sleep).await;
                context.current().duration_since(since).unwrap()
            };
            assert_eq!(wait(SECOND).await, SECOND);
            status.waits(2);
            let four = wait(SECOND).await;
            assert!(four >= 4 * SECOND && four < 4 * SECOND + LOOK, "{four:?}");
            // The factor rises and falls during a sleep.
            let (later, since) = (scaled.sleep(4 * SECOND), context.current());
            status.waits(0);
            scaled.current();
            context.sleep(SECOND).await;
            status.waits(1);
            scaled.current();
            context.sleep(2 * SECOND).await;
            status.waits(0);
            scaled.current();
            later.await;
            let passed = context.current().duration_since(since).unwrap();
            assert!(passed >= 5 * SECOND && passed < 5 * SECOND + LOOK, "{passed:?}");
        });
    }

    #[test]
    fn a_true_clock_that_is_set_back_sets_this_one_back() {
        let (real, slow) = (SystemTime::UNIX_EPOCH + 100 * SECOND, SystemTime::UNIX_EPOCH + 70 * SECOND);
        let change = Change { real, slow, factor: 4, is_resting: false };
        assert_eq!(change.at(real + 8 * SECOND), slow + 2 * SECOND);
        assert_eq!(change.at(real - 8 * SECOND), slow - 2 * SECOND);
    }
}
