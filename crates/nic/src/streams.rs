//! Streams beside datagrams: the same frames over TCP, each with its length before it (32 bits, big-endian).
//!
//! One thread reads frames from all connections and writes replies to them. To the data path frames of connections are datagrams
//! of a [`Peer`] with a connection, so every service is there over TCP too. A connection that has as many requests without reply
//! as it may is not read from until replies are taken: that is how slow clients are slowed down, and nobody else.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::{Frame, MAX_DATAGRAM};

use crate::backend::{Backend, Batch, MESSAGE_BYTES, Memory, Message, Peer, Reply, Transmit, Waker, canonical};

/// Bytes of the length before a frame.
const PREFIX: usize = 4;

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;

/// How long the thread sleeps at most, and so how long it takes to notice that it is to end.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// What connections may use.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// Connections at a time; more are closed at once.
    pub connections: usize,
    /// Requests of a connection that have no reply yet.
    pub requests: usize,
    /// Their bytes: no further frame is read from a connection with more.
    pub request_bytes: usize,
    /// Bytes of all connections' frames that the data path has not taken yet: no connection is read from while there are more.
    pub waiting_bytes: usize,
    /// A connection on which no byte moves for so long is closed.
    pub idle: Duration,
}

impl Default for StreamLimits {
    /// 256 connections with 256 KiB of requests, and as much of replies, are 128 MiB at worst. What waits for the data path is what
    /// a socket's receive buffer holds.
    fn default() -> Self {
        Self {
            connections: 256,
            requests: 256,
            request_bytes: 256 << 10,
            waiting_bytes: 4 << 20,
            idle: Duration::from_secs(60),
        }
    }
}

/// What the thread of the connections shares with the data path and with whoever replies.
#[derive(Debug)]
struct Hub {
    /// Frames for the data path.
    inbox: Mutex<Inbox>,
    /// Replies by connection, with their lengths before them.
    outboxes: Mutex<HashMap<u32, Outbox>>,
    /// Wakes the thread of the connections.
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
    /// Puts a reply where the thread of the connections finds it. Whether the connection is still there.
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

/// A backend of datagrams, and streams beside it.
pub struct WithStreams<B> {
    datagrams: B,
    hub: Arc<Hub>,
    /// Whose turn it is while both have something.
    streams_first: bool,
}

/// Sends replies, be it as datagrams or on connections.
pub struct StreamTransmitter<T> {
    datagrams: T,
    hub: Arc<Hub>,
}

/// The connections; [`Streams::run`] is for a thread of its own.
pub struct Streams {
    listener: TcpListener,
    hub: Arc<Hub>,
    path: Waker,
    limits: StreamLimits,
    connections: Vec<Connection>,
    next: u32,
}

struct Connection {
    number: u32,
    stream: TcpStream,
    peer: Peer,
    received: Vec<u8>,
    sending: Vec<u8>,
    sent: usize,
    /// Requests without a reply that was written, and their bytes until there are none.
    requests: usize,
    request_bytes: usize,
    /// Replies in `sending`.
    replies: usize,
    moved: Instant,
    is_over: bool,
}

impl<B: Backend> WithStreams<B> {
    /// Puts the connections of a listener beside a backend.
    pub fn new(datagrams: B, listener: TcpListener, limits: StreamLimits) -> io::Result<(Self, Streams)> {
        listener.set_nonblocking(true)?;
        let (inbox, outboxes) = (Mutex::default(), Mutex::default());
        let hub = Arc::new(Hub { inbox, outboxes, replied: Waker::new()? });
        let streams =
            Streams { listener, hub: hub.clone(), path: datagrams.waker(), limits, connections: Vec::new(), next: 0 };
        Ok((Self { datagrams, hub, streams_first: true }, streams))
    }

    /// Fills the batch with frames of connections. Whether there were any.
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
            // A frame that comes from now on wakes the wait for datagrams.
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

/// Gives the replies for connections to them, and the others to the backend of datagrams.
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
    /// Serves the connections until `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        while !stop.load(Ordering::Acquire) {
            let (accept, ready) = self.wait()?;
            self.hub.replied.clear();
            let now = Instant::now();
            let mut buffer = [0; READ_BYTES];
            for (connection, ready) in self.connections.iter_mut().zip(ready) {
                connection.take_replies(&self.hub);
                connection.write(now);
                if ready {
                    connection.read(&mut buffer, now);
                }
                connection.hand_over(&self.hub, &self.limits, &self.path);
                connection.is_over |= now.duration_since(connection.moved) > self.limits.idle;
            }
            let over = self.connections.extract_if(.., |connection| connection.is_over);
            over.for_each(|connection| drop(lock(&self.hub.outboxes).remove(&connection.number)));
            if accept {
                self.accept(now);
            }
        }
        Ok(())
    }

    /// Waits until something can be done: whether somebody connects, and which connections can be read from.
    fn wait(&self) -> io::Result<(bool, Vec<bool>)> {
        let is_full = lock(&self.hub.inbox).bytes > self.limits.waiting_bytes;
        let mut polled =
            vec![PollFd::new(&self.hub.replied, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
        polled.extend(self.connections.iter().map(|connection| {
            let mut events = PollFlags::empty();
            events.set(PollFlags::IN, !is_full && connection.may_read(&self.limits));
            events.set(PollFlags::OUT, connection.sent < connection.sending.len());
            PollFd::new(&connection.stream, events)
        }));
        match poll(&mut polled, Some(&TICK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let readable = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        let ready = polled[2..].iter().map(|polled| polled.revents().intersects(readable)).collect();
        Ok((!polled[1].revents().is_empty(), ready))
    }

    fn accept(&mut self, now: Instant) {
        // Errors are about a connection that is gone already, or the want of a descriptor, which passes.
        while let Ok((stream, address)) = self.listener.accept() {
            let is_ready = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok();
            if self.connections.len() >= self.limits.connections || !is_ready {
                continue;
            }
            let number = self.next;
            self.next = self.next.wrapping_add(1);
            if self.connections.iter().any(|connection| connection.number == number) {
                continue;
            }
            lock(&self.hub.outboxes).insert(number, Outbox::default());
            let peer = Peer { connection: Some(number), ..Peer::new(canonical(address)) };
            self.connections.push(Connection {
                number,
                stream,
                peer,
                received: Vec::new(),
                sending: Vec::new(),
                sent: 0,
                requests: 0,
                request_bytes: 0,
                replies: 0,
                moved: now,
                is_over: false,
            });
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
                Ok(0) => return self.is_over = true,
                Ok(written) => {
                    self.sent += written;
                    self.moved = now;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.is_over = true,
            }
        }
        // All that was to be sent is sent, so these replies count as taken.
        self.requests = self.requests.saturating_sub(std::mem::take(&mut self.replies));
        if self.requests == 0 {
            self.request_bytes = 0;
        }
    }

    /// Reads once: whoever sends much takes turns with the others.
    fn read(&mut self, buffer: &mut [u8], now: Instant) {
        match self.stream.read(buffer) {
            Ok(0) => self.is_over = true,
            Ok(length) => {
                self.received.extend_from_slice(&buffer[..length]);
                self.moved = now;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.is_over = true,
        }
    }

    /// Hands the frames that are whole to the data path, as many as the connection may have without reply.
    fn hand_over(&mut self, hub: &Hub, limits: &StreamLimits, path: &Waker) {
        let mut start = 0;
        while self.may_read(limits) && !self.is_over {
            let Some((prefix, rest)) = self.received[start..].split_first_chunk::<PREFIX>() else { break };
            let length = u32::from_be_bytes(*prefix) as usize;
            if length == 0 || length > MAX_DATAGRAM {
                self.is_over = true;
                break;
            }
            let Some(frame) = rest.get(..length) else { break };
            // What gets no answer as a datagram ends a connection: nothing could tell its client.
            if Frame::parse(frame).is_err_and(|error| !error.is_answered()) {
                self.is_over = true;
                break;
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
            path.wake();
        }
    }
}
