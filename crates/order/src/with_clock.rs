//! A runtime with a clock other than its own.
use commonware_runtime::telemetry::metrics::{Metric, Registered};
use commonware_runtime::{
    BlobVersion, Clock, Error, Handle, Metrics, Name, Spawner, Storage, Supervisor, signal::Signal,
};
use governor::clock::{Clock as Instants, ReasonablyRealtime};
use rand_core::{TryCryptoRng, TryRng};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A clock by which waits can be timed.
pub(crate) trait Timer: Send + Sync + 'static {
    /// The time by this clock.
    fn current(&self) -> SystemTime;

    /// Waits until this clock shows the deadline.
    fn sleep_until(self: Arc<Self>, deadline: SystemTime) -> impl Future<Output = ()> + Send + 'static;
}

/// A runtime `E` whose clock is `T`.
pub(crate) struct WithClock<E, T> {
    runtime: E,
    clock: Arc<T>,
}

impl<E, T> WithClock<E, T> {
    /// Replaces a runtime's clock.
    pub(crate) fn from_parts(runtime: E, clock: T) -> Self {
        Self { runtime, clock: Arc::new(clock) }
    }

    fn with(self, change: impl FnOnce(E) -> E) -> Self {
        Self { runtime: change(self.runtime), clock: self.clock }
    }

    /// The runtime whose clock was replaced.
    #[cfg(not(test))]
    pub(crate) const fn runtime(&self) -> &E {
        &self.runtime
    }
}

impl<E: Send + Sync + 'static, T: Timer> Clock for WithClock<E, T> {
    fn current(&self) -> SystemTime {
        self.clock.current()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + 'static + use<E, T> {
        self.sleep_until(self.current() + duration)
    }

    fn sleep_until(&self, deadline: SystemTime) -> impl Future<Output = ()> + Send + 'static + use<E, T> {
        Arc::clone(&self.clock).sleep_until(deadline)
    }
}

impl<E: Send + Sync + 'static, T: Timer> Instants for WithClock<E, T> {
    type Instant = SystemTime;

    fn now(&self) -> SystemTime {
        self.clock.current()
    }
}

impl<E: Send + Sync + 'static, T: Timer> ReasonablyRealtime for WithClock<E, T> {}

// Everything else is the runtime's.

impl<E: Supervisor, T: Timer> Supervisor for WithClock<E, T> {
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

impl<E: Spawner, T: Timer> Spawner for WithClock<E, T> {
    fn shared(self, blocking: bool) -> Self {
        self.with(|runtime| runtime.shared(blocking))
    }

    fn dedicated(self) -> Self {
        self.with(Spawner::dedicated)
    }

    fn spawn<F, Fut, R>(self, task: F) -> Handle<R>
    where
        F: FnOnce(Self) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: Send + 'static,
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

impl<E: Metrics, T: Timer> Metrics for WithClock<E, T> {
    fn register<N: Into<String>, H: Into<String>, M: Metric>(&self, name: N, help: H, metric: M) -> Registered<M> {
        self.runtime.register(name, help, metric)
    }

    fn encode(&self) -> String {
        self.runtime.encode()
    }
}

impl<E: Storage, T: Timer> Storage for WithClock<E, T> {
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

impl<E: TryRng, T: Timer> TryRng for WithClock<E, T> {
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

impl<E: TryCryptoRng, T: Timer> TryCryptoRng for WithClock<E, T> {}
