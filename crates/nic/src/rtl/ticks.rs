//! The clock of the NIC's memory of retries: it forgets no operation before eight ticks (`dedup_window.sv`), so ticks
//! at intervals of a seventh of the retry time keep each operation at least that long.

use std::time::{Duration, Instant};

/// Ticks after which an operation may be forgotten.
const TICKS: u32 = 8;

/// When the next tick is due.
#[derive(Debug)]
pub struct Ticks {
    interval: Duration,
    next: Instant,
    /// When the NIC last executed: nothing was remembered since.
    executed: Instant,
}

impl Ticks {
    /// Ticks for operations that are remembered for at least `retention`.
    pub fn new(retention: Duration, now: Instant) -> Self {
        // Rounded up, so that seven of them are not less.
        let interval = retention / (TICKS - 1) + Duration::from_nanos(1);
        Self { interval, next: now + interval, executed: now }
    }

    /// Number of ticks to apply before the NIC executes again.
    pub fn due(&mut self, now: Instant) -> u32 {
        for ticks in 0..TICKS {
            if self.next > now {
                return ticks;
            }
            // A late tick counts from when it was due, or from the last operation before it.
            self.next = self.next.max(self.executed) + self.interval;
        }
        // Everything is old.
        self.next = now + self.interval;
        TICKS
    }

    /// The NIC may have executed until now.
    pub fn executed(&mut self, now: Instant) {
        self.executed = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RETENTION: Duration = Duration::from_secs(7);

    #[test]
    fn after_a_pause_all_is_old_at_once() {
        let start = Instant::now();
        let mut ticks = Ticks::new(RETENTION, start);
        assert_eq!(ticks.due(start), 0);
        assert_eq!(ticks.due(start + Duration::from_millis(1001)), 1);
        ticks.executed(start + Duration::from_millis(1500));
        assert_eq!(ticks.due(start + Duration::from_secs(100)), TICKS);
        assert_eq!(ticks.due(start + Duration::from_secs(101)), 0);
    }

    proptest! {
        /// Whenever the NIC executes, each operation is remembered for the retry time.
        #[test]
        fn nothing_is_old_too_soon(turns in proptest::collection::vec((0..3_000_u64, 0..3_000_u64), 1..200)) {
            let mut now = Instant::now();
            let mut ticks = Ticks::new(RETENTION, now);
            // When operations were executed, and after how many ticks.
            let (mut given, mut executed) = (0, Vec::new());
            for (pause, takes) in turns {
                now += Duration::from_millis(pause);
                given += ticks.due(now);
                for (at, after) in &executed {
                    prop_assert!(given - after < TICKS || now - *at >= RETENTION);
                }
                now += Duration::from_millis(takes);
                executed.push((now, given));
                ticks.executed(now);
            }
        }
    }
}
