//! Time as items have it: whole seconds since the store started, in 32 bits.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering::Relaxed},
};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

const NANOSECONDS: u64 = 1_000_000_000;

/// Seconds since the clock's start. 0 is never now, so that an expiry of 0 can mean never.
pub type Seconds = u32;

/// The clock at its start: later than 1, which stands for a moment before the start.
const START: Seconds = 2;

/// Expiry times up to this one, 30 days, are from now on; later ones are seconds since 1970 (memcached's protocol.txt).
const LONGEST_RELATIVE: i64 = 60 * 60 * 24 * 30;

/// An expiry that has always passed.
pub const OVER: Seconds = 1;

/// An expiry that never comes.
pub const NEVER: Seconds = 0;

/// A clock.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Instant,
    /// Seconds from 1970 to the clock's 0, as the system's clock showed last.
    epoch: Arc<AtomicI64>,
    /// The second at which it started or resumed.
    first: Seconds,
    /// Nanoseconds of the system's monotonic clock at the clock's 0, which may have been before its own.
    monotonic: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self::resume(START)
    }

    /// A clock that resumes from a number of seconds.
    pub fn resume(at: Seconds) -> Self {
        let offset = std::time::Duration::from_secs(at.into());
        // Read before the wall clock, so that no item expires later by this clock.
        let monotonic = clock_gettime(ClockId::Monotonic);
        let started = Instant::now();
        let monotonic = monotonic.tv_sec.cast_unsigned() * NANOSECONDS + monotonic.tv_nsec.cast_unsigned();
        Self {
            started: started.checked_sub(offset).unwrap_or(started),
            epoch: Arc::new(AtomicI64::new(since_1970() - i64::from(at))),
            first: at,
            monotonic: monotonic.wrapping_sub(u64::from(at) * NANOSECONDS),
        }
    }

    /// Seconds since the start.
    pub fn now(&self) -> Seconds {
        u32::try_from(self.started.elapsed().as_secs()).unwrap_or(u32::MAX).max(START)
    }

    /// Seconds since this clock was made.
    pub fn uptime(&self, now: Seconds) -> Seconds {
        now.saturating_sub(self.first)
    }

    /// A clock that resumes as if it had run since a second that was `since_1970` then.
    pub fn go_on(at: Seconds, since_1970: i64) -> Self {
        // A system's clock that was set back stops ours for the time that it stood still.
        let passed = Self::resume(at).since_1970(at).saturating_sub(since_1970).max(0);
        Self::resume(at.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX)))
    }

    /// A moment in nanoseconds of the system's monotonic clock.
    pub fn monotonic(&self, at: Seconds) -> u64 {
        self.monotonic.wrapping_add(u64::from(at) * NANOSECONDS)
    }

    /// A moment in seconds since 1970.
    pub fn since_1970(&self, at: Seconds) -> i64 {
        self.epoch() + i64::from(at)
    }

    /// Seconds from 1970 to the clock's 0. Where the system's clock was stepped since it was read last, it moves with
    /// it: times of requests are of the clock that clients see now.
    fn epoch(&self) -> i64 {
        let now = since_1970() - i64::try_from(self.started.elapsed().as_secs()).unwrap_or(i64::MAX);
        let kept = self.epoch.load(Relaxed);
        // The two clocks begin their seconds at different moments.
        if now.abs_diff(kept) <= 1 {
            return kept;
        }
        self.epoch.store(now, Relaxed);
        now
    }

    /// The moment of a request's expiry time.
    pub fn expiry(&self, time: i64, now: Seconds) -> Seconds {
        match time {
            0 => NEVER,
            ..0 => OVER,
            1..=LONGEST_RELATIVE => now.saturating_add(time as u32),
            _ => u32::try_from((time - self.epoch()).max(OVER.into())).unwrap_or(u32::MAX),
        }
    }
}

/// Seconds since 1970 by the system's clock.
fn since_1970() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64)
}

/// Whether an expiry has passed.
#[inline]
pub fn is_over(expiry: Seconds, now: Seconds) -> bool {
    expiry != NEVER && expiry <= now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_times_are_relative_up_to_thirty_days_and_absolute_beyond() {
        let clock = Clock::resume(1000);
        assert!((1000..1010).contains(&clock.now()));
        assert_eq!(clock.expiry(0, 1000), NEVER);
        assert_eq!(clock.expiry(-1, 1000), OVER);
        assert_eq!(clock.expiry(i64::MIN, 1000), OVER);
        assert_eq!(clock.expiry(5, 1000), 1005);
        assert_eq!(clock.expiry(LONGEST_RELATIVE, 1000), 1000 + 2_592_000);
        assert_eq!(clock.expiry(LONGEST_RELATIVE + 1, 1000), OVER);
        let later = clock.since_1970(5000);
        assert_eq!(clock.expiry(later, 1000), 5000);
        assert_eq!(clock.expiry(i64::MAX, 1000), u32::MAX);
    }

    #[test]
    fn a_clock_goes_on_where_it_was() {
        let now_1970 = Clock::start().since_1970(START);
        let later = Clock::go_on(1000, now_1970 - 50);
        assert!((1050..1060).contains(&later.now()) && later.uptime(later.now()) < 10);
        // An item's expiry stays at the same moment.
        assert!((later.since_1970(1050) - now_1970).abs() <= 1);
        assert!((1000..1010).contains(&Clock::go_on(1000, now_1970 + 50).now()));
    }

    #[test]
    fn never_is_never_over() {
        assert!(!is_over(NEVER, u32::MAX));
        assert!(is_over(OVER, START) && is_over(7, 7) && !is_over(8, 7));
    }
}
