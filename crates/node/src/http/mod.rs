//! A site over HTTP/1.1: persistent connections, all on one thread that never blocks on one of them.
//!
//! That thread answers from memory. Reader threads answer pages that must be read from disk, so metrics and health
//! never wait for the disk. A connection has one request in flight, which bounds the queues by the number of
//! connections, and each phase has a timeout. When all connections, or those of a prefix, are in use, the connection
//! that was silent for longest is closed.

mod body;
mod connection;
mod readers;
mod reply;
mod request;
mod site;
mod socket;

use std::{
    collections::HashMap,
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Acquire},
    },
    time::{Duration, Instant},
};

use net::{Prefix, Sharer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{Error, sockets::listening};
use connection::{Connection, Step};
use readers::{HELD, ReadRequest, Readers};
pub use reply::Reply;
pub use request::Fields;
use request::Request;
pub use site::{Get, Site};

/// Connections at a time.
pub const CONNECTIONS: usize = 256;
/// Connections at a time of a prefix that is not trusted.
const PREFIX_CONNECTIONS: usize = 32;
/// Bytes of requests and replies that connections of a prefix hold that is not trusted: four replies of the largest
/// blocks.
const PREFIX_HELD: usize = 64 << 20;
/// Requests of a connection that are answered before others have their turn.
const REQUESTS: usize = 16;
/// Interval of checks for a stop and for timeouts.
const TICK: Duration = Duration::from_millis(50);

/// The listener of a site.
pub struct Http<S> {
    listener: TcpListener,
    local: SocketAddr,
    trusted: Vec<Prefix>,
    site: Arc<S>,
    readers: Readers,
    /// In order of arrival.
    connections: Vec<Connection>,
    /// Number of the next connection.
    next: u64,
}

impl<S: Site> Http<S> {
    /// Listens on `address`, and starts the readers. Each prefix has a share of the connections, except those in
    /// `trusted`.
    pub fn bind(address: SocketAddr, trusted: Vec<Prefix>, site: S) -> Result<Self, Error> {
        let listen = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        };
        let (local, listener) = listen().map_err(listening("http", address))?;
        let site = Arc::new(site);
        let readers = Readers::start(&site)?;
        Ok(Self { listener, local, trusted, site, readers, connections: Vec::new(), next: 0 })
    }

    /// The address that it listens on.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Serves until `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Acquire) {
            let Ok(events) = self.wait() else {
                // The want of memory, say: nothing was waited for.
                std::thread::sleep(TICK);
                continue;
            };
            let now = Instant::now();
            for (number, reply) in self.readers.take() {
                if let Ok(at) = self.connections.binary_search_by_key(&number, |connection| connection.number) {
                    self.connections[at].send(reply, now);
                }
            }
            if let Some(event) = self.site.tick(now).map(Arc::from) {
                self.connections.iter_mut().for_each(|connection| connection.send_event(&event, now));
            }
            let mut connections = std::mem::take(&mut self.connections);
            let mut events = events.into_iter();
            connections.retain_mut(|connection| {
                let goes_on = self.turn(connection, events.next().unwrap_or(PollFlags::empty()), now);
                if !goes_on {
                    self.readers.forget(connection.number);
                }
                goes_on
            });
            self.connections = connections;
            let held = self.enforce_held();
            self.readers.set_held(held);
            self.accept(now);
        }
    }

    /// Waits until something can be done. Gives what each connection is ready for.
    fn wait(&self) -> io::Result<Vec<PollFlags>> {
        let mut polled =
            vec![PollFd::new(&self.listener, PollFlags::IN), PollFd::new(self.readers.waker(), PollFlags::IN)];
        let own = polled.len();
        polled
            .extend(self.connections.iter().map(|connection| PollFd::new(connection.stream(), connection.waits_for())));
        let is_due = self.connections.iter().any(|connection| connection.is_due);
        let tick = if is_due { Duration::ZERO } else { TICK };
        match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: i64::from(tick.subsec_nanos()) })) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(polled[own..].iter().map(PollFd::revents).collect())
    }

    /// Advances a connection as far as possible without waiting. Returns whether it stays open.
    fn turn(&self, connection: &mut Connection, events: PollFlags, now: Instant) -> bool {
        if connection.is_over(now) || connection.has_left(events) {
            return false;
        }
        if events.is_empty() && !connection.is_due && !connection.resumes(now) {
            return true;
        }
        for _ in 0..REQUESTS {
            match connection.advance(now) {
                Ok(Step::Asked(request)) => self.ask(connection, request, now),
                Ok(Step::Waits) => {
                    connection.is_due = false;
                    return true;
                }
                Ok(Step::Feed(request)) => {
                    // Without a descriptor for it the client is disconnected, and tries again.
                    if let Ok(stream) = connection.stream().try_clone() {
                        self.site.serve_feed(stream, request);
                    }
                    return false;
                }
                Ok(Step::Done) | Err(_) => return false,
            }
        }
        connection.is_due = true;
        true
    }

    /// Answers a request here, or passes it to a reader.
    fn ask(&self, connection: &mut Connection, request: Request, now: Instant) {
        let read = ReadRequest { number: connection.number, from: connection.from, request };
        if self.site.is_slow(read.get().path) {
            self.readers.ask(read);
        } else {
            connection.send(read.answer(&*self.site), now);
        }
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..CONNECTIONS {
            match self.listener.accept() {
                Ok((stream, address)) => self.begin(stream, address.ip(), now),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                // For example, no descriptor is left: the connection that was silent for longest is closed.
                Err(_) => {
                    self.make_room(|_| true);
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    fn begin(&mut self, stream: TcpStream, from: IpAddr, now: Instant) {
        let sharer = Sharer::new(from, self.trusted.iter().any(|prefix| prefix.contains(from)));
        let own = self.connections.iter().filter(|connection| connection.sharer == sharer).count();
        if own >= PREFIX_CONNECTIONS && sharer != Sharer::Trusted {
            self.make_room(|connection| connection.sharer == sharer);
        } else if self.connections.len() >= CONNECTIONS {
            self.make_room(|_| true);
        }
        let Ok(mut connection) = Connection::new(stream, self.next, from, sharer, now) else { return };
        self.next += 1;
        // A connection with a complete request is answered before the next one may need its place.
        connection.is_due = true;
        if self.turn(&mut connection, PollFlags::empty(), now) {
            self.connections.push(connection);
        }
    }

    /// Closes connections until all together hold no more than they may, and each prefix its part: the one that holds
    /// the most of the prefix that does. Returns how many bytes the others hold.
    fn enforce_held(&mut self) -> usize {
        loop {
            let total: usize = self.connections.iter().map(Connection::held).sum();
            // The search is skipped while no timeout can have passed.
            if total <= PREFIX_HELD.min(HELD) {
                return total;
            }
            let mut held: HashMap<Sharer, usize> = HashMap::new();
            for connection in &self.connections {
                *held.entry(connection.sharer).or_default() += connection.held();
            }
            let is_over = |(sharer, bytes): &(&Sharer, &usize)| {
                **sharer != Sharer::Trusted && **bytes > PREFIX_HELD || total > HELD
            };
            let largest = held.iter().filter(is_over).max_by_key(|(_, bytes)| **bytes);
            let Some(sharer) = largest.map(|(sharer, _)| *sharer) else { return total };
            let of_it = self.connections.iter().enumerate().filter(|(_, connection)| connection.sharer == sharer);
            let Some((at, _)) = of_it.max_by_key(|(_, connection)| connection.held()) else { return total };
            self.readers.forget(self.connections.remove(at).number);
        }
    }

    /// Closes one of those connections: the longest silent one, or where none is silent the one with the oldest
    /// request.
    fn make_room(&mut self, is_meant: impl Fn(&Connection) -> bool) {
        let meant = self.connections.iter().enumerate().filter(|(_, connection)| is_meant(connection));
        let longest = meant.min_by_key(|(_, connection)| (connection.is_busy(), connection.since));
        if let Some((at, _)) = longest {
            self.readers.forget(self.connections.remove(at).number);
        }
    }
}
