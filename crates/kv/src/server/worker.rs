//! A thread that serves connections: those that it was handed, as they have something to read or to write.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};

use nic::Waker;
use rustix::{
    buffer::spare_capacity,
    event::{
        Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
    },
};

use super::{
    connection::{Buffers, Connection, Waits},
    socket::Socket,
};
use crate::{clock::Seconds, service::Service};

/// Connections told of at once.
const EVENTS: usize = 256;

/// What the waker is told of as.
const WAKER: u64 = u64::MAX;

/// How often connections are looked through for idle ones.
const TICK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A connection that was accepted, and whether it speaks TLS.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) socket: OwnedFd,
    pub(super) tls: bool,
}

/// Where the listener puts connections for a worker.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    connections: Arc<Mutex<Vec<Accepted>>>,
    waker: Waker,
}

impl Inbox {
    /// Hands a connection over. There are no more of them than connections are allowed.
    pub(super) fn put(&self, connection: Accepted) {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        self.waker.wake();
    }

    pub(super) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn take(&self) -> Vec<Accepted> {
        // In this order a connection that comes meanwhile leaves the waker readable.
        let _ = rustix::io::read(self.waker.as_fd(), &mut [0; 8]);
        std::mem::take(&mut self.connections.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A place for a connection, with what it waits for.
struct Place {
    connection: Connection,
    waits: Waits,
}

/// A worker.
pub(super) struct Worker {
    service: Arc<Service>,
    inbox: Inbox,
    epoll: OwnedFd,
    places: Vec<Option<Place>>,
    free: Vec<usize>,
    /// Connections whose turn was over before they were done.
    turns: VecDeque<usize>,
    buffers: Buffers,
    idle: Option<Seconds>,
}

impl Worker {
    pub(super) fn new(service: &Arc<Service>, idle: Option<Duration>) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let inbox = Inbox { connections: Arc::default(), waker: Waker::new()? };
        epoll::add(&epoll, inbox.waker.as_fd(), EventData::new_u64(WAKER), EventFlags::IN)?;
        let idle = idle.map(|time| u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
        Ok(Self {
            service: Arc::clone(service),
            inbox,
            epoll,
            places: Vec::new(),
            free: Vec::new(),
            turns: VecDeque::new(),
            buffers: Buffers::new(),
            idle,
        })
    }

    pub(super) fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Serves until the service stops.
    pub(super) fn run(mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let mut looked = self.service.store.clock().now();
        loop {
            let stopping = self.service.is_stopping();
            let wait = match (stopping || !self.turns.is_empty(), self.idle) {
                (true, _) => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
                (false, Some(_)) => Some(TICK),
                (false, None) => None,
            };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!("cannot wait for requests: {error}");
                    return;
                }
            }
            let now = self.service.store.clock().now();
            for event in &events {
                match event.data.u64() {
                    WAKER => self.open(now),
                    place => self.turn(place as usize, now),
                }
            }
            for _ in 0..self.turns.len() {
                if let Some(place) = self.turns.pop_front() {
                    self.turn(place, now);
                }
            }
            self.count();
            if let Some(idle) = self.idle.filter(|_| now != looked) {
                looked = now;
                self.close_idle(now.saturating_sub(idle));
            }
            // What had arrived was answered in this round.
            if stopping {
                return;
            }
        }
    }

    /// Takes in connections that were handed over.
    fn open(&mut self, now: Seconds) {
        for accepted in self.inbox.take() {
            let Some(socket) = self.socket(accepted) else {
                self.service.counts.curr_connections.fetch_sub(1, Relaxed);
                continue;
            };
            let connection = Connection::new(socket, &self.service, now);
            let place = self.free.pop().unwrap_or_else(|| {
                self.places.push(None);
                self.places.len() - 1
            });
            let data = EventData::new_u64(place as u64);
            let added = epoll::add(&self.epoll, connection.socket().descriptor(), data, EventFlags::IN);
            self.places[place] = Some(Place { connection, waits: Waits::Read });
            if let Err(error) = added {
                tracing::warn!("cannot serve a connection: {error}");
                self.close(place);
            }
        }
    }

    /// What a connection is read from and written to by.
    fn socket(&self, accepted: Accepted) -> Option<Socket> {
        let Some(tls) = self.service.tls().filter(|_| accepted.tls) else {
            return Some(Socket::plain(accepted.socket));
        };
        match tls.accept() {
            Ok(session) => Some(Socket::tls(accepted.socket, session, &self.service)),
            Err(error) => {
                tracing::warn!("cannot speak TLS: {error}");
                None
            }
        }
    }

    fn turn(&mut self, number: usize, now: Seconds) {
        // Another event of the same round may have closed it.
        let Some(place) = self.places.get_mut(number).and_then(Option::as_mut) else { return };
        let waits = place.connection.turn(&mut self.buffers, now);
        let before = std::mem::replace(&mut place.waits, waits);
        if waits == Waits::Closed {
            return self.close(number);
        }
        let writes = waits == Waits::Write;
        if writes != (before == Waits::Write) {
            let flags = if writes { EventFlags::OUT } else { EventFlags::IN };
            let data = EventData::new_u64(number as u64);
            if epoll::modify(&self.epoll, place.connection.socket().descriptor(), data, flags).is_err() {
                return self.close(number);
            }
        }
        if waits == Waits::Turn {
            self.service.counts.conn_yields.fetch_add(1, Relaxed);
            self.turns.push_back(number);
        }
    }

    fn close(&mut self, number: usize) {
        // Closing the socket takes it out of the epoll.
        if self.places[number].take().is_some() {
            self.free.push(number);
            self.service.counts.curr_connections.fetch_sub(1, Relaxed);
        }
    }

    /// Closes connections that were not active since.
    fn close_idle(&mut self, since: Seconds) {
        for number in 0..self.places.len() {
            if self.places[number].as_ref().is_some_and(|place| place.connection.active < since) {
                self.service.counts.idle_kicks.fetch_add(1, Relaxed);
                self.close(number);
            }
        }
    }

    /// Adds what was moved to the counts, once in a round and not for each read.
    fn count(&mut self) {
        let (read, written) = std::mem::take(&mut self.buffers.moved);
        if read > 0 {
            self.service.counts.bytes_read.fetch_add(read, Relaxed);
        }
        if written > 0 {
            self.service.counts.bytes_written.fetch_add(written, Relaxed);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        (0..self.places.len()).for_each(|place| self.close(place));
    }
}
