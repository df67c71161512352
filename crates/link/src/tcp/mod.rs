//! `tcp://`: frames over a plain socket, with credits.
//!
//! The phases are connecting, greeting and open.
//!
//! - While greeting: write this side's greeting and read the peer's, in any order. With both, allocate the buffers and
//!   open.
//! - On progress: collect dropped messages, enqueue a frame of credits if one is due, read up to 32 messages or 128
//!   KiB, apply their credits, and write the outbox, up to 32 frames in a system call.
//! - On a message to send: enqueue it with all pending credits. Write at once if it is the first since the last
//!   progress, if no selector flushes the channel, or from 32 frames or 32 KiB on.
//! - On a short read: the socket is dry until the next event. If the stream may have ended, only a read of nothing
//!   shows it.
//! - On a failed write: remember the error, and read on. The reads report the end once all arrived messages are
//!   received.
//! - On close: write the outbox, shut down the sending side, and discard what arrives until the peer's end. Closing
//!   earlier would reset the connection, and the peer could lose messages.

pub mod frame;
mod reader;

use std::{
    collections::VecDeque,
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, Shutdown, SocketFlags, SocketType, accept_with, bind, connect, getpeername,
        getsockname, ipproto, listen, recv, shutdown, socket_with, sockopt,
    },
};

#[cfg(any(test, fuzzing))]
pub use reader::messages;
use reader::{Reader, Source, Step};

use self::frame::{Greeting, Header, Kind};
use crate::{
    Address, Buffer, Config, Error, Message, Operations,
    credits::Credits,
    error::Tried,
    notify::Notify,
    pool::{FreeList, Lease, Pool, lease, private_pool},
    transport::{Listener, Transport},
};

/// Messages that one turn takes from a socket before other sockets get theirs.
const TURN: usize = 32;

/// Bytes after which a turn ends as well, so that messages are still in the core's cache when the user reads them.
const TURN_BYTES: usize = 128 << 10;

/// Maximum number of messages per system call.
const BATCH: usize = 32;

/// Maximum number of bytes that wait for more to join them: the peer may have nothing else to do.
const BATCH_BYTES: usize = 32 << 10;

/// A connection.
pub(crate) struct Tcp {
    socket: OwnedFd,
    config: Config,
    phase: Phase,
    /// The descriptor signalled that data may be there, and no read has shown otherwise since.
    is_readable: bool,
    is_writable: bool,
    /// The stream may have ended, which only a read can show: a short read is then not the last one.
    may_be_over: bool,
    /// Why writes fail. Reads do not report it again.
    broken: Option<Error>,
}

enum Phase {
    /// The kernel has not connected the socket yet.
    Connecting,
    /// Greetings are being exchanged: how much of ours is sent, and what of theirs has arrived.
    Greeting {
        sent: usize,
        theirs: [u8; Greeting::BYTES],
        have: usize,
    },
    Open(Box<Open>),
}

struct Open {
    send_pool: Arc<Pool<FreeList>>,
    receive_pool: Arc<Pool<FreeList>>,
    room: u32,
    credits: Credits,
    sequence: u32,
    outbox: VecDeque<Outgoing>,
    /// Bytes of the messages added to the outbox since the last write.
    waiting: usize,
    /// Something was sent since the last progress: later messages may wait to be batched.
    has_sent: bool,
    reader: Reader,
    inbox: VecDeque<Message>,
}

/// A frame that the socket has not accepted completely.
struct Outgoing {
    header: [u8; Header::BYTES],
    message: Option<(Lease, usize)>,
    sent: usize,
}

impl Outgoing {
    /// The parts of header and message that the socket has not accepted yet.
    fn unsent(&self) -> [&[u8]; 2] {
        let body = self.message.as_ref().map_or(&[][..], |(lease, length)| lease.bytes(*length));
        [&self.header[self.sent.min(Header::BYTES)..], &body[self.sent.saturating_sub(Header::BYTES)..]]
    }
}

impl Tcp {
    pub(crate) fn connect(address: SocketAddr, config: &Config) -> Result<Self, Error> {
        let socket = new_socket(address)?;
        let is_connected = match connect(&socket, &address) {
            Ok(()) => true,
            Err(Errno::INPROGRESS) => false,
            Err(errno) => return Err(errno).tried("connect; is the peer listening there?"),
        };
        Self::new(socket, config, is_connected)
    }

    fn new(socket: OwnedFd, config: &Config, is_connected: bool) -> Result<Self, Error> {
        // Batching is done here, so the kernel must not delay messages.
        sockopt::set_tcp_nodelay(&socket, true).tried("set an option of a socket")?;
        let phase = if is_connected { Phase::GREETING } else { Phase::Connecting };
        Ok(Self {
            socket,
            config: config.clone(),
            phase,
            is_readable: true,
            is_writable: is_connected,
            may_be_over: false,
            broken: None,
        })
    }

    /// Writes what the socket accepts. A failed write does not show how much of the peer's data is still unread, so the
    /// reads report the end.
    fn flush(&mut self) {
        let Phase::Open(open) = &mut self.phase else { return };
        if self.is_writable {
            self.is_writable = open.flush(&self.socket).unwrap_or_else(|error| {
                (self.is_readable, self.may_be_over) = (true, true);
                self.broken.get_or_insert(error);
                false
            });
        }
    }

    fn greet(&mut self) -> Result<(), Error> {
        let ours = Greeting::from_config(&self.config).encode();
        if let Phase::Connecting = self.phase {
            if !self.is_writable {
                return Ok(());
            }
            match sockopt::socket_error(&self.socket).tried("read the error of a socket")? {
                Ok(()) => self.phase = Phase::GREETING,
                Err(errno) => return Err(errno).tried("connect; is the peer listening there?"),
            }
        }
        let Phase::Greeting { sent, theirs, have } = &mut self.phase else { return Ok(()) };
        if *sent < ours.len() && self.is_writable {
            match rustix::io::write(&self.socket, &ours[*sent..]) {
                Ok(count) => *sent += count,
                Err(Errno::AGAIN | Errno::NOTCONN) => self.is_writable = false,
                Err(errno) => return Err(gone(errno)),
            }
        }
        if *have < theirs.len() && self.is_readable {
            match rustix::io::read(&self.socket, &mut theirs[*have..]) {
                Ok(0) => return Err(Error::Closed),
                Ok(count) => *have += count,
                Err(Errno::AGAIN | Errno::NOTCONN) => self.is_readable = false,
                Err(errno) => return Err(gone(errno)),
            }
        }
        if *sent == ours.len() && *have == theirs.len() {
            let theirs = Greeting::decode(theirs)?.fits(&self.config)?;
            self.phase = Phase::Open(Box::new(Open::new(&self.config, theirs)?));
        }
        Ok(())
    }
}

impl Phase {
    const GREETING: Self = Self::Greeting { sent: 0, theirs: [0; Greeting::BYTES], have: 0 };
}

impl Open {
    fn new(config: &Config, theirs: Greeting) -> Result<Self, Error> {
        // Credits for half of the buffers justify a frame of their own.
        let worth = config.buffers / 2;
        let mut credits = Credits::new(config.buffers, worth);
        credits.greet(theirs.buffers);
        let receive_pool = private_pool(config.buffers, config.buffer_bytes, worth)?;
        Ok(Self {
            send_pool: private_pool(config.buffers, config.buffer_bytes, 1)?,
            reader: Reader::new(Arc::clone(&receive_pool), config.buffer_bytes),
            receive_pool,
            room: config.buffer_bytes.min(theirs.buffer_bytes),
            credits,
            sequence: 0,
            outbox: VecDeque::with_capacity(usize::from(config.buffers) + 1),
            waiting: 0,
            has_sent: false,
            inbox: VecDeque::with_capacity(TURN),
        })
    }

    /// Collects what users returned: unsent buffers with their credits, and messages whose buffers are free again.
    fn collect(&mut self) -> Result<(), Error> {
        self.credits.unspend(self.send_pool.home().take_all_given_back());
        self.credits.returned(self.receive_pool.home().take_given_back());
        if self.credits.is_frame_due(self.receive_pool.home()) {
            self.enqueue(Kind::Credits, None);
        }
        // Credits arrive with frames and are applied only here; messages of those frames were already sent to this
        // side.
        self.credits.earn(std::mem::take(&mut self.reader.credits))
    }

    /// Appends a frame to the outbox, with all credits that can be granted.
    fn enqueue(&mut self, kind: Kind, message: Option<(Lease, usize)>) {
        let credits = self.credits.grant(self.receive_pool.home());
        let length = message.as_ref().map_or(0, |(_, length)| *length as u32);
        let header = Header { length, sequence: self.sequence, credits, kind }.encode();
        self.sequence = self.sequence.wrapping_add(1);
        self.outbox.push_back(Outgoing { header, message, sent: 0 });
    }

    /// Writes what the socket accepts, many frames per call. Returns whether it accepts more.
    fn flush(&mut self, socket: &OwnedFd) -> Result<bool, Error> {
        self.waiting = 0;
        while !self.outbox.is_empty() {
            let mut slices = [IoSlice::new(&[]); 2 * BATCH];
            let mut count = 0;
            for (frame, slices) in self.outbox.iter().zip(slices.chunks_mut(2)) {
                let [head, body] = frame.unsent();
                slices[0] = IoSlice::new(head);
                slices[1] = IoSlice::new(body);
                count += 2;
            }
            let mut written = match rustix::io::writev(socket, &slices[..count]) {
                Ok(written) => written,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(gone(errno)),
            };
            while let Some(frame) = self.outbox.front_mut() {
                let unsent: usize = frame.unsent().map(<[u8]>::len).iter().sum();
                frame.sent += unsent.min(written);
                if written < unsent {
                    break;
                }
                written -= unsent;
                if let Some((lease, _)) = self.outbox.pop_front().and_then(|frame| frame.message) {
                    self.send_pool.home().put(lease.into_index());
                }
            }
        }
        Ok(true)
    }

    /// Reads messages until the socket is dry or its turn is over. Returns whether there may be more.
    fn fill(&mut self, socket: &OwnedFd, may_be_over: bool) -> Result<bool, Error> {
        let mut bytes = 0;
        let mut socket = Socket { socket, is_dry: false, may_be_over };
        while self.inbox.len() < TURN && bytes < TURN_BYTES {
            match self.reader.step(&mut socket)? {
                Step::Message(message) => {
                    self.credits.received()?;
                    bytes += message.len();
                    self.inbox.push_back(message);
                }
                Step::Credits => {}
                Step::Dry => return Ok(false),
                // The peer is granted as many messages as buffers are free.
                Step::NoBuffer => return Err(Error::CreditExceeded),
            }
        }
        Ok(true)
    }
}

impl Transport for Tcp {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn signalled(&mut self, may_be_over: bool) {
        (self.is_readable, self.is_writable) = (true, true);
        self.may_be_over |= may_be_over;
    }

    fn progress(&mut self) -> Result<(), Error> {
        self.greet()?;
        let Phase::Open(open) = &mut self.phase else { return Ok(()) };
        open.collect()?;
        if self.is_readable {
            let filled = open.fill(&self.socket, self.may_be_over);
            self.is_readable = filled.map_err(|end| match (end, &self.broken) {
                (Error::Closed, Some(broken)) => broken.clone(),
                (end, _) => end,
            })?;
            if !self.is_readable {
                // If the stream could have ended, only a read of zero bytes has ended the turn.
                self.may_be_over = false;
            }
            open.collect()?;
        }
        open.has_sent = false;
        self.flush();
        Ok(())
    }

    fn is_connected(&self) -> bool {
        matches!(self.phase, Phase::Open(_))
    }

    fn ready(&self) -> Operations {
        let Phase::Open(open) = &self.phase else { return Operations::NONE };
        Operations::RECEIVE.when(!open.inbox.is_empty())
            | Operations::SEND.when(open.credits.may_send() && open.send_pool.home().len() > 0)
    }

    fn buffer(&mut self) -> Option<Buffer> {
        let Phase::Open(open) = &mut self.phase else { return None };
        if !open.credits.may_send() {
            return None;
        }
        let lease = lease(&open.send_pool)?;
        open.credits.spend();
        Some(Buffer::new(lease, open.room as usize))
    }

    fn send(&mut self, buffer: Buffer, may_wait: bool) -> Result<(), Error> {
        let Phase::Open(open) = &mut self.phase else { return Err(Error::NotConnected) };
        assert!(buffer.lease().is_of(&open.send_pool), "a buffer is sent by the channel that it came from");
        open.credits.returned(open.receive_pool.home().take_all_given_back());
        open.waiting += buffer.len();
        open.enqueue(Kind::Message, Some(buffer.into_parts()));
        let is_first = !std::mem::replace(&mut open.has_sent, true);
        if is_first || !may_wait || open.waiting >= BATCH_BYTES || open.outbox.len() >= BATCH {
            self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) {
        Self::flush(self);
    }

    fn receive(&mut self) -> Option<Message> {
        let Phase::Open(open) = &mut self.phase else { return None };
        let message = open.inbox.pop_front()?;
        if open.inbox.is_empty() {
            open.credits.took_last(open.receive_pool.home());
        }
        Some(message)
    }

    fn set_notify(&mut self, notify: Option<Arc<Notify>>) {
        if let Phase::Open(open) = &mut self.phase {
            open.send_pool.home().set_notify(notify.clone());
            open.receive_pool.home().set_notify(notify);
        }
    }

    /// Ends the stream after the queued data and waits for the peer's end. Closing the socket earlier would reset the
    /// connection if the peer still grants credits, and the peer would lose all data that it has not received.
    fn close(&mut self) -> bool {
        self.flush();
        let Phase::Open(open) = &self.phase else { return true };
        if self.broken.is_some() {
            return true;
        }
        if !open.outbox.is_empty() {
            return false;
        }
        // Repeating it has no effect. It fails if the peer is gone, which the read reports, too.
        let _ = shutdown(&self.socket, Shutdown::Write);
        is_ended(&self.socket)
    }

    fn peer(&self) -> Option<SocketAddr> {
        getpeername(&self.socket).ok().flatten().and_then(|address| SocketAddr::try_from(address).ok())
    }
}

/// The source that a reader reads from.
struct Socket<'a> {
    socket: &'a OwnedFd,
    /// The last read did not fill its space: another one would find nothing.
    is_dry: bool,
    /// See [`Tcp::may_be_over`].
    may_be_over: bool,
}

impl Source for Socket<'_> {
    fn read(&mut self, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Error> {
        if self.is_dry {
            return Ok(None);
        }
        let room = first.len() + second.len();
        loop {
            let read = rustix::io::readv(self.socket, &mut [IoSliceMut::new(first), IoSliceMut::new(second)]);
            return match read {
                Ok(count) => {
                    self.is_dry = !self.may_be_over && count > 0 && count < room;
                    Ok(Some(count))
                }
                Err(Errno::AGAIN) => Ok(None),
                Err(Errno::INTR) => continue,
                Err(errno) => Err(gone(errno)),
            };
        }
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// Discards received data. Returns whether the stream has ended.
fn is_ended(socket: &OwnedFd) -> bool {
    // At most one socket buffer, so that a peer that keeps sending cannot hold this side forever.
    const READS: usize = 64;
    let mut dropped = [MaybeUninit::uninit(); 64 << 10];
    for _ in 0..READS {
        match recv(socket, &mut dropped, RecvFlags::empty()) {
            Ok((([], _), _)) => return true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return errno != Errno::AGAIN,
        }
    }
    false
}

/// A peer resets a connection when it is killed or broken, and when data arrives after it closed.
fn gone(errno: Errno) -> Error {
    match errno {
        Errno::CONNRESET => Error::Lost,
        Errno::PIPE => Error::Closed,
        errno => Error::System { what: "use a connection", errno },
    }
}

fn new_socket(address: SocketAddr) -> Result<OwnedFd, Error> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
        .tried("make a socket; raise the limit of open files (ulimit -n)")
}

/// A listening socket.
pub(crate) struct TcpListener {
    socket: OwnedFd,
    config: Config,
}

impl TcpListener {
    pub(crate) fn bind(address: SocketAddr, config: &Config) -> Result<Self, Error> {
        let socket = new_socket(address)?;
        sockopt::set_socket_reuseaddr(&socket, true).tried("set an option of a socket")?;
        bind(&socket, &address).tried("listen there; choose another port, or stop what listens there")?;
        listen(&socket, BACKLOG).tried("listen there; choose another port, or stop what listens there")?;
        Ok(Self { socket, config: config.clone() })
    }
}

/// Connections that the kernel queues until they are accepted.
const BACKLOG: i32 = 1024;

impl Listener for TcpListener {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn accept(&mut self) -> Result<Option<Box<dyn Transport>>, Error> {
        loop {
            match accept_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => return Ok(Some(Box::new(Tcp::new(socket, &self.config, true)?))),
                Err(Errno::AGAIN) => return Ok(None),
                // The peer disconnected before it was accepted.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(errno) => {
                    return Err(errno).tried("accept a connection; raise the limit of open files (ulimit -n)");
                }
            }
        }
    }

    fn address(&self) -> Address {
        let address = getsockname(&self.socket).ok().and_then(|address| SocketAddr::try_from(address).ok());
        Address::Tcp(address.unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0))))
    }
}
