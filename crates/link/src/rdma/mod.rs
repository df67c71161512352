//! `rdma://`: a reliable queue pair over rdma_cm, with SEND and RECEIVE only.
//!
//! Greetings are the private data of the connection request and of its reply. A message is sent from the buffer that
//! the user filled, and received in the buffer that the user gets. Its immediate word holds kind and credits.

#[cfg(test)]
mod byzantine;
mod immediate;
mod open;
mod queue;
mod verbs;

use std::{
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use rustix::{
    event::{Timespec, epoll},
    io::Errno,
};

use self::{
    open::Open,
    verbs::{Event, Id},
};
use crate::{
    Address, Buffer, Config, Counters, Error, Message, Operations,
    error::Tried,
    notify::Notify,
    tcp::frame::Greeting,
    transport::{Listener, Transport},
};

/// A connection.
pub(crate) struct Rdma {
    // Before the id, which it needs.
    phase: Phase,
    id: Arc<Id>,
    /// The descriptors of connection events and completions, combined.
    epoll: OwnedFd,
    config: Config,
    /// The descriptor signalled that there may be something.
    has_events: bool,
    is_gone: bool,
}

enum Phase {
    /// The kernel resolves the device and the route to the peer.
    Resolving,
    /// The queue pair exists; the peer has not answered yet.
    Connecting(Box<Open>),
    Open(Box<Open>),
}

impl Rdma {
    pub(crate) fn connect(address: SocketAddr, config: &Config) -> Result<Self, Error> {
        Self::new(Id::resolve_address(address)?, config)
    }

    /// Accepts a connection whose peer greeted.
    fn accept(id: Id, theirs: Greeting, config: &Config) -> Result<Self, Error> {
        let mut this = Self::new(id, config)?;
        let mut open = this.open()?;
        open.greet(theirs);
        this.id.accept(&Greeting::from_config(config).encode())?;
        this.phase = Phase::Connecting(open);
        Ok(this)
    }

    fn new(id: Id, config: &Config) -> Result<Self, Error> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).tried("make an epoll; raise `ulimit -n`")?;
        watch(&epoll, id.as_fd())?;
        let config = config.clone();
        Ok(Self { phase: Phase::Resolving, id: Arc::new(id), epoll, config, has_events: true, is_gone: false })
    }

    fn open(&self) -> Result<Box<Open>, Error> {
        let open = Box::new(Open::new(&self.id, &self.config)?);
        watch(&self.epoll, open.as_fd())?;
        Ok(open)
    }

    fn take_events(&mut self) -> Result<(), Error> {
        // Take the edge first, so that later events cause another one.
        let nothing = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        match epoll::wait(&self.epoll, &mut [nothing; 2][..], Some(&Timespec::default())) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).tried("wait for RDMA events"),
        }
        while let Some(event) = self.id.next_event()? {
            self.on(event)?;
        }
        match &mut self.phase {
            Phase::Resolving => Ok(()),
            Phase::Connecting(open) | Phase::Open(open) => open.take_events(),
        }
    }

    fn on(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::AddressResolved => self.id.resolve_route(),
            Event::RouteResolved => {
                self.phase = Phase::Connecting(self.open()?);
                self.id.connect(&Greeting::from_config(&self.config).encode())
            }
            Event::Established(theirs) => {
                let Phase::Connecting(mut open) = std::mem::replace(&mut self.phase, Phase::Resolving) else {
                    return Err(Error::NotConnected);
                };
                // The accepting side has it from the request.
                if theirs != [0; Greeting::BYTES] {
                    open.greet(Greeting::decode(&theirs)?.fits(&self.config)?);
                }
                self.phase = Phase::Open(open);
                Ok(())
            }
            Event::Rejected(theirs) => Err(refusal(&theirs, &self.config)),
            Event::Failed(errno) => Err(errno).tried("connect over RDMA; is the peer listening there?"),
            Event::Disconnected => {
                self.is_gone = true;
                Ok(())
            }
            Event::Request(..) | Event::Other => Ok(()),
        }
    }
}

/// Why a peer refused a connection, from its private data.
fn refusal(theirs: &[u8; Greeting::BYTES], config: &Config) -> Error {
    if *theirs == [0; Greeting::BYTES] {
        return Error::System { what: "connect over RDMA; is the peer listening there?", errno: Errno::CONNREFUSED };
    }
    let ours = crate::tcp::frame::VERSION;
    let refused = Error::Greeting { ours, reason: "it refused the greeting of this side" };
    Greeting::decode(theirs).and_then(|theirs| theirs.fits(config)).err().unwrap_or(refused)
}

fn watch(epoll: &OwnedFd, descriptor: BorrowedFd<'_>) -> Result<(), Error> {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(epoll, descriptor, epoll::EventData::new_u64(0), flags).tried("watch a descriptor")
}

impl Drop for Rdma {
    fn drop(&mut self) {
        if let Phase::Open(open) = &mut self.phase {
            open.close();
        }
        self.id.disconnect();
    }
}

impl Transport for Rdma {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    fn signalled(&mut self, _may_be_over: bool) {
        self.has_events = true;
    }

    fn progress(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.has_events) {
            self.take_events()?;
        }
        match &mut self.phase {
            Phase::Open(open) => open.progress(self.is_gone),
            Phase::Resolving | Phase::Connecting(_) if self.is_gone => Err(Error::Lost),
            Phase::Resolving | Phase::Connecting(_) => Ok(()),
        }
    }

    fn is_connected(&self) -> bool {
        matches!(self.phase, Phase::Open(_))
    }

    fn ready(&self) -> Operations {
        if let Phase::Open(open) = &self.phase { open.ready() } else { Operations::NONE }
    }

    fn buffer(&mut self) -> Option<Buffer> {
        if let Phase::Open(open) = &mut self.phase { open.buffer() } else { None }
    }

    fn send(&mut self, buffer: Buffer, _may_wait: bool) -> Result<(), Error> {
        if let Phase::Open(open) = &mut self.phase { open.send(buffer) } else { Err(Error::NotConnected) }
    }

    fn receive(&mut self) -> Option<Message> {
        if let Phase::Open(open) = &mut self.phase { open.receive() } else { None }
    }

    fn set_notify(&mut self, notify: Option<Arc<Notify>>) {
        if let Phase::Open(open) = &mut self.phase {
            open.set_notify(notify);
        }
    }

    fn peer(&self) -> Option<SocketAddr> {
        Some(self.id.peer())
    }

    fn counters(&self) -> Counters {
        if let Phase::Open(open) = &self.phase { open.counters() } else { Counters::default() }
    }
}

/// A listener for connections.
pub(crate) struct RdmaListener {
    id: Id,
    config: Config,
}

/// Requests that rdma_cm queues until they are taken.
const BACKLOG: i32 = 1024;

impl RdmaListener {
    pub(crate) fn bind(address: SocketAddr, config: &Config) -> Result<Self, Error> {
        Ok(Self { id: Id::listen(address, BACKLOG)?, config: config.clone() })
    }
}

impl Listener for RdmaListener {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.id.as_fd()
    }

    fn accept(&mut self) -> Result<Option<Box<dyn Transport>>, Error> {
        while let Some(event) = self.id.next_event()? {
            match event {
                Event::Request(request, theirs) => {
                    match Greeting::decode(&theirs).and_then(|theirs| theirs.fits(&self.config)) {
                        Ok(theirs) => {
                            return Ok(Some(Box::new(Rdma::accept(request.into_id()?, theirs, &self.config)?)));
                        }
                        Err(_) => request.reject(&Greeting::from_config(&self.config).encode()),
                    }
                }
                Event::Failed(errno) => return Err(errno).tried("listen over RDMA"),
                _ => {}
            }
        }
        Ok(None)
    }

    fn address(&self) -> Address {
        Address::Rdma(self.id.address())
    }
}
