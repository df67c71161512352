//! A serving thread: accepts connections, and serves them when they are readable or writable.
use std::{
    collections::VecDeque,
    io,
    net::TcpStream,
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Acquire},
    },
    time::{Duration, Instant},
};

use net::tls::Tls;
use net::{Accepted, Acceptor, Listener};
use rustix::{
    buffer::spare_capacity,
    event::{
        Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
    },
};

use super::{
    bitcoind_pool::{BitcoindPool, Question},
    connection::{Connection, Waits},
    inbox::{Answer, Asked, Inbox},
    socket::Socket,
};
use crate::{
    service::{Announcement, Counts, Service},
    session::Session,
};

/// Maximum number of events per wait.
const EVENTS: usize = 256;
/// The waker's number in events; listeners have the numbers before.
const WAKER: u64 = u64::MAX;
/// Connections accepted before others get their turn.
const ACCEPTED: usize = 64;
/// How often connections that wait for time are checked.
const TICK: Duration = Duration::from_millis(20);
/// How often silent connections are searched for.
const ROUND: Duration = Duration::from_secs(1);
/// Cost of a connection for its prefix, in microseconds of work, and additionally with the key exchange and the
/// signature of TLS.
const ACCEPT_COST: u64 = 20;
const TLS_COST: u64 = 500;
/// How long nothing is accepted when the process has run out of descriptors.
const PAUSE: Duration = Duration::from_millis(10);
/// Sent to a client beyond the limit over TCP.
const TOO_MANY: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-101,\"message\":\"excessive resource usage: \
    too many connections; connect again later\"}}\n";
/// The same in place of a WebSocket's handshake.
const UNAVAILABLE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A listening socket, and what its clients speak.
pub struct WalletListener {
    pub listener: Listener,
    pub tls: Option<Arc<Tls>>,
    /// Whether clients speak WebSocket.
    pub is_web_socket: bool,
}

impl WalletListener {
    /// Reports to a client that there are too many connections. One that expects TLS only sees its connection close.
    fn refuse(&self, service: &Service, client: impl AsFd) {
        Counts::add(&service.counts.refused_connections, 1);
        match (&self.tls, self.is_web_socket) {
            (Some(_), _) => {}
            (None, true) => net::refuse(client, UNAVAILABLE),
            (None, false) => net::refuse(client, TOO_MANY),
        }
    }
}

/// A connection, and its reason to wait.
struct ConnectionSlot {
    connection: Connection,
    waits: Waits,
    /// Distinguishes it from earlier connections in the same slot.
    connection_number: u64,
}

/// A worker.
pub struct Worker {
    service: Arc<Service>,
    listeners: Vec<Arc<WalletListener>>,
    stop: Arc<AtomicBool>,
    inbox: Inbox,
    bitcoind_pool: BitcoindPool,
    /// Number of connections so far.
    accepted: u64,
    epoll: OwnedFd,
    slots: Vec<Option<ConnectionSlot>>,
    free: Vec<usize>,
    /// Connections whose turn ended before their work, and those that wait for time.
    turns: VecDeque<usize>,
    room: Box<[u8; 64 << 10]>,
    acceptor: Acceptor,
}

impl Worker {
    pub fn new(
        service: &Arc<Service>,
        listeners: &[Arc<WalletListener>],
        bitcoind_pool: &BitcoindPool,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let inbox = Inbox::new()?;
        epoll::add(&epoll, inbox.as_fd(), EventData::new_u64(WAKER), EventFlags::IN)?;
        for (number, listener) in (1..).zip(listeners) {
            epoll::add(&epoll, &listener.listener, EventData::new_u64(WAKER - number), EventFlags::IN)?;
        }
        Ok(Self {
            service: Arc::clone(service),
            listeners: listeners.to_vec(),
            stop: Arc::clone(stop),
            inbox,
            bitcoind_pool: bitcoind_pool.clone(),
            accepted: 0,
            epoll,
            slots: Vec::new(),
            free: Vec::new(),
            turns: VecDeque::new(),
            room: Box::new([0; 64 << 10]),
            acceptor: Acceptor::new()?,
        })
    }

    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Serves until the server stops.
    pub fn run(mut self) {
        // Wallets' requests must not delay a transfer.
        net::yield_to_others();
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let mut looked = Instant::now();
        while !self.stop.load(Acquire) {
            let wait = if self.turns.is_empty() { ROUND } else { self.pause() };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Timespec::try_from(wait).ok().as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!("cannot wait for Electrum's clients: {error}");
                    return;
                }
            }
            let now = Instant::now();
            for event in &events {
                let (number, flags) = (event.data.u64(), event.flags);
                match WAKER - number {
                    0 => self.told(now),
                    listener if listener <= self.listeners.len() as u64 => self.accept(listener as usize - 1, now),
                    // A connection that waits for an answer gets no other events.
                    _ if flags.intersects(EventFlags::HUP | EventFlags::ERR) && self.is_asking(number as usize) => {
                        self.close(number as usize);
                    }
                    _ => self.turn(number as usize, now),
                }
            }
            for _ in 0..self.turns.len() {
                if let Some(number) = self.turns.pop_front() {
                    self.turn(number, now);
                }
            }
            if now.saturating_duration_since(looked) >= ROUND {
                looked = now;
                self.close_silent(now);
            }
        }
    }

    /// How long the next of the connections in `turns` may wait.
    fn pause(&self) -> Duration {
        let is_due =
            |number: &usize| self.slots[*number].as_ref().is_some_and(|slot| !matches!(slot.waits, Waits::Credit(_)));
        if self.turns.iter().any(is_due) { Duration::ZERO } else { TICK }
    }

    fn accept(&mut self, listener: usize, now: Instant) {
        let listener = Arc::clone(&self.listeners[listener]);
        for _ in 0..ACCEPTED {
            let refuse = |client: &OwnedFd| listener.refuse(&self.service, client);
            let (stream, address) = match self.acceptor.accept(&listener.listener, refuse) {
                Accepted::Connection(stream, Some(address)) => (TcpStream::from(stream), address),
                // A wallet without an address left before it was accepted.
                Accepted::Connection(_, None) | Accepted::Refused => continue,
                Accepted::Empty => return,
                Accepted::Pause => return std::thread::sleep(PAUSE),
            };
            let Some(share) = self.service.shares().connect(address.ip(), now) else {
                listener.refuse(&self.service, &stream);
                continue;
            };
            Counts::add(&self.service.counts.connections, 1);
            let tls = match listener.tls.as_ref().map(|tls| tls.accept()).transpose() {
                Ok(tls) => tls,
                Err(error) => {
                    tracing::warn!("cannot start TLS on a connection: {error}");
                    continue;
                }
            };
            let longest = listener.is_web_socket.then(|| share.longest_request());
            let Ok(socket) = Socket::new(stream, tls, longest) else { continue };
            let number = self.free.pop().unwrap_or_else(|| {
                self.slots.push(None);
                self.slots.len() - 1
            });
            let data = EventData::new_u64(number as u64);
            let added = epoll::add(&self.epoll, &socket, data, EventFlags::IN);
            self.accepted += 1;
            let (inbox, own) = (self.inbox.clone(), Asked { number, connection: self.accepted });
            share.charge(if listener.tls.is_some() { TLS_COST } else { ACCEPT_COST }, now);
            let session = Session::new(&self.service, share);
            let connection = Connection::new(socket, session, Box::new(move || inbox.evict(own)), now);
            self.slots[number] =
                Some(ConnectionSlot { connection, waits: Waits::Read, connection_number: self.accepted });
            if let Err(error) = added {
                tracing::warn!("cannot serve a connection: {error}");
                self.close(number);
            }
        }
    }

    fn turn(&mut self, number: usize, now: Instant) {
        // Another event of the same round may have closed it.
        let Some(slot) = self.slots.get_mut(number).and_then(Option::as_mut) else { return };
        match slot.waits {
            Waits::Credit(until) if now < until => return self.turns.push_back(number),
            Waits::Answer => return,
            _ => {}
        }
        let before = slot.waits;
        let waits = slot.connection.turn(&mut self.room, now);
        slot.waits = waits;
        let flags = |waits| match waits {
            Waits::Read | Waits::Turn => EventFlags::IN,
            Waits::Write => EventFlags::OUT,
            // A connection that waits for time, or for an answer, is not read from.
            Waits::Credit(_) | Waits::Answer | Waits::Closed => EventFlags::empty(),
        };
        if waits == Waits::Closed {
            return self.close(number);
        }
        if flags(waits) != flags(before) {
            let data = EventData::new_u64(number as u64);
            if epoll::modify(&self.epoll, &slot.connection.socket, data, flags(waits)).is_err() {
                return self.close(number);
            }
        }
        if let Some((session, message)) = slot.connection.take_question() {
            let asked_by = Asked { number, connection: slot.connection_number };
            self.bitcoind_pool.ask(Question { session, message, asked_by }, self.inbox.clone());
        }
        if matches!(waits, Waits::Turn | Waits::Credit(_)) {
            self.turns.push_back(number);
        }
    }

    fn is_asking(&self, number: usize) -> bool {
        let slot = self.slots.get(number).and_then(Option::as_ref);
        slot.is_some_and(|slot| slot.waits == Waits::Answer)
    }

    /// Processes the inbox.
    fn told(&mut self, now: Instant) {
        let (answers, announcements) = self.inbox.take();
        for Asked { number, connection } in self.inbox.take_evicted() {
            let slot = self.slots.get(number).and_then(Option::as_ref);
            if slot.is_some_and(|slot| slot.connection_number == connection) {
                self.close(number);
            }
        }
        for answer in answers {
            self.answered(answer, now);
        }
        self.announce(&announcements, now);
    }

    /// Passes an answer to the connection that asked, if it still exists.
    fn answered(&mut self, Answer { session, reply, to }: Answer, now: Instant) {
        let slot = self.slots.get_mut(to.number).and_then(Option::as_mut);
        let Some(slot) = slot.filter(|slot| slot.connection_number == to.connection) else { return };
        if slot.connection.answered(session, &reply, now) {
            // Its turn is due, and its registration is unchanged.
            slot.waits = Waits::Credit(now);
            self.turn(to.number, now);
        } else {
            self.close(to.number);
        }
    }

    /// Reports changes to all clients.
    fn announce(&mut self, announcements: &[Arc<Announcement>], now: Instant) {
        for announcement in announcements {
            for number in 0..self.slots.len() {
                let Some(slot) = self.slots[number].as_mut() else { continue };
                if slot.connection.announce(announcement, now) {
                    self.turn(number, now);
                } else {
                    self.close(number);
                }
            }
        }
    }

    /// Closes connections whose clients were silent for too long.
    fn close_silent(&mut self, now: Instant) {
        let settings = self.service.settings();
        let (patience, idle) = (settings.patience, settings.idle);
        for number in 0..self.slots.len() {
            if self.slots[number].as_ref().is_some_and(|slot| slot.connection.is_over(patience, idle, now)) {
                Counts::add(&self.service.counts.timeouts, 1);
                self.close(number);
            }
        }
    }

    fn close(&mut self, number: usize) {
        // Closing the socket removes it from the epoll.
        if self.slots[number].take().is_some() {
            self.free.push(number);
            self.turns.retain(|waiting| *waiting != number);
        }
    }
}
