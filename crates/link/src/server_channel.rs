//! Listeners for channels.
//!
//! - On progress: accept up to [`Config::greeting`] connections. If that number is greeting already, each new one
//!   replaces the oldest.
//! - On each connection that is greeting: make progress. Once it is connected it waits for [`ServerChannel::accept`].
//!   It is dropped if it fails, or after [`Config::greeting_timeout`].

use std::{
    collections::VecDeque,
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

#[cfg(feature = "rdma")]
use crate::rdma::RdmaListener;
use crate::{
    Address, Channel, Config, Error, Operations,
    events::Events,
    secure::{self, SecureListener},
    shm::ShmListener,
    tcp::TcpListener,
    transport::Listener,
};

/// Listens on an address and yields a [`Channel`] for each peer that greeted.
///
/// A silent connection costs a descriptor and some hundred bytes until its time is over, or until [`Config::greeting`]
/// newer ones arrive.
pub struct ServerChannel {
    listener: Box<dyn Listener>,
    /// The listening socket and the connections that have not greeted, as one descriptor.
    events: Events,
    greeting: VecDeque<(Channel, Instant)>,
    accepted: VecDeque<Channel>,
    /// There may be more pending connections than were taken.
    has_more: bool,
    config: Config,
}

impl ServerChannel {
    /// Listens on an address. With port 0 or an empty name it chooses one, which [`address`](Self::address) returns.
    ///
    /// # Errors
    ///
    /// [`Error::Config`], and [`Error::System`] if the address is in use.
    pub fn bind(address: &Address, config: &Config) -> Result<Self, Error> {
        let below = &secure::below(address, config)?;
        let mut listener: Box<dyn Listener> = match address {
            Address::Tcp(address) => Box::new(TcpListener::bind(*address, below)?),
            #[cfg(feature = "rdma")]
            Address::Rdma(address) => Box::new(RdmaListener::bind(*address, below)?),
            #[cfg(not(feature = "rdma"))]
            Address::Rdma(_) => return Err(Error::RdmaUnavailable("this program was built without RDMA")),
            Address::Shm(name) => Box::new(ShmListener::bind(name, below)?),
        };
        if let Some(identity) = config.identity.clone() {
            listener = Box::new(SecureListener { inner: listener, identity });
        }
        let events = Events::new()?;
        events.watch(listener.descriptor(), 0)?;
        let (greeting, accepted) = (VecDeque::with_capacity(config.greeting), VecDeque::new());
        Ok(Self { listener, events, greeting, accepted, has_more: false, config: config.clone() })
    }

    /// The address that it listens on.
    pub fn address(&self) -> Address {
        self.listener.address()
    }

    /// Returns the next channel whose peer greeted, or `None`: then wait for
    /// [`Operations::ACCEPT`](crate::Operations::ACCEPT).
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the process has run out of descriptors; later calls may succeed.
    pub fn accept(&mut self) -> Result<Option<Channel>, Error> {
        if self.accepted.is_empty() {
            self.progress()?;
        }
        Ok(self.accepted.pop_front())
    }

    /// Accepts new connections and receives their greetings.
    pub(crate) fn progress(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        // Only consumes the edges: everything is looked at below.
        self.events.wait(Some(Duration::ZERO), |_, _| {})?;
        // Limited per call, so that a flood leaves time for others.
        self.has_more = true;
        for _ in 0..self.config.greeting {
            let Some(transport) = self.listener.accept()? else {
                self.has_more = false;
                break;
            };
            if self.greeting.len() == self.config.greeting {
                self.greeting.pop_front();
            }
            self.events.watch(transport.descriptor(), 0)?;
            self.greeting.push_back((Channel::new(transport), now));
        }
        let mut at = 0;
        while let Some((channel, since)) = self.greeting.get_mut(at) {
            channel.progress();
            let is_over = now.duration_since(*since) >= self.config.greeting_timeout;
            if channel.is_connected() && !channel.has_failed() {
                if let Some((channel, _)) = self.greeting.remove(at) {
                    // The channel may be watched elsewhere from now on.
                    let _ = self.events.forget(channel.descriptor());
                    self.accepted.push_back(channel);
                }
            } else if channel.has_failed() || is_over {
                self.greeting.remove(at);
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// Ready for [`Operations::ACCEPT`] if [`accept`](Self::accept) would return a channel or an error.
    pub(crate) fn ready(&mut self) -> Operations {
        let has_failed = self.progress().is_err();
        Operations::ACCEPT.when(has_failed || !self.accepted.is_empty())
    }

    /// When it must be looked at without an event.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        if self.has_more {
            return Some(Instant::now());
        }
        let (_, since) = self.greeting.front()?;
        since.checked_add(self.config.greeting_timeout)
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl std::fmt::Debug for ServerChannel {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("ServerChannel").field("address", &self.address()).finish_non_exhaustive()
    }
}
