//! Channels as the network of commonware's runtime (`commonware-runtime` 2026.10).
//!
//! Its interface is a stream of bytes. What is received is handed on as [`IoBuf`]s that are the registered buffers
//! themselves, without a copy, as long as their holders keep no more than a quarter of the channel's buffers; beyond that they are copies,
//! so a holder never stops its peer. What is sent is copied once, to a registered buffer: an `IoBuf` cannot be allocated in
//! one. An empty message is the end of a stream.
//!
//! There are no timeouts here: who waits puts a `Clock::timeout` around it.

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use bytes::{Buf, Bytes};
use commonware_runtime::{Error, IoBuf, IoBufs};

use crate::{
    Address, Buffer, Config, Message,
    future::{Driver, Receiver, Sender, Server},
};

/// Where a socket address of the runtime leads to.
type Route = Arc<dyn Fn(SocketAddr) -> Address + Send + Sync>;

/// Channels as a [`commonware_runtime::Network`].
#[derive(Clone)]
pub struct Network {
    driver: Driver,
    config: Config,
    route: Route,
}

impl Network {
    /// Over `tcp://`.
    pub fn new(driver: Driver, config: Config) -> Self {
        Self::with_route(driver, config, Address::Tcp)
    }

    /// Over whatever `route` makes of a socket address.
    pub fn with_route(
        driver: Driver,
        config: Config,
        route: impl Fn(SocketAddr) -> Address + Send + Sync + 'static,
    ) -> Self {
        Self { driver, config, route: Arc::new(route) }
    }
}

impl commonware_runtime::Network for Network {
    type Listener = Listener;

    async fn bind(&self, socket: SocketAddr) -> Result<Listener, Error> {
        let server = self.driver.bind(&(self.route)(socket), &self.config).map_err(|_| Error::BindFailed)?;
        Ok(Listener { server, socket, buffers: self.config.buffers })
    }

    async fn dial(&self, socket: SocketAddr) -> Result<(Sink, Stream), Error> {
        let address = (self.route)(socket);
        let channel = self.driver.connect(&address, &self.config).await.map_err(|_| Error::ConnectionFailed)?;
        halves(channel, self.config.buffers).await.map_err(|_| Error::ConnectionFailed)
    }
}

/// Where channels are accepted.
#[derive(Debug)]
pub struct Listener {
    server: Server,
    socket: SocketAddr,
    buffers: u16,
}

impl commonware_runtime::Listener for Listener {
    type Sink = Sink;
    type Stream = Stream;

    async fn accept(&mut self) -> Result<(SocketAddr, Sink, Stream), Error> {
        loop {
            let channel = self.server.accept().await.map_err(|_| Error::Closed)?;
            // What has no address of the internet is on this machine.
            let peer = channel.0.peer().unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
            // One that has gone already is not worth an error of the listener.
            if let Ok((sink, stream)) = halves(channel, self.buffers).await {
                return Ok((peer, sink, stream));
            }
        }
    }

    fn local_addr(&self) -> Result<SocketAddr, io::Error> {
        match self.server.address() {
            Address::Tcp(address) | Address::Rdma(address) => Ok(*address),
            Address::Shm(_) => Ok(self.socket),
        }
    }
}

async fn halves((mut sender, receiver): (Sender, Receiver), buffers: u16) -> Result<(Sink, Stream), crate::Error> {
    let end = sender.buffer().await?;
    let sink = Sink { sender, end: Some(end) };
    let stream = Stream {
        receiver,
        current: IoBuf::default(),
        held: Arc::default(),
        // Credits are told when half of the buffers came back, and the peer keeps one for the end of its stream.
        limit: usize::from(buffers / 4),
        is_usable: true,
    };
    Ok((sink, stream))
}

/// The half of a channel that sends bytes.
#[derive(Debug)]
pub struct Sink {
    sender: Sender,
    /// What tells the peer the end of the stream, kept so that there is always room for it. None once the sink is unusable.
    end: Option<Buffer>,
}

impl Sink {
    /// The channel's half. Messages that are sent by it are bytes of the stream, without a copy; empty ones end it.
    pub fn sender(&mut self) -> &mut Sender {
        &mut self.sender
    }

    async fn send_all(&mut self, mut bytes: IoBufs) -> Result<(), crate::Error> {
        while bytes.has_remaining() {
            let mut buffer = self.sender.buffer().await?;
            buffer.set_len(buffer.capacity().min(bytes.remaining()));
            bytes.copy_to_slice(&mut buffer);
            self.sender.send(buffer)?;
        }
        Ok(())
    }
}

impl commonware_runtime::Sink for Sink {
    async fn send(&mut self, bytes: impl Into<IoBufs> + Send) -> Result<(), Error> {
        // Taken meanwhile: a send that fails, or is dropped in the middle, leaves the sink unusable.
        let end = self.end.take().ok_or(Error::Closed)?;
        self.send_all(bytes.into()).await.map_err(|_| Error::SendFailed)?;
        self.end = Some(end);
        Ok(())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            // If it fails, the peer is told by the failure.
            let _ = self.sender.send(end);
        }
    }
}

/// The half of a channel that receives bytes.
#[derive(Debug)]
pub struct Stream {
    receiver: Receiver,
    /// What was received and not taken yet.
    current: IoBuf,
    /// Registered buffers that are in the hands of whoever received, or in `current`.
    held: Arc<AtomicUsize>,
    limit: usize,
    is_usable: bool,
}

/// A registered buffer within an [`IoBuf`].
struct Held {
    message: Message,
    held: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.message
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Relaxed);
    }
}

impl Stream {
    async fn next(&mut self) -> Result<(), crate::Error> {
        let message = self.receiver.receive().await?;
        if message.is_empty() {
            return Err(crate::Error::Closed);
        }
        self.current = if self.held.load(Relaxed) < self.limit {
            self.held.fetch_add(1, Relaxed);
            Bytes::from_owner(Held { message, held: Arc::clone(&self.held) }).into()
        } else {
            IoBuf::copy_from_slice(&message)
        };
        Ok(())
    }

    async fn take(&mut self, length: usize) -> Result<IoBufs, crate::Error> {
        let mut taken = IoBufs::default();
        while taken.len() < length {
            if !self.current.has_remaining() {
                self.next().await?;
            }
            let wanted = self.current.remaining().min(length - taken.len());
            taken.append(self.current.split_to(wanted));
        }
        Ok(taken)
    }
}

impl commonware_runtime::Stream for Stream {
    async fn recv(&mut self, length: usize) -> Result<IoBufs, Error> {
        if !std::mem::replace(&mut self.is_usable, false) {
            return Err(Error::Closed);
        }
        let taken = self.take(length).await.map_err(|_| Error::RecvFailed)?;
        self.is_usable = true;
        Ok(taken)
    }

    fn peek(&self, length: usize) -> &[u8] {
        let bytes = self.current.as_ref();
        &bytes[..bytes.len().min(length)]
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Network").field("config", &self.config).finish_non_exhaustive()
    }
}
