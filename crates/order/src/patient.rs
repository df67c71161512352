//! A runtime with a slower clock: whoever waits by it waits longer, by the factor of a [`Pace`].
//!
//! The engine of votes makes its deadlines of its clock and of fixed durations. So they all grow in one proportion, those that it
//! has set already as well, and no vote or message knows of it.
use crate::pace::Pace;
use commonware_runtime::telemetry::metrics::{Metric, Registered};
use commonware_runtime::{
    BlobVersion, Clock, Error, Handle, Metrics, Name, Spawner, Storage, Supervisor, signal::Signal,
};
use governor::clock::{Clock as Instants, ReasonablyRealtime};
use rand_core::{TryCryptoRng, TryRng};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The shortest sleep of the slower clock. Who sleeps looks again at most so late where the factor fell meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// When the factor changed last: by the true clock and by this one, and what it is since.
#[derive(Debug)]
struct Change {
    real: SystemTime,
    slow: SystemTime,
    factor: u32,
}

impl Change {
    /// The time by this clock. The true one may be set back.
    fn at(&self, real: SystemTime) -> SystemTime {
        match real.duration_since(self.real) {
            Ok(passed) => self.slow + passed / self.factor,
            Err(back) => self.slow - back.duration() / self.factor,
        }
    }
}

#[derive(Debug)]
struct SlowClock<E> {
    real: E,
    pace: Pace,
    change: Mutex<Change>,
}

impl<E: Clock> SlowClock<E> {
    /// The time, and the factor from now on. Who changes the factor looks at the clock next.
    fn look(&self) -> (SystemTime, u32) {
        let real = self.real.current();
        let mut change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let (slow, factor) = (change.at(real), self.pace.factor());
        if factor != change.factor {
            *change = Change { real, slow, factor };
        }
        (slow, factor)
    }

    async fn sleep_until(&self, deadline: SystemTime) {
        loop {
            let (now, factor) = self.look();
            let left = deadline.duration_since(now).unwrap_or_default();
            if left.is_zero() {
                return;
            }
            // What is left is the least that it takes, whatever the factor becomes.
            self.real.sleep(left.max(LOOK).min(left.saturating_mul(factor))).await;
        }
    }
}

/// A runtime whose clock goes slower while its [`Pace`] says so.
pub(crate) struct Patient<E> {
    runtime: E,
    clock: Arc<SlowClock<E>>,
}

impl<E: Clock + Supervisor> Patient<E> {
    /// A runtime with the slower clock.
    pub(crate) fn new(runtime: E, pace: Pace) -> Self {
        let real = runtime.child("clock");
        let now = real.current();
        let change = Mutex::new(Change { real: now, slow: now, factor: 1 });
        Self { runtime, clock: Arc::new(SlowClock { real, pace, change }) }
    }
}

impl<E> Patient<E> {
    fn with(self, change: impl FnOnce(E) -> E) -> Self {
        Self { runtime: change(self.runtime), clock: self.clock }
    }
}

impl<E: Clock> Clock for Patient<E> {
    fn current(&self) -> SystemTime {
        self.clock.look().0
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + 'static + use<E> {
        self.sleep_until(self.current() + duration)
    }

    fn sleep_until(&self, deadline: SystemTime) -> impl Future<Output = ()> + Send + 'static + use<E> {
        let clock = Arc::clone(&self.clock);
        async move { clock.sleep_until(deadline).await }
    }
}

impl<E: Clock> Instants for Patient<E> {
    type Instant = SystemTime;

    fn now(&self) -> SystemTime {
        self.current()
    }
}

impl<E: Clock> ReasonablyRealtime for Patient<E> {}

// All else is the runtime's.

impl<E: Clock + Supervisor> Supervisor for Patient<E> {
    fn name(&self) -> Name {
        self.runtime.name()
    }

    fn child(&self, label: &'static str) -> Self {
        Self { runtime: self.runtime.child(label), clock: Arc::clone(&self.clock) }
    }

    fn with_attribute(self, key: &'static str, value: impl Display) -> Self {
        self.with(|runtime| runtime.with_attribute(key, value))
    }
}

impl<E: Clock + Spawner> Spawner for Patient<E> {
    fn shared(self, blocking: bool) -> Self {
        self.with(|runtime| runtime.shared(blocking))
    }

    fn dedicated(self) -> Self {
        self.with(Spawner::dedicated)
    }

    fn spawn<F, Fut, T>(self, task: F) -> Handle<T>
    where
        F: FnOnce(Self) -> Fut + Send + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let clock = self.clock;
        self.runtime.spawn(move |runtime| task(Self { runtime, clock }))
    }

    async fn stop(self, value: i32, timeout: Option<Duration>) -> Result<(), Error> {
        self.runtime.stop(value, timeout).await
    }

    fn stopped(&self) -> Signal {
        self.runtime.stopped()
    }
}

impl<E: Clock + Metrics> Metrics for Patient<E> {
    fn register<N: Into<String>, H: Into<String>, M: Metric>(&self, name: N, help: H, metric: M) -> Registered<M> {
        self.runtime.register(name, help, metric)
    }

    fn encode(&self) -> String {
        self.runtime.encode()
    }
}

impl<E: Clock + Storage> Storage for Patient<E> {
    type Blob = E::Blob;

    async fn open_versioned(
        &self,
        partition: &str,
        name: &[u8],
        versions: RangeInclusive<BlobVersion>,
    ) -> Result<(E::Blob, u64, BlobVersion), Error> {
        self.runtime.open_versioned(partition, name, versions).await
    }

    async fn remove(&self, partition: &str, name: Option<&[u8]>) -> Result<(), Error> {
        self.runtime.remove(partition, name).await
    }

    async fn scan(&self, partition: &str) -> Result<Vec<Vec<u8>>, Error> {
        self.runtime.scan(partition).await
    }
}

impl<E: TryRng> TryRng for Patient<E> {
    type Error = E::Error;

    fn try_next_u32(&mut self) -> Result<u32, E::Error> {
        self.runtime.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, E::Error> {
        self.runtime.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), E::Error> {
        self.runtime.try_fill_bytes(bytes)
    }
}

impl<E: TryCryptoRng> TryCryptoRng for Patient<E> {}

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
            let patient = Patient::new(context.child("patient"), pace);
            // By the true clock, how long something of this clock takes.
            let wait = async |sleep| {
                let since = context.current();
                patient.sleep(sleep).await;
                context.current().duration_since(since).unwrap()
            };
            assert_eq!(wait(SECOND).await, SECOND);
            status.waits(2);
            let four = wait(SECOND).await;
            assert!(four >= 4 * SECOND && four < 4 * SECOND + LOOK, "{four:?}");
            // The factor rises and falls while somebody waits.
            let (later, since) = (patient.sleep(4 * SECOND), context.current());
            status.waits(0);
            patient.current();
            context.sleep(SECOND).await;
            status.waits(1);
            patient.current();
            context.sleep(2 * SECOND).await;
            status.waits(0);
            patient.current();
            later.await;
            let passed = context.current().duration_since(since).unwrap();
            assert!(passed >= 5 * SECOND && passed < 5 * SECOND + LOOK, "{passed:?}");
        });
    }

    #[test]
    fn a_true_clock_that_is_set_back_sets_this_one_back() {
        let (real, slow) = (SystemTime::UNIX_EPOCH + 100 * SECOND, SystemTime::UNIX_EPOCH + 70 * SECOND);
        let change = Change { real, slow, factor: 4 };
        assert_eq!(change.at(real + 8 * SECOND), slow + 2 * SECOND);
        assert_eq!(change.at(real - 8 * SECOND), slow - 2 * SECOND);
    }
}
