//! Greetings between replicas: the one place where the engine compares the system's clocks.
use commonware_cryptography::handshake::sake::Error as GreetingError;
use commonware_cryptography::{ed25519, transcript::Transcript};
use commonware_runtime::{Clock, Sink, Stream};
use commonware_stream::Handshake;
use commonware_stream::sake::{Error, Sake};
use governor::clock::{Clock as Instants, ReasonablyRealtime};
use rand_core::{CryptoRng, TryCryptoRng, TryRng};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often a clock that differs too much is reported. A refused replica tries again several times a second.
const REPORT: Duration = Duration::from_secs(60);

/// A handshake whose timestamps come from the system's clock as it is now.
///
/// The clock that times waits does not serve here: it is not corrected when the system's is.
#[derive(Clone)]
pub(crate) struct Greeting {
    handshake: Sake<ed25519::PrivateKey>,
    reported: Arc<Mutex<Option<Instant>>>,
}

impl Greeting {
    pub(crate) fn new(handshake: Sake<ed25519::PrivateKey>) -> Self {
        Self { handshake, reported: Arc::default() }
    }

    /// Reports a greeting that was refused for its time.
    fn report<T>(&self, result: &Result<T, Error>) {
        let Err(Error::HandshakeError(GreetingError::InvalidTimestamp(theirs, accepted))) = result else { return };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_some_and(|reported| reported.elapsed() < REPORT) {
            return;
        }
        *reported = Some(Instant::now());
        let ours = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
        let ahead_seconds = (*theirs as i64 - ours) / 1000;
        tracing::warn!(
            ahead_seconds,
            accepted_milliseconds = accepted.end.saturating_sub(accepted.start),
            "refused the connection of a replica whose clock differs too much from this one's: set both by NTP"
        );
    }
}

impl Handshake for Greeting {
    type PublicKey = ed25519::PublicKey;
    type Error = Error;

    fn public_key(&self) -> ed25519::PublicKey {
        self.handshake.public_key()
    }

    async fn dial<E, I, O>(
        self,
        context: E,
        namespace: &[u8],
        peer: ed25519::PublicKey,
        stream: &mut I,
        sink: &mut O,
    ) -> Result<Transcript, Error>
    where
        E: Clock + CryptoRng,
        I: Stream,
        O: Sink,
    {
        let result = self.handshake.clone().dial(SystemClock(context), namespace, peer, stream, sink).await;
        self.report(&result);
        result
    }

    async fn listen<E, I, O, B, F>(
        self,
        context: E,
        namespace: &[u8],
        bouncer: B,
        stream: &mut I,
        sink: &mut O,
    ) -> Result<(ed25519::PublicKey, Transcript), Error>
    where
        E: Clock + CryptoRng,
        I: Stream,
        O: Sink,
        B: FnOnce(ed25519::PublicKey) -> F + Send,
        F: Future<Output = bool> + Send,
    {
        let result = self.handshake.clone().listen(SystemClock(context), namespace, bouncer, stream, sink).await;
        self.report(&result);
        result
    }
}

/// A context that shows the system's time. Its waits are the context's.
struct SystemClock<E>(E);

impl<E: Clock> Clock for SystemClock<E> {
    fn current(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + 'static + use<E> {
        self.0.sleep(duration)
    }

    fn sleep_until(&self, deadline: SystemTime) -> impl Future<Output = ()> + Send + 'static + use<E> {
        self.0.sleep(deadline.duration_since(SystemTime::now()).unwrap_or_default())
    }
}

impl<E: Clock> Instants for SystemClock<E> {
    type Instant = SystemTime;

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl<E: Clock> ReasonablyRealtime for SystemClock<E> {}

impl<E: TryRng> TryRng for SystemClock<E> {
    type Error = E::Error;

    fn try_next_u32(&mut self) -> Result<u32, E::Error> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, E::Error> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), E::Error> {
        self.0.try_fill_bytes(bytes)
    }
}

impl<E: TryCryptoRng> TryCryptoRng for SystemClock<E> {}
