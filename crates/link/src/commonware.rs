//! Channels as the network of commonware's runtime (`commonware-runtime` 2026.10).
//!
//! The runtime's interface is a byte stream.
//!
//! - Received data is passed on without a copy: the [`IoBuf`]s are the registered buffers. Once holders keep more than
//!   a quarter of the channel's buffers, further data is copied, so that a holder never stalls its peer.
//! - Sent data is copied once, to a registered buffer: an `IoBuf` cannot be allocated in one.
//! - An empty message ends a stream.
//!
//! There are no timeouts here: a caller that needs one uses `Clock::timeout`.

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

/// Maps a socket address of the runtime to an address of a channel.
type Route = Arc<dyn Fn(SocketAddr) -> Address + Send + Sync>;

/// Channels as a [`commonware_runtime::Network`].
#[derive(Clone)]
pub struct Network {
    driver: Driver,
    config: Config,
    route: Route,
}

impl Network {
    /// Connects over `tcp://`.
    pub fn new(driver: Driver, config: Config) -> Self {
        Self::with_route(driver, config, Address::Tcp)
    }

    /// Connects over the addresses that `route` returns.
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

/// A listener for channels.
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
            // A peer without an internet address is on this machine.
            let peer = channel.0.peer().unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
            // A peer that is gone already is no error of the listener.
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
        // Credits are granted once half of the buffers are back, and the peer reserves one for the end of its stream.
        limit: usize::from(buffers / 4),
        is_usable: true,
    };
    Ok((sink, stream))
}

/// The sending half of a channel, as a byte stream.
#[derive(Debug)]
pub struct Sink {
    sender: Sender,
    /// Buffer reserved to signal the end of the stream, so that there is always room for it. `None` once the sink is
    /// unusable.
    end: Option<Buffer>,
}

impl Sink {
    /// The channel's sending half. Messages sent with it join the stream without a copy; an empty one ends it.
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
        // Taken meanwhile: a send that fails or is dropped midway leaves the sink unusable.
        let end = self.end.take().ok_or(Error::Closed)?;
        self.send_all(bytes.into()).await.map_err(|_| Error::SendFailed)?;
        self.end = Some(end);
        Ok(())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            // If this fails, the failure itself informs the peer.
            let _ = self.sender.send(end);
        }
    }
}

/// The receiving half of a channel, as a byte stream.
#[derive(Debug)]
pub struct Stream {
    receiver: Receiver,
    /// Received data that was not taken yet.
    current: IoBuf,
    /// Number of registered buffers in the hands of the receiver or in `current`.
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
