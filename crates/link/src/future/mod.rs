//! Channels as futures, for any runtime: a [`Driver`] watches them on a thread of its own and wakes the tasks that wait.
//!
//! What a task waits for it takes itself, on its own thread: the driver only moves what moves and wakes. A channel comes as
//! its two halves, which different tasks may have.

mod driver;
#[cfg(feature = "tokio")]
mod on_tokio;
mod place;

use std::{
    future::poll_fn,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use driver::Guard;
pub use driver::{Driver, EventLoop, Next};

use crate::{Address, Buffer, Channel, Config, Error, Message, Operations, ServerChannel};

impl Driver {
    /// Connects.
    ///
    /// # Errors
    ///
    /// As [`Channel::connect`] and [`Channel::finish_connect`].
    pub async fn connect(&self, address: &Address, config: &Config) -> Result<(Sender, Receiver), Error> {
        let (sender, receiver) = self.adopt(Channel::connect(address, config)?)?;
        let connected = |channel: &mut Channel| Ok(channel.finish_connect()?.then_some(()));
        poll_fn(|context| sender.guard.place().poll(context, Operations::CONNECT, connected)).await?;
        Ok((sender, receiver))
    }

    /// Takes a channel over that is there already.
    ///
    /// # Errors
    ///
    /// [`Error::System`] where the system watches no more descriptors.
    pub fn adopt(&self, channel: Channel) -> Result<(Sender, Receiver), Error> {
        let guard = Arc::new(self.watch(channel)?);
        Ok((Sender { guard: Arc::clone(&guard) }, Receiver { guard }))
    }

    /// Listens.
    ///
    /// # Errors
    ///
    /// As [`ServerChannel::bind`].
    pub fn bind(&self, address: &Address, config: &Config) -> Result<Server, Error> {
        let server = ServerChannel::bind(address, config)?;
        let address = server.address();
        Ok(Server { guard: self.watch_server(server)?, driver: self.clone(), address })
    }
}

/// The half of a channel that sends.
#[derive(Debug)]
pub struct Sender {
    guard: Arc<Guard>,
}

impl Sender {
    /// A buffer to be filled and [sent](Self::send), once the peer has room for its message.
    ///
    /// # Errors
    ///
    /// Why the channel failed, if it did.
    pub async fn buffer(&mut self) -> Result<Buffer, Error> {
        poll_fn(|context| self.poll_buffer(context)).await
    }

    /// The same, for who polls.
    pub fn poll_buffer(&mut self, context: &mut Context<'_>) -> Poll<Result<Buffer, Error>> {
        self.guard.place().poll(context, Operations::SEND, Channel::buffer)
    }

    /// Sends a message. A buffer is the right to send one, so nothing is waited for.
    ///
    /// # Errors
    ///
    /// Why the channel failed, if it did.
    ///
    /// # Panics
    ///
    /// If another channel gave the buffer.
    pub fn send(&mut self, buffer: Buffer) -> Result<(), Error> {
        self.guard.place().with(|channel| channel.send(buffer))
    }

    /// Where the peer is, for those that have an address of the internet.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.guard.place().with(|channel| channel.peer())
    }
}

/// The half of a channel that receives. The channel is closed when both halves are gone and what was sent is on its way.
#[derive(Debug)]
pub struct Receiver {
    guard: Arc<Guard>,
}

impl Receiver {
    /// The next message.
    ///
    /// # Errors
    ///
    /// Why the channel failed or [was closed](Error::Closed), once all messages from before were received.
    pub async fn receive(&mut self) -> Result<Message, Error> {
        poll_fn(|context| self.poll_receive(context)).await
    }

    /// The same, for who polls.
    pub fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        self.guard.place().poll(context, Operations::RECEIVE, Channel::receive)
    }
}

/// Where channels are accepted.
#[derive(Debug)]
pub struct Server {
    guard: Guard,
    driver: Driver,
    address: Address,
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next channel whose peer greeted.
    ///
    /// # Errors
    ///
    /// As [`ServerChannel::accept`].
    pub async fn accept(&mut self) -> Result<(Sender, Receiver), Error> {
        let channel = poll_fn(|context| self.guard.place().poll_accept(context)).await?;
        self.driver.adopt(channel)
    }
}
