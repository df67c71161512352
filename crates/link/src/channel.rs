//! The public interface of channels, above all transports: it keeps the first failure, and tries each operation at once
//! if nothing watches the descriptor.

use std::{net::SocketAddr, os::fd::BorrowedFd, sync::Arc};

#[cfg(feature = "rdma")]
use crate::rdma::Rdma;
use crate::{
    Address, Buffer, Config, Counters, Error, Message, Operations, PublicKey,
    notify::Notify,
    secure::{self, Secure},
    shm::Shm,
    tcp::Tcp,
    transport::Transport,
};

/// A connection that carries whole messages in order, each in a registered buffer. No method waits; a
/// [`Selector`](crate::Selector) reports when a channel is ready.
///
/// A failed channel stays failed. Messages that arrived before the failure can still be received.
pub struct Channel {
    transport: Box<dyn Transport>,
    failure: Option<Error>,
    /// A selector watches the descriptor. Otherwise the channel tries each operation when asked.
    is_watched: bool,
    /// The watcher flushes delayed messages, so they may be batched.
    is_flushed: bool,
}

impl Channel {
    /// Starts to connect. The channel becomes ready for [`Operations::CONNECT`] once it is connected or has failed.
    ///
    /// # Errors
    ///
    /// [`Error::Config`], and [`Error::System`] if nobody listens.
    pub fn connect(address: &Address, config: &Config) -> Result<Self, Error> {
        let config = &secure::below(address, config)?;
        let transport: Box<dyn Transport> = match address {
            Address::Tcp(address) => Box::new(Tcp::connect(*address, config)?),
            #[cfg(feature = "rdma")]
            Address::Rdma(address) => Box::new(Rdma::connect(*address, config)?),
            #[cfg(not(feature = "rdma"))]
            Address::Rdma(_) => return Err(Error::RdmaUnavailable("this program was built without RDMA")),
            Address::Shm(name) => Box::new(Shm::connect(name, config)?),
        };
        Ok(Self::new(match &config.identity {
            Some(identity) => Box::new(Secure::new(transport, identity, true)?),
            None => transport,
        }))
    }

    pub(crate) fn new(transport: Box<dyn Transport>) -> Self {
        Self { transport, failure: None, is_watched: false, is_flushed: false }
    }

    /// Returns whether the channel is connected.
    ///
    /// # Errors
    ///
    /// The channel's error, if it failed.
    pub fn finish_connect(&mut self) -> Result<bool, Error> {
        self.progress();
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(self.transport.is_connected()),
        }
    }

    /// Returns a buffer to fill and [send](Self::send), or `None` if all are in flight or the peer has no room: then
    /// wait for [`Operations::SEND`].
    ///
    /// # Errors
    ///
    /// The channel's error, if it failed; [`Error::NotConnected`].
    pub fn buffer(&mut self) -> Result<Option<Buffer>, Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if let Some(buffer) = self.transport.buffer() {
            return Ok(Some(buffer));
        }
        self.progress();
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None if !self.transport.is_connected() => Err(Error::NotConnected),
            None => Ok(self.transport.buffer()),
        }
    }

    /// Sends a message. A buffer is the right to send one, so there is always room for it.
    ///
    /// In a [`Selector`](crate::Selector) the first message is sent at once. Short ones after it may be batched, until
    /// the next selection at the latest. Call [`flush`](Self::flush) if something else happens before.
    ///
    /// # Errors
    ///
    /// The channel's error, if it failed.
    ///
    /// # Panics
    ///
    /// If the buffer belongs to another channel.
    pub fn send(&mut self, buffer: Buffer) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.transport.send(buffer, self.is_flushed).inspect_err(|error| self.failure = Some(error.clone()))
    }

    /// Sends delayed messages.
    pub fn flush(&mut self) {
        if self.failure.is_none() {
            self.transport.flush();
        }
    }

    /// Sends a copy of `bytes` if a buffer is available. Returns whether it did.
    ///
    /// # Errors
    ///
    /// As [`buffer`](Self::buffer).
    ///
    /// # Panics
    ///
    /// If `bytes` is longer than a buffer.
    pub fn send_copy(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        let Some(mut buffer) = self.buffer()? else { return Ok(false) };
        buffer.fill(bytes);
        self.send(buffer)?;
        Ok(true)
    }

    /// Returns the next message, or `None` if there is none yet: then wait for [`Operations::RECEIVE`].
    ///
    /// # Errors
    ///
    /// Why the channel failed or [was closed](Error::Closed), once all earlier messages are received.
    pub fn receive(&mut self) -> Result<Option<Message>, Error> {
        if let Some(message) = self.transport.receive() {
            return Ok(Some(message));
        }
        self.progress();
        match (self.transport.receive(), &self.failure) {
            (Some(message), _) => Ok(Some(message)),
            (None, Some(failure)) => Err(failure.clone()),
            (None, None) => Ok(None),
        }
    }

    /// The key that the peer proved, if [peers are authenticated](Config::identity).
    pub fn peer_key(&self) -> Option<PublicKey> {
        self.transport.peer_key()
    }

    /// The channel's counters; all zero over `tcp://`.
    pub fn counters(&self) -> Counters {
        self.transport.counters()
    }

    /// Ends the channel without waiting: queued messages are still sent, received data is dropped.
    ///
    /// Returns true once dropping this value would lose nothing. Until then call it again when the descriptor signals.
    /// Dropping a channel equals one call, and loses what the peer has not received by then.
    pub fn close(&mut self) -> bool {
        if !self.is_watched {
            self.transport.signalled(true);
        }
        self.failure.is_some() || self.transport.close()
    }

    /// The peer's internet address, if it has one.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.transport.peer()
    }

    /// The operations that the channel is ready for. A failed one is ready for all but ACCEPT, since any attempt
    /// returns the error.
    pub(crate) fn ready(&self) -> Operations {
        if self.failure.is_some() {
            return Operations::CONNECT | Operations::RECEIVE | Operations::SEND;
        }
        Operations::CONNECT.when(self.transport.is_connected()) | self.transport.ready()
    }

    pub(crate) fn progress(&mut self) {
        if !self.is_watched {
            self.transport.signalled(true);
        }
        if self.failure.is_none()
            && let Err(failure) = self.transport.progress()
        {
            self.failure = Some(failure);
        }
    }

    pub(crate) fn is_polled(&self) -> bool {
        self.failure.is_none() && self.transport.is_polled()
    }

    /// Makes the descriptor signal the operations in `interest` from now on. Returns false if one may be ready already.
    pub(crate) fn rest(&mut self, interest: Operations) -> bool {
        let rests = self.failure.is_some() || self.transport.rest(interest);
        if !rests {
            self.progress();
        }
        rests
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.transport.is_connected()
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.transport.descriptor()
    }

    pub(crate) fn signalled(&mut self, may_be_over: bool) {
        self.transport.signalled(may_be_over);
    }

    pub(crate) fn set_watched(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    pub(crate) fn set_flushed(&mut self, is_flushed: bool) {
        self.is_flushed = is_flushed;
        self.flush();
    }

    pub(crate) fn set_notify(&mut self, notify: Option<Arc<Notify>>) {
        self.transport.set_notify(notify);
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Channel").field("ready", &self.ready()).field("failure", &self.failure).finish_non_exhaustive()
    }
}
