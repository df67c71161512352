//! Channels, as their users have them.

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

/// A connection that carries messages: whole ones, in order, each in a registered buffer. Nothing here waits; a
/// [`Selector`](crate::Selector) tells when there is something to do.
///
/// A channel that failed stays failed. Messages that came before the failure can still be received.
pub struct Channel {
    transport: Box<dyn Transport>,
    failure: Option<Error>,
    /// A selector watches the descriptor. Else the channel tries whatever it is asked for.
    is_watched: bool,
    /// Whoever watches flushes what waits: messages may go together.
    is_flushed: bool,
}

impl Channel {
    /// Begins a connection. The channel is ready for [`Operations::CONNECT`] when it is there, or failed.
    ///
    /// # Errors
    ///
    /// [`Error::Config`], and [`Error::System`] where nobody listens.
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

    /// Whether the channel has its peer.
    ///
    /// # Errors
    ///
    /// Why it failed, if it did.
    pub fn finish_connect(&mut self) -> Result<bool, Error> {
        self.progress();
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(self.transport.is_connected()),
        }
    }

    /// A buffer to be filled and [sent](Self::send), or `None` where all are on the way or the peer has no room: wait for
    /// [`Operations::SEND`].
    ///
    /// # Errors
    ///
    /// Why the channel failed, if it did; [`Error::NotConnected`].
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
    /// Where a [`Selector`](crate::Selector) has the channel, the first message goes at once. Short ones behind it may wait
    /// for each other, until the next selection at most: [`flush`](Self::flush) is for who does something else before.
    ///
    /// # Errors
    ///
    /// Why the channel failed, if it did.
    ///
    /// # Panics
    ///
    /// If another channel gave the buffer.
    pub fn send(&mut self, buffer: Buffer) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.transport.send(buffer, self.is_flushed).inspect_err(|error| self.failure = Some(error.clone()))
    }

    /// Sends what waits for others.
    pub fn flush(&mut self) {
        if self.failure.is_none() {
            self.transport.flush();
        }
    }

    /// Sends a copy of `bytes`, where a buffer can be had. Tells whether it was.
    ///
    /// # Errors
    ///
    /// As [`buffer`](Self::buffer).
    ///
    /// # Panics
    ///
    /// If that is more than a buffer has room for.
    pub fn send_copy(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        let Some(mut buffer) = self.buffer()? else { return Ok(false) };
        buffer.fill(bytes);
        self.send(buffer)?;
        Ok(true)
    }

    /// The next message, or `None` where none is here: wait for [`Operations::RECEIVE`].
    ///
    /// # Errors
    ///
    /// Why the channel failed or [was closed](Error::Closed), once all messages from before were received.
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

    /// The key that the peer has proved to have, where [peers are authenticated](Config::identity).
    pub fn peer_key(&self) -> Option<PublicKey> {
        self.transport.peer_key()
    }

    /// What the channel counted: nothing over `tcp://`.
    pub fn counters(&self) -> Counters {
        self.transport.counters()
    }

    /// Ends the channel without waiting: what was sent goes on its way, and what comes is dropped. True once nothing would be
    /// lost with this value; until then call it again when the descriptor tells of something. To drop a channel at once does
    /// what one call does, and what the peer has not taken by then may be lost.
    pub fn close(&mut self) -> bool {
        if !self.is_watched {
            self.transport.signalled(true);
        }
        self.failure.is_some() || self.transport.close()
    }

    /// Where the peer is, for those that have an address of the internet.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.transport.peer()
    }

    /// What the channel is ready for. One that failed is ready for all but ACCEPT, since whatever is tried tells why.
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

    /// From now on the descriptor tells of what is in `interest`. False if it may be there already.
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
