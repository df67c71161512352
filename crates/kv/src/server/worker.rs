//! A thread that serves the connections that it was handed, as they have something to read or to write.
//!
//! Each round waits for events, at most a second while a connection has a deadline, and not at all while connections
//! wait for their next turn. It gives a turn to each connection with an event, then to each that waited for its next
//! turn before the round. So a connection with endless requests alternates with all others. The listener and other
//! workers reach it through its inbox: with new connections, and with connections that must release memory.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use net::{Prefix, Waker};
use rustix::{
    buffer::spare_capacity,
    event::{
        Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
    },
};

use super::{
    Config, Deadlines,
    connection::{Buffers, Connection, Waits},
    memory::Memory,
    socket::Socket,
};
use crate::{
    clock::Seconds,
    service::Service,
    session::Session,
    watch::{Client, CloseReason},
};

/// Maximum number of events per wait.
const EVENTS: usize = 256;

/// The token of the waker.
const WAKER: u64 = u64::MAX;

/// How long requests that have arrived are answered after a stop was requested.
const LAST_TURNS: Duration = Duration::from_millis(500);

/// Interval of the search for idle and slow connections.
const TICK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A connection that was accepted, and whether it speaks TLS.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) socket: OwnedFd,
    pub(super) tls: bool,
    /// The client's address; none of a socket in the file system.
    pub(super) peer: Option<SocketAddr>,
}

/// The queue of connections from the listener to a worker.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    messages: Arc<Mutex<Messages>>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct Messages {
    accepted: Vec<Connected>,
    /// Connections that are to release memory: their slots and numbers.
    holding: Vec<(usize, u64)>,
    /// Watchers that have lines: the same.
    watching: Vec<(usize, u64)>,
}

impl Inbox {
    /// Hands over a connection. The limit of connections bounds the queue.
    pub(super) fn put(&self, connection: Connected) {
        self.lock().accepted.push(connection);
        self.waker.wake();
    }

    /// Makes a connection release its memory.
    pub(super) fn release_memory(&self, slot: usize, connection: u64) {
        self.lock().holding.push((slot, connection));
        self.waker.wake();
    }

    /// Makes a watcher take its lines.
    pub(super) fn send_lines(&self, slot: usize, connection: u64) {
        self.lock().watching.push((slot, connection));
        self.waker.wake();
    }

    pub(super) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Messages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Messages {
        // In this order a connection that arrives meanwhile leaves the waker readable.
        self.waker.clear();
        std::mem::take(&mut self.lock())
    }
}

/// A connection, and the events that it waits for.
struct ConnectionSlot {
    connection: Connection,
    waits: Waits,
    opened: Seconds,
    /// When it is closed unless it has got further.
    deadline: Option<Seconds>,
}

/// A worker.
pub(super) struct Worker {
    service: Arc<Service>,
    memory: Arc<Memory>,
    inbox: Inbox,
    epoll: OwnedFd,
    slots: Vec<Option<ConnectionSlot>>,
    free: Vec<usize>,
    /// Connections whose turn was over before they were done.
    turns: VecDeque<usize>,
    buffers: Buffers,
    idle: Option<Seconds>,
    deadlines: Deadlines,
    /// Connections that have a deadline.
    timed: usize,
    /// When the worker ends, if it must.
    ends: Option<Instant>,
}

impl Worker {
    pub(super) fn new(service: &Arc<Service>, memory: &Arc<Memory>, config: &Config) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let inbox = Inbox { messages: Arc::default(), waker: Waker::new()? };
        epoll::add(&epoll, inbox.waker.as_fd(), EventData::new_u64(WAKER), EventFlags::IN)?;
        let idle = config.idle.map(|time| u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
        Ok(Self {
            service: Arc::clone(service),
            memory: Arc::clone(memory),
            inbox,
            epoll,
            slots: Vec::new(),
            free: Vec::new(),
            turns: VecDeque::new(),
            buffers: Buffers::new(),
            idle,
            deadlines: config.deadlines,
            timed: 0,
            ends: None,
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
            if self.service.is_stopping() {
                self.ends.get_or_insert_with(|| Instant::now() + LAST_TURNS);
            }
            let wait = if self.ends.is_some() || !self.turns.is_empty() {
                Some(Timespec { tv_sec: 0, tv_nsec: 0 })
            } else {
                (self.idle.is_some() || self.timed > 0).then_some(TICK)
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
            let waiting = self.turns.len();
            for event in &events {
                match event.data.u64() {
                    WAKER => self.take_messages(now),
                    slot => self.event(slot as usize, now),
                }
            }
            for _ in 0..waiting {
                if let Some(slot) = self.turns.pop_front() {
                    self.turn(slot, now);
                }
            }
            self.count();
            if now != looked {
                looked = now;
                self.close_late(now);
            }
            // Requests that had arrived were answered in this round, or in some more for connections whose turns had
            // ended.
            if self.ends.is_some() && (self.turns.is_empty() || self.is_late()) {
                return;
            }
        }
    }

    /// Whether the deadline of the worker's end has passed.
    fn is_late(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    /// Makes connections release memory, and adds those that were handed over.
    fn take_messages(&mut self, now: Seconds) {
        let Messages { accepted, holding, watching } = self.inbox.take();
        for (slot, number) in holding {
            let there = self.slots.get_mut(slot).and_then(Option::as_mut);
            // The connection may have closed meanwhile.
            if let Some(there) = there.filter(|there| there.connection.number() == number) {
                let waits = there.connection.release_memory(&mut self.buffers, now);
                self.wait(slot, waits);
            }
        }
        for (slot, number) in watching {
            let there = self.slots.get(slot).and_then(Option::as_ref);
            if there.is_some_and(|there| there.connection.number() == number) {
                self.event(slot, now);
            }
        }
        for accepted in accepted {
            let address = accepted.peer;
            let Some(socket) = self.socket(accepted) else {
                self.service.counts.curr_connections.fetch_sub(1, Relaxed);
                continue;
            };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.slots.push(None);
                self.slots.len() - 1
            });
            let source = address.map(|address| Prefix::shared_by(address.ip()));
            let account = self.memory.open(source, self.inbox.clone(), slot);
            let client = Client { address, descriptor: socket.descriptor().as_raw_fd() };
            self.service.store.watchers().connected(&client);
            let connection = Connection::new(socket, Session::new(&self.service), account, client, now);
            let data = EventData::new_u64(slot as u64);
            let added = epoll::add(&self.epoll, connection.socket().descriptor(), data, EventFlags::IN);
            let deadline = connection.deadline(&self.deadlines, now);
            self.timed += usize::from(deadline.is_some());
            self.slots[slot] = Some(ConnectionSlot { connection, waits: Waits::Read, opened: now, deadline });
            if let Err(error) = added {
                tracing::warn!("cannot serve a connection: {error}");
                self.close(slot, CloseReason::Error);
            }
        }
    }

    /// The buffers for reading from and writing to connections.
    fn socket(&self, accepted: Connected) -> Option<Socket> {
        let Some(tls) = self.service.tls().filter(|_| accepted.tls) else {
            return Some(Socket::plain(accepted.socket));
        };
        match tls.accept() {
            Ok(session) => Some(Socket::tls(accepted.socket, session, &self.service)),
            Err(error) => {
                tracing::warn!("cannot start TLS on a connection: {error}");
                None
            }
        }
    }

    /// Queues a connection for a turn, as it has something to read or to write, unless it is queued.
    fn event(&mut self, number: usize, now: Seconds) {
        let waits = self.slots.get(number).and_then(Option::as_ref).map(|slot| slot.waits);
        if waits.is_some_and(|waits| waits != Waits::Turn) {
            self.turn(number, now);
        }
    }

    fn turn(&mut self, number: usize, now: Seconds) {
        if self.is_late() {
            return;
        }
        // Another event of the same round may have closed it.
        let Some(slot) = self.slots.get_mut(number).and_then(Option::as_mut) else { return };
        let waits = slot.connection.turn(&mut self.buffers, now);
        self.wait(number, waits);
    }

    /// Registers the next event that a connection needs.
    fn wait(&mut self, number: usize, waits: Waits) {
        let Some(slot) = self.slots.get_mut(number).and_then(Option::as_mut) else { return };
        let before = std::mem::replace(&mut slot.waits, waits);
        if waits == Waits::Closed {
            let reason = slot.connection.close_reason();
            return self.close(number, reason);
        }
        let deadline = slot.connection.deadline(&self.deadlines, slot.opened);
        self.timed += usize::from(deadline.is_some());
        self.timed -= usize::from(std::mem::replace(&mut slot.deadline, deadline).is_some());
        let writes = waits == Waits::Write;
        if writes != (before == Waits::Write) {
            let flags = if writes { EventFlags::OUT } else { EventFlags::IN };
            let data = EventData::new_u64(number as u64);
            if epoll::modify(&self.epoll, slot.connection.socket().descriptor(), data, flags).is_err() {
                return self.close(number, CloseReason::Error);
            }
        }
        if waits == Waits::Turn {
            self.service.counts.conn_yields.fetch_add(1, Relaxed);
            self.turns.push_back(number);
        }
    }

    fn close(&mut self, number: usize, reason: CloseReason) {
        // Closing the socket removes it from the epoll.
        if let Some(slot) = self.slots[number].take() {
            self.timed -= usize::from(slot.deadline.is_some());
            self.service.store.watchers().disconnected(slot.connection.client(), reason);
            self.free.push(number);
            self.service.counts.curr_connections.fetch_sub(1, Relaxed);
        }
    }

    /// Closes connections that were idle for too long, and those whose deadline has passed.
    fn close_late(&mut self, now: Seconds) {
        if self.idle.is_none() && self.timed == 0 {
            return;
        }
        let since = self.idle.map(|idle| now.saturating_sub(idle));
        for number in 0..self.slots.len() {
            let Some(slot) = &self.slots[number] else { continue };
            let is_slow = slot.deadline.is_some_and(|deadline| now >= deadline);
            let is_idle = since.is_some_and(|since| slot.connection.active < since) && !slot.connection.is_watching();
            if is_slow || is_idle {
                let counts = &self.service.counts;
                let count = match is_slow {
                    true if slot.connection.is_stalled() => &counts.stalled_kicks,
                    true => &counts.slow_kicks,
                    false => &counts.idle_kicks,
                };
                count.fetch_add(1, Relaxed);
                self.close(number, if is_slow { CloseReason::Error } else { CloseReason::IdleTimeout });
            }
        }
    }

    /// Adds the moved bytes to the counts, once per round rather than for each read.
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
        (0..self.slots.len()).for_each(|slot| self.close(slot, CloseReason::Shutdown));
    }
}
