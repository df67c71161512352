//! Transport between replicas: channels of `link`, as the network of the engine's runtime.
use crate::monotonic::Monotonic;
use commonware_runtime::signal::Signal;
use commonware_runtime::telemetry::metrics::{Metric, Registered};
use commonware_runtime::{
    Clock, Error, Handle, IoBufs, Listener, Metrics, Name, Network, Resolver, Sink, Spawner, Stream, Supervisor,
};
use futures::future::{Either, select};
use link::commonware as channels;
use link::future::{Driver, EventLoop};
use link::{Address, Config, ServerChannel};
use rand_core::{TryCryptoRng, TryRng};
use std::fmt::{self, Display, Formatter};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::str::FromStr;
use std::time::{Duration, SystemTime};
use thiserror::Error as ThisError;

/// Transport between replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// `tcp://` to all replicas.
    #[default]
    Tcp,
    /// `shm://` to those that listen on loopback, `tcp://` to others.
    Shm,
    /// `rdma://` to all replicas.
    Rdma,
}

/// The text names no transport.
#[derive(Debug, ThisError)]
#[error("`{0}` is not a transport: use tcp, rdma, or shm for replicas on one machine")]
pub struct UnknownTransport(String);

impl FromStr for Transport {
    type Err = UnknownTransport;

    fn from_str(text: &str) -> Result<Self, UnknownTransport> {
        match text {
            "tcp" => Ok(Self::Tcp),
            "shm" => Ok(Self::Shm),
            "rdma" => Ok(Self::Rdma),
            _ => Err(UnknownTransport(text.to_owned())),
        }
    }
}

impl Display for Transport {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Tcp => "tcp",
            Self::Shm => "shm",
            Self::Rdma => "rdma",
        })
    }
}

impl Transport {
    /// The `link` address of a replica that listens on a socket address.
    pub fn route(self, address: SocketAddr) -> Address {
        match self {
            Self::Shm if address.ip().is_loopback() => Address::Shm(format!("turnpike-order-{address}")),
            Self::Tcp | Self::Shm => Address::Tcp(address),
            Self::Rdma => Address::Rdma(address),
        }
    }

    /// The channels of a replica that will listen there.
    pub(crate) fn channels(self, listen: SocketAddr) -> Result<(channels::Network, EventLoop), link::Error> {
        // Try to listen first: if the engine cannot, it ends the whole runtime without a reason.
        ServerChannel::bind(&self.route(listen), &limits())?;
        let (driver, events) = Driver::without_thread()?;
        Ok((channels::Network::with_route(driver, limits(), move |address| self.route(address)), events))
    }
}

/// Channel configuration between replicas: 2 MiB per direction, twice the maximum body of a node. Only used buffers
/// take up memory. A vote takes one buffer, and votes come in dozens.
fn limits() -> Config {
    Config { buffers: 64, buffer_bytes: 32 << 10, ..Config::default() }
}

/// How long a peer may send or accept nothing before its connection is closed and made again. The engine pings every 5
/// s. During a partition TCP doubles its retransmission interval: after 8 s the next one may be 6 s away, while a new
/// connection takes about 1 s.
const SILENCE: Duration = Duration::from_secs(8);

/// A runtime context whose network is made of channels.
pub(crate) struct Linked {
    context: Monotonic,
    network: channels::Network,
}

impl Linked {
    pub(crate) const fn new(context: Monotonic, network: channels::Network) -> Self {
        Self { context, network }
    }
}

impl Supervisor for Linked {
    fn name(&self) -> Name {
        self.context.name()
    }

    fn child(&self, label: &'static str) -> Self {
        Self { context: self.context.child(label), network: self.network.clone() }
    }

    fn with_attribute(self, key: &'static str, value: impl Display) -> Self {
        Self { context: self.context.with_attribute(key, value), ..self }
    }
}

impl Spawner for Linked {
    fn shared(self, blocking: bool) -> Self {
        Self { context: self.context.shared(blocking), ..self }
    }

    fn dedicated(self) -> Self {
        Self { context: self.context.dedicated(), ..self }
    }

    fn spawn<F, Fut, T>(self, task: F) -> Handle<T>
    where
        F: FnOnce(Self) -> Fut + Send + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let Self { context, network } = self;
        context.spawn(move |context| task(Self { context, network }))
    }

    async fn stop(self, value: i32, timeout: Option<Duration>) -> Result<(), Error> {
        self.context.stop(value, timeout).await
    }

    fn stopped(&self) -> Signal {
        self.context.stopped()
    }
}

impl Metrics for Linked {
    fn register<N: Into<String>, H: Into<String>, M: Metric>(&self, name: N, help: H, metric: M) -> Registered<M> {
        self.context.register(name, help, metric)
    }

    fn encode(&self) -> String {
        self.context.encode()
    }
}

impl governor::clock::Clock for Linked {
    type Instant = SystemTime;

    fn now(&self) -> SystemTime {
        self.context.now()
    }
}

impl governor::clock::ReasonablyRealtime for Linked {}

impl Clock for Linked {
    fn current(&self) -> SystemTime {
        self.context.current()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + 'static + use<> {
        self.context.sleep(duration)
    }

    fn sleep_until(&self, deadline: SystemTime) -> impl Future<Output = ()> + Send + 'static + use<> {
        self.context.sleep_until(deadline)
    }
}

impl TryRng for Linked {
    type Error = <Monotonic as TryRng>::Error;

    fn try_next_u32(&mut self) -> Result<u32, <Monotonic as TryRng>::Error> {
        self.context.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, <Monotonic as TryRng>::Error> {
        self.context.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), <Monotonic as TryRng>::Error> {
        self.context.try_fill_bytes(bytes)
    }
}

impl TryCryptoRng for Linked {}

impl Resolver for Linked {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, Error> {
        self.context.runtime().resolve(host).await
    }
}

impl Network for Linked {
    type Listener = Accepting;

    async fn bind(&self, socket: SocketAddr) -> Result<Accepting, Error> {
        let listener = self.network.bind(socket).await?;
        Ok(Accepting { listener, context: self.context.child("accept") })
    }

    async fn dial(&self, socket: SocketAddr) -> Result<(Bounded<channels::Sink>, Bounded<channels::Stream>), Error> {
        let (sink, stream) = self.network.dial(socket).await?;
        Ok((Bounded::new(sink, &self.context), Bounded::new(stream, &self.context)))
    }
}

/// A listener for channels.
pub(crate) struct Accepting {
    listener: channels::Listener,
    context: Monotonic,
}

impl Listener for Accepting {
    type Sink = Bounded<channels::Sink>;
    type Stream = Bounded<channels::Stream>;

    async fn accept(&mut self) -> Result<(SocketAddr, Self::Sink, Self::Stream), Error> {
        let (peer, sink, stream) = self.listener.accept().await?;
        Ok((peer, Bounded::new(sink, &self.context), Bounded::new(stream, &self.context)))
    }

    fn local_addr(&self) -> Result<SocketAddr, io::Error> {
        self.listener.local_addr()
    }
}

/// One half of a channel; every operation is limited to [`SILENCE`].
pub(crate) struct Bounded<H> {
    half: H,
    context: Monotonic,
}

impl<H> Bounded<H> {
    fn new(half: H, context: &Monotonic) -> Self {
        Self { half, context: context.child("half") }
    }
}

/// Awaits a future for at most [`SILENCE`].
async fn in_time<T>(context: &Monotonic, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match select(pin!(future), pin!(context.sleep(SILENCE))).await {
        Either::Left((result, _)) => result,
        Either::Right(_) => Err(Error::Timeout),
    }
}

impl Sink for Bounded<channels::Sink> {
    async fn send(&mut self, bytes: impl Into<IoBufs> + Send) -> Result<(), Error> {
        in_time(&self.context, self.half.send(bytes)).await
    }
}

impl Stream for Bounded<channels::Stream> {
    async fn recv(&mut self, length: usize) -> Result<IoBufs, Error> {
        in_time(&self.context, self.half.recv(length)).await
    }

    fn peek(&self, length: usize) -> &[u8] {
        self.half.peek(length)
    }
}
