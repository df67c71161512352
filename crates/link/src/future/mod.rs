//! Channels as futures, for any runtime: a [`Driver`] watches them on its own thread and wakes the tasks that wait.
//!
//! A task receives and sends on its own thread: the driver only makes progress and wakes tasks. A channel comes as two
//! halves, which different tasks may own.

mod driver;
#[cfg(feature = "tokio")]
mod on_tokio;
mod watched_endpoint;

use std::{
    future::poll_fn,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use driver::Guard;
pub use driver::{Driver, EventLoop, NextTurn};

use crate::{Address, Buffer, Channel, Config, Error, Message, Operations, ServerChannel};

impl Driver {
    /// Connects to an address.
    ///
    /// # Errors
    ///
    /// As [`Channel::connect`] and [`Channel::finish_connect`].
    pub async fn connect(&self, address: &Address, config: &Config) -> Result<(Sender, Receiver), Error> {
        let (sender, receiver) = self.adopt(Channel::connect(address, config)?)?;
        let connected = |channel: &mut Channel| Ok(channel.finish_connect()?.then_some(()));
        poll_fn(|context| sender.guard.watched().poll(context, Operations::CONNECT, connected)).await?;
        Ok((sender, receiver))
    }

    /// Takes over an existing channel.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the kernel refuses to watch another descriptor.
    pub fn adopt(&self, channel: Channel) -> Result<(Sender, Receiver), Error> {
        let guard = Arc::new(self.watch(channel)?);
        Ok((Sender { guard: Arc::clone(&guard) }, Receiver { guard }))
    }

    /// Listens on an address.
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

/// The sending half of a channel.
#[derive(Debug)]
pub struct Sender {
    guard: Arc<Guard>,
}

impl Sender {
    /// Returns a buffer to fill and [send](Self::send), once the peer has room for its message.
    ///
    /// # Errors
    ///
    /// The channel's error, if it failed.
    pub async fn buffer(&mut self) -> Result<Buffer, Error> {
        poll_fn(|context| self.poll_buffer(context)).await
    }

    /// Poll form of [`buffer`](Self::buffer).
    pub fn poll_buffer(&mut self, context: &mut Context<'_>) -> Poll<Result<Buffer, Error>> {
        self.guard.watched().poll(context, Operations::SEND, Channel::buffer)
    }

    /// Sends a message. A buffer is the right to send one, so this does not wait.
    ///
    /// # Errors
    ///
    /// The channel's error, if it failed.
    ///
    /// # Panics
    ///
    /// If the buffer belongs to another channel.
    pub fn send(&mut self, buffer: Buffer) -> Result<(), Error> {
        self.guard.watched().with(|channel| channel.send(buffer))
    }

    /// The peer's internet address, if it has one.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.guard.watched().with(|channel| channel.peer())
    }
}

/// The receiving half of a channel. The channel closes when both halves are dropped and all queued data is sent.
#[derive(Debug)]
pub struct Receiver {
    guard: Arc<Guard>,
}

impl Receiver {
    /// Receives the next message.
    ///
    /// # Errors
    ///
    /// Why the channel failed or [was closed](Error::Closed), once all earlier messages are received.
    pub async fn receive(&mut self) -> Result<Message, Error> {
        poll_fn(|context| self.poll_receive(context)).await
    }

    /// Poll form of [`receive`](Self::receive).
    pub fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        self.guard.watched().poll(context, Operations::RECEIVE, Channel::receive)
    }
}

/// A listener for channels.
#[derive(Debug)]
pub struct Server {
    guard: Guard,
    driver: Driver,
    address: Address,
}

impl Server {
    /// The address that it listens on.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the next channel whose peer greeted.
    ///
    /// # Errors
    ///
    /// As [`ServerChannel::accept`].
    pub async fn accept(&mut self) -> Result<(Sender, Receiver), Error> {
        let channel = poll_fn(|context| self.guard.watched().poll_accept(context)).await?;
        self.driver.adopt(channel)
    }
}
