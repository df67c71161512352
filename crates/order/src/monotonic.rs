//! A clock for waits: set once from the system's, and never stepped afterwards.
use crate::with_clock::{Timer, WithClock};
use commonware_runtime::tokio::Context;
use commonware_runtime::{Clock, Supervisor};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The system's time at the start, plus the time since then by the system's monotonic clock.
///
/// All deadlines, pauses between attempts and message rates are computed from it. With a clock that is set back, they
/// would last longer by as much.
pub(crate) struct MonotonicClock {
    context: Context,
    started: Instant,
    origin: SystemTime,
}

impl Timer for MonotonicClock {
    fn current(&self) -> SystemTime {
        self.origin + self.started.elapsed()
    }

    async fn sleep_until(self: Arc<Self>, deadline: SystemTime) {
        let left: Duration = deadline.duration_since(self.current()).unwrap_or_default();
        // The runtime's timers are monotonic if given a duration.
        self.context.sleep(left).await;
    }
}

/// The runtime of a program with a clock that is never stepped.
pub(crate) type Monotonic = WithClock<Context, MonotonicClock>;

impl Monotonic {
    /// Starts the clock.
    pub(crate) fn new(runtime: Context) -> Self {
        let context = runtime.child("monotonic");
        let clock = MonotonicClock { context, started: Instant::now(), origin: SystemTime::now() };
        Self::from_parts(runtime, clock)
    }
}
