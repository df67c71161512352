//! Streams next to datagrams: the same frames over TCP, each preceded by its length (32 bits, big-endian).
//!
//! One thread reads frames from all connections and writes replies to them. To the data path, frames of connections are
//! datagrams of a [`Peer`] with a connection, so every service is available over TCP, too.
//!
//! State of a connection: received bytes up to the first incomplete frame; replies that the client has not taken;
//! `requests`, frames without a written reply, and `request_bytes`, which falls to 0 when there are none.
//!
//! In each round, for each connection:
//!
//! 1. If all earlier replies are written, take the new ones, and write as much as the client takes. Once all are
//!    written, they are subtracted from `requests`.
//! 2. If it is readable, read once, so that a connection that sends a lot alternates with the others. It is not read
//!    from while `requests` or `request_bytes` is at its limit, or too many bytes of all connections wait for the data
//!    path.
//! 3. Pass complete frames to the data path, up to the same limits. A length of 0 or above the maximum, or a frame that
//!    would get no reply as a datagram, ends the connection.
//! 4. End it if a frame is incomplete for too long while it is read from, if the client takes less than one largest
//!    reply in that time, or if no byte moved for the idle time.
//!
//! A feed frame of a trusted prefix, in a node that serves [feeds](Subscription), ends the connection here in another
//! way: once all earlier requests are answered, its socket is passed on with the request.
//!
//! Connections are a limited resource. On a new one: refuse it if the prefix has its share, or all places are taken,
//! unless another one gives way. That is the one with the largest product of idle time, from a second on, and
//! connections of its prefix, within the prefix if its share is taken; else one of the prefix with the most
//! connections, if that has at least two more than the new one's. Trusted prefixes have separate places and no share.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::{FeedFrame, Frame, MAX_DATAGRAM};

use crate::backend::{Backend, Batch, MESSAGE_BYTES, Memory, Message, Peer, Reply, Transmit, canonical};
use crate::counters::{Closed, Counters};
use net::{Accepted, Acceptor, Listener, Prefix, Waker};

/// Length of the prefix of a frame in bytes.
const PREFIX: usize = 4;

/// Bytes per read.
const READ_BYTES: usize = 64 << 10;

/// Maximum sleep of the thread, and so its delay in noticing that it must end.
const TICK: Duration = Duration::from_millis(100);

/// Connections accepted before the others are looked at again.
const ACCEPTED_AT_ONCE: usize = 64;

/// How long a connection keeps its place for certain after it was opened or last completed something.
const GRACE: Duration = Duration::from_secs(1);

/// Limits of connections.
#[derive(Clone, Debug)]
pub struct StreamLimits {
    /// Prefixes whose connections have separate places.
    pub trusted: Vec<Prefix>,
    /// Maximum number of connections of trusted prefixes, and of all others.
    pub connections: usize,
    /// Maximum number of connections of an untrusted prefix.
    pub prefix_connections: usize,
    /// Maximum number of a connection's requests without reply.
    pub requests: usize,
    /// Bytes of these requests beyond which no further frame is read.
    pub request_bytes: usize,
    /// Bytes of all connections' frames waiting for the data path beyond which no connection is read from.
    pub waiting_bytes: usize,
    /// A connection on which no byte moves for this time is closed.
    pub idle: Duration,
    /// Time limit for a frame from its first byte to its last, and for a client to take as many reply bytes as the
    /// largest reply has.
    pub frame: Duration,
}

impl Default for StreamLimits {
    /// 256 connections with 256 KiB of requests, and as much of replies, are at most 128 MiB, and trusted prefixes can
    /// use as much again. It takes eight prefixes to occupy all places. The frames waiting for the data path are what a
    /// socket's receive buffer holds. The largest frame takes ten seconds at 52 kbit/s.
    fn default() -> Self {
        Self {
            trusted: Vec::new(),
            connections: 256,
            prefix_connections: 32,
            requests: 256,
            request_bytes: 256 << 10,
            waiting_bytes: 4 << 20,
            idle: Duration::from_secs(60),
            frame: Duration::from_secs(10),
        }
    }
}

/// A connection that asked for a feed. Nothing else is under way on it.
#[derive(Debug)]
pub struct Subscription {
    /// Its socket, which does not block.
    pub stream: TcpStream,
    /// How it carries frames.
    pub carrier: FeedCarrier,
    /// The request.
    pub request: FeedFrame,
}

/// How a connection carries the frames of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedCarrier {
    /// Each after its length.
    Stream,
    /// Each as a message of a WebSocket.
    WebSocket,
}

/// Passes connections that ask for a feed to the thread that serves feeds.
#[derive(Clone, Debug)]
pub struct Subscriber {
    subscriptions: SyncSender<Subscription>,
    /// Wakes the receiver.
    waker: Waker,
}

impl Subscriber {
    /// Passes connections to the receiver of `subscriptions`, and wakes it.
    pub fn new(subscriptions: SyncSender<Subscription>, waker: Waker) -> Self {
        Self { subscriptions, waker }
    }

    /// Serves a feed on a connection. If too many wait already, closes it: its client tries again.
    pub fn subscribe(&self, subscription: Subscription) {
        let _ = self.subscriptions.try_send(subscription);
        self.waker.wake();
    }
}

/// State that the connections' thread shares with the data path and with senders of replies.
#[derive(Debug)]
struct Hub {
    /// Frames for the data path.
    inbox: Mutex<Inbox>,
    /// Replies by connection, with their length prefixes.
    outboxes: Mutex<HashMap<u32, Outbox>>,
    /// Wakes the connections' thread.
    replied: Waker,
}

#[derive(Debug, Default)]
struct Inbox {
    frames: VecDeque<(Peer, Vec<u8>)>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Outbox {
    bytes: Vec<u8>,
    replies: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// Queues a reply for the connections' thread. Returns whether the connection still exists.
    fn reply(&self, connection: u32, bytes: &[u8]) -> bool {
        match lock(&self.outboxes).get_mut(&connection) {
            Some(outbox) => {
                outbox.bytes.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                outbox.bytes.extend_from_slice(bytes);
                outbox.replies += 1;
                true
            }
            None => false,
        }
    }
}

/// A backend of datagrams with streams next to it.
pub struct WithStreams<B> {
    datagrams: B,
    hub: Arc<Hub>,
    /// Which of the two is next when both have something.
    streams_first: bool,
}

/// Sends replies as datagrams or on connections.
pub struct StreamTransmitter<T> {
    datagrams: T,
    hub: Arc<Hub>,
}

/// The connections; [`Streams::run`] needs its own thread.
pub struct Streams {
    listener: Listener,
    hub: Arc<Hub>,
    path: Waker,
    limits: StreamLimits,
    counters: Arc<Counters>,
    connections: Vec<Connection>,
    /// Number of connections per prefix.
    shares: HashMap<Prefix, usize>,
    next: u32,
    /// No connections are accepted before this time, because the system was out of resources.
    resumes: Instant,
    acceptor: Acceptor,
    /// New limits after a reload.
    reloads: (Sender<StreamLimits>, Receiver<StreamLimits>),
    feeds: Option<Subscriber>,
}

struct Connection {
    number: u32,
    stream: TcpStream,
    peer: Peer,
    prefix: Prefix,
    trusted: bool,
    received: Vec<u8>,
    /// Since when the frame at the end of `received` has been incomplete.
    incomplete: Option<Instant>,
    sending: Vec<u8>,
    sent: usize,
    /// Since when the client has not taken the data after `sent`, and its amount then.
    unread: Option<(Instant, usize)>,
    /// Requests without a written reply, and their bytes until there are none.
    requests: usize,
    request_bytes: usize,
    /// Replies in `sending`.
    replies: usize,
    /// Time of the last byte in either direction.
    moved: Instant,
    /// Time of the last complete frame, or of the last replies taken.
    whole: Instant,
    /// The request for a feed, if that ended the connection.
    feed: Option<FeedFrame>,
    over: Option<Closed>,
}

impl<B: Backend> WithStreams<B> {
    /// Adds the connections of a listener to a backend.
    pub fn new(
        datagrams: B,
        listener: TcpListener,
        limits: StreamLimits,
        counters: Arc<Counters>,
    ) -> io::Result<(Self, Streams)> {
        let (inbox, outboxes) = (Mutex::default(), Mutex::default());
        let hub = Arc::new(Hub { inbox, outboxes, replied: Waker::new()? });
        let streams = Streams {
            listener: Listener::from_tcp(listener)?,
            hub: hub.clone(),
            path: datagrams.waker(),
            limits,
            counters,
            connections: Vec::new(),
            shares: HashMap::new(),
            next: 0,
            resumes: Instant::now(),
            acceptor: Acceptor::new()?,
            reloads: mpsc::channel(),
            feeds: None,
        };
        Ok((Self { datagrams, hub, streams_first: true }, streams))
    }

    /// Fills the batch with frames of connections. Returns whether there were any.
    fn take(&self, batch: &mut Batch) -> bool {
        let mut inbox = lock(&self.hub.inbox);
        let limit = batch.limit();
        batch.messages.clear();
        while batch.messages.len() < limit {
            let Some((peer, bytes)) = inbox.frames.pop_front() else { break };
            inbox.bytes -= bytes.len();
            let (offset, length) = (batch.messages.len() * MESSAGE_BYTES, bytes.len());
            batch.memory[offset..offset + length].copy_from_slice(&bytes);
            batch.messages.push(Message { peer, offset, length, segment: length });
        }
        !batch.messages.is_empty()
    }
}

impl<B: Backend> Backend for WithStreams<B> {
    type Transmitter = StreamTransmitter<B::Transmitter>;

    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        if lock(&self.hub.inbox).frames.is_empty() {
            // A frame that arrives from now on wakes the wait for datagrams.
            return self.datagrams.receive(batch, timeout);
        }
        self.streams_first = !self.streams_first;
        if !self.streams_first {
            self.datagrams.receive(batch, Duration::ZERO)?;
            if !batch.messages.is_empty() {
                return Ok(());
            }
        }
        self.take(batch);
        Ok(())
    }

    fn reply(&mut self, memory: &mut Memory, replies: &mut Vec<(Peer, Range<usize>)>) {
        let mut streamed = false;
        replies.retain(|(peer, place)| match peer.connection {
            Some(connection) => {
                streamed |= self.hub.reply(connection, &memory[place.clone()]);
                false
            }
            None => true,
        });
        self.datagrams.reply(memory, replies);
        if streamed {
            self.hub.replied.wake();
        }
    }

    fn transmitter(&self) -> io::Result<Self::Transmitter> {
        Ok(StreamTransmitter { datagrams: self.datagrams.transmitter()?, hub: self.hub.clone() })
    }

    fn waker(&self) -> Waker {
        self.datagrams.waker()
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        self.datagrams.local_address()
    }
}

impl<B: Backend> Transmit for WithStreams<B> {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        transmit(&self.hub, &mut self.datagrams, replies)
    }
}

impl<T: Transmit> Transmit for StreamTransmitter<T> {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        transmit(&self.hub, &mut self.datagrams, replies)
    }
}

/// Passes replies for connections to them, and the others to the backend of datagrams.
fn transmit(hub: &Hub, datagrams: &mut impl Transmit, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
    let mut streamed = 0;
    let mut others = replies.filter(|reply| match reply.peer.connection {
        Some(connection) => {
            streamed += usize::from(hub.reply(connection, reply.bytes));
            false
        }
        None => true,
    });
    let sent = datagrams.transmit(&mut others);
    drop(others);
    if streamed > 0 {
        hub.replied.wake();
    }
    sent + streamed
}

impl Streams {
    /// A sender for limits that replace the present ones. Open connections stay open.
    pub fn reloads(&self) -> Sender<StreamLimits> {
        self.reloads.0.clone()
    }

    /// Passes on connections that ask for a feed. Without this, feed frames go to the data path.
    pub fn with_feeds(self, feeds: Subscriber) -> Self {
        Self { feeds: Some(feeds), ..self }
    }

    /// Serves the connections until `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        while !stop.load(Ordering::Acquire) {
            let (accept, ready) = self.wait()?;
            self.hub.replied.clear();
            if let Some(limits) = self.reloads.1.try_iter().last() {
                self.limits = limits;
            }
            let now = Instant::now();
            let is_full = self.is_full();
            for (connection, ready) in self.connections.iter_mut().zip(ready) {
                connection.take_replies(&self.hub);
                connection.write(now);
                if ready {
                    connection.read(&mut buffer, now);
                }
                let serves_feed = self.feeds.is_some() && connection.trusted;
                connection.hand_over(&self.hub, &self.limits, &self.path, serves_feed, now);
                connection.check_times(&self.limits, is_full, now);
            }
            for at in (0..self.connections.len()).rev() {
                if let Some(why) = self.connections[at].over {
                    self.close(at, why);
                }
            }
            if accept {
                self.accept(now);
            }
        }
        Ok(())
    }

    /// Whether reading is paused for all connections, because the data path is busy.
    fn is_full(&self) -> bool {
        lock(&self.hub.inbox).bytes > self.limits.waiting_bytes
    }

    /// Waits for an event. Returns whether a client connects, and which connections are readable.
    fn wait(&self) -> io::Result<(bool, Vec<bool>)> {
        let is_full = self.is_full();
        let accepts = if Instant::now() < self.resumes { PollFlags::empty() } else { PollFlags::IN };
        let mut polled = vec![PollFd::new(&self.hub.replied, PollFlags::IN), PollFd::new(&self.listener, accepts)];
        polled.extend(self.connections.iter().map(|connection| {
            let mut events = PollFlags::empty();
            events.set(PollFlags::IN, !is_full && connection.may_read(&self.limits));
            events.set(PollFlags::OUT, connection.sent < connection.sending.len());
            PollFd::new(&connection.stream, events)
        }));
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.as_nanos() as i64 };
        match poll(&mut polled, Some(&tick)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let readable = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        let ready = polled[2..].iter().map(|polled| polled.revents().intersects(readable)).collect();
        Ok((!polled[1].revents().is_empty(), ready))
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTED_AT_ONCE {
            match self.acceptor.accept(&self.listener, |_| {}) {
                Accepted::Connection(stream, Some(address)) => {
                    self.open(stream.into(), Peer::new(canonical(address)), now);
                }
                Accepted::Connection(_, None) => {}
                Accepted::Refused => {
                    self.counters.connections.add(1);
                    self.counters.closed(Closed::Refused).add(1);
                }
                Accepted::Empty => return,
                Accepted::Pause => return self.resumes = now + TICK,
            }
        }
    }

    fn open(&mut self, stream: TcpStream, peer: Peer, now: Instant) {
        self.counters.connections.add(1);
        let (number, ip) = (self.next, peer.address.ip());
        self.next = self.next.wrapping_add(1);
        let (prefix, trusted) = (Prefix::shared_by(ip), self.limits.trusted.iter().any(|prefix| prefix.contains(ip)));
        let is_ready = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok();
        let is_taken = self.connections.iter().any(|connection| connection.number == number);
        if !is_ready || is_taken || !self.make_room(prefix, trusted, now) {
            return self.counters.closed(Closed::Refused).add(1);
        }
        *self.shares.entry(prefix).or_default() += 1;
        lock(&self.hub.outboxes).insert(number, Outbox::default());
        self.connections.push(Connection {
            number,
            stream,
            peer: Peer { connection: Some(number), ..peer },
            prefix,
            trusted,
            received: Vec::new(),
            incomplete: None,
            sending: Vec::new(),
            sent: 0,
            unread: None,
            requests: 0,
            request_bytes: 0,
            replies: 0,
            moved: now,
            whole: now,
            feed: None,
            over: None,
        });
    }

    /// Whether another connection of a prefix fits. If its share or all places are taken, it replaces the idlest one,
    /// where idle time is multiplied by the prefix's number of connections. If all are busy, a prefix with more gives
    /// way to one with fewer.
    fn make_room(&mut self, prefix: Prefix, trusted: bool, now: Instant) -> bool {
        let share = |prefix: &Prefix| self.shares.get(prefix).copied().unwrap_or(0);
        let is_shared_out = !trusted && share(&prefix) >= self.limits.prefix_connections;
        let same = |connection: &Connection| connection.trusted == trusted;
        let taken = self.connections.iter().filter(|connection| same(connection)).count();
        if !is_shared_out && taken < self.limits.connections {
            return true;
        }
        let idle = |connection: &Connection| now.saturating_duration_since(connection.whole);
        let idlest = (self.connections.iter().enumerate())
            .filter(|(_, connection)| same(connection) && (!is_shared_out || connection.prefix == prefix))
            .filter(|(_, connection)| idle(connection) >= GRACE)
            .max_by_key(|(_, connection)| idle(connection).as_micros() * share(&connection.prefix) as u128);
        // Afterwards the prefix must have at least as many connections as the newcomer's.
        let largest = || {
            (self.connections.iter().enumerate())
                .filter(|(_, connection)| same(connection) && share(&connection.prefix) > share(&prefix) + 1)
                .filter(|_| !trusted && !is_shared_out)
                .max_by_key(|(_, connection)| (share(&connection.prefix), idle(connection)))
        };
        let Some((at, _)) = idlest.or_else(largest) else { return false };
        self.close(at, Closed::Room);
        true
    }

    fn close(&mut self, at: usize, why: Closed) {
        let connection = self.connections.swap_remove(at);
        assert_eq!(connection.feed.is_some(), why == Closed::Feed, "a feed is passed on, and nothing else");
        self.counters.closed(why).add(1);
        lock(&self.hub.outboxes).remove(&connection.number);
        if let Some(count) = self.shares.get_mut(&connection.prefix) {
            *count -= 1;
            if *count == 0 {
                self.shares.remove(&connection.prefix);
            }
        }
        if let (Some(request), Some(feeds)) = (connection.feed, &self.feeds) {
            feeds.subscribe(Subscription { stream: connection.stream, carrier: FeedCarrier::Stream, request });
        }
    }
}

impl Connection {
    fn may_read(&self, limits: &StreamLimits) -> bool {
        self.requests < limits.requests && self.request_bytes < limits.request_bytes
    }

    fn take_replies(&mut self, hub: &Hub) {
        if self.sent < self.sending.len() {
            return;
        }
        self.sending.clear();
        self.sent = 0;
        if let Some(outbox) = lock(&hub.outboxes).get_mut(&self.number) {
            std::mem::swap(&mut self.sending, &mut outbox.bytes);
            self.replies = std::mem::take(&mut outbox.replies);
        }
    }

    fn write(&mut self, now: Instant) {
        while self.sent < self.sending.len() {
            match self.stream.write(&self.sending[self.sent..]) {
                Ok(0) => return self.over = Some(Closed::Client),
                Ok(written) => {
                    self.sent += written;
                    self.moved = now;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match self.unread {
                        Some((_, from)) if self.sent < from + MAX_DATAGRAM => {}
                        _ => self.unread = Some((now, self.sent)),
                    }
                    return;
                }
                Err(_) => return self.over = Some(Closed::Client),
            }
        }
        // Everything is sent, so these replies count as taken.
        self.unread = None;
        let taken = std::mem::take(&mut self.replies);
        if taken > 0 {
            self.whole = now;
        }
        self.requests = self.requests.saturating_sub(taken);
        if self.requests == 0 {
            self.request_bytes = 0;
        }
    }

    /// Reads once: a connection that sends a lot alternates with the others.
    fn read(&mut self, buffer: &mut [u8], now: Instant) {
        match self.stream.read(buffer) {
            Ok(0) => self.over = Some(Closed::Client),
            Ok(length) => {
                self.received.extend_from_slice(&buffer[..length]);
                self.moved = now;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.over = Some(Closed::Client),
        }
    }

    /// Passes complete frames to the data path, up to the connection's limit of requests without reply.
    fn hand_over(&mut self, hub: &Hub, limits: &StreamLimits, path: &Waker, serves_feed: bool, now: Instant) {
        let mut start = 0;
        while self.may_read(limits) && self.over.is_none() {
            let Some((prefix, rest)) = self.received[start..].split_first_chunk::<PREFIX>() else { break };
            let length = u32::from_be_bytes(*prefix) as usize;
            if length == 0 || length > MAX_DATAGRAM {
                self.over = Some(Closed::Malformed);
                break;
            }
            let Some(frame) = rest.get(..length) else { break };
            match Frame::parse(frame) {
                // A frame that would get no reply as a datagram ends the connection: nothing else could inform its
                // client.
                Err(error) if !error.is_answered() => {
                    self.over = Some(Closed::Malformed);
                    break;
                }
                Ok(Frame::Feed(request)) if serves_feed => {
                    if rest.len() > length {
                        self.over = Some(Closed::Malformed);
                    } else if self.requests == 0 {
                        (self.feed, self.over) = (Some(*request), Some(Closed::Feed));
                    }
                    break;
                }
                _ => {}
            }
            let mut inbox = lock(&hub.inbox);
            inbox.bytes += length;
            inbox.frames.push_back((self.peer, frame.to_vec()));
            drop(inbox);
            self.requests += 1;
            self.request_bytes += length;
            start += PREFIX + length;
        }
        if start > 0 {
            self.received.drain(..start);
            (self.whole, self.incomplete) = (now, None);
            path.wake();
        }
    }

    /// Ends the connection if it takes too long. While it is not being read from, no frame can become complete.
    fn check_times(&mut self, limits: &StreamLimits, is_full: bool, now: Instant) {
        if self.received.is_empty() {
            self.incomplete = None;
        } else if is_full || !self.may_read(limits) {
            self.incomplete = Some(now);
        }
        let is_late = |since: Instant| now.saturating_duration_since(since) > limits.frame;
        let why = if !self.received.is_empty() && is_late(*self.incomplete.get_or_insert(now)) {
            Closed::SlowFrame
        } else if self.unread.is_some_and(|(since, _)| is_late(since)) {
            Closed::SlowReader
        } else if now.saturating_duration_since(self.moved) > limits.idle {
            Closed::Idle
        } else {
            return;
        };
        self.over.get_or_insert(why);
    }
}
