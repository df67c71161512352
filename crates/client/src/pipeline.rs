//! Many datagrams in flight over one socket, or frames over one connection.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::socket::Socket;
use crate::stream::Stream;
use crate::{Completion, Draft, Error, Limits, Options, Outgoing, Window};

/// Datagrams passed to the socket at a time.
const SEND_DATAGRAMS: usize = 256;

/// How long a node may be unreachable, according to the kernel, before the client switches to the next one. Switching
/// is not worthwhile during the restart of a program; and if all nodes are gone, this is the wait between attempts.
const GONE: Duration = Duration::from_millis(50);

/// Many requests in flight over one socket, each repeated until it is answered or given up.
///
/// A repeated request has the same bytes, so its operations have the same transaction ids and are executed once.
/// Requests in flight at once may be executed in any order; the operations of one batch are executed in theirs.
#[derive(Debug)]
pub struct Pipeline {
    /// The present node, then the others in the order in which the client switches to them.
    nodes: VecDeque<SocketAddr>,
    tcp: bool,
    turn_after: Duration,
    fail_if_unreachable: bool,
    /// Number of consecutive nodes at which nothing listened.
    unreachable: usize,
    /// When the present node last sent something, or had nothing to answer.
    heard: Duration,
    turns: u64,
    transport: Transport,
    window: Window,
    outgoing: Vec<Outgoing>,
    origin: Instant,
}

impl Pipeline {
    /// A pipeline to a node. Nothing is sent yet.
    pub fn connect(node: SocketAddr, options: &Options) -> Result<Self, Error> {
        let mut limits = options.limits_for(node)?;
        let mut nodes: VecDeque<_> = std::iter::once(node).chain(options.others.iter().copied()).collect();
        let mut tries = 1..nodes.len();
        let transport = loop {
            match Transport::open(nodes[0], options.tcp, &mut limits) {
                Err(_) if tries.next().is_some() => nodes.rotate_left(1),
                result => break result?,
            }
        };
        let mut id = [0; 4];
        getrandom::fill(&mut id).map_err(Error::Random)?;
        Ok(Self {
            nodes,
            tcp: options.tcp,
            turn_after: options.turn_after,
            fail_if_unreachable: options.fail_if_unreachable,
            unreachable: 0,
            heard: Duration::ZERO,
            turns: 0,
            transport,
            window: Window::new(limits, u32::from_ne_bytes(id)),
            outgoing: Vec::with_capacity(SEND_DATAGRAMS),
            origin: Instant::now(),
        })
    }

    /// The node.
    pub fn node(&self) -> SocketAddr {
        self.nodes[0]
    }

    /// How often the client switched to another node.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// The requests in flight.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Sets how long the node recognises retries, as in its info: operations whose ids carry no time are not repeated
    /// shortly before the end. 0 means unknown.
    pub fn limit_retries(&mut self, recognised: Duration) {
        self.window.limit_retries(recognised);
    }

    /// The present time on the clock of requests.
    pub fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Returns a request to fill; `None` if no more may be in flight.
    pub fn begin(&mut self) -> Option<Draft<'_>> {
        self.window.begin()
    }

    /// Returns a request with the given id; `None` if no more may be in flight, or the id is too close to one in
    /// flight.
    pub fn begin_as(&mut self, id: u32) -> Option<Draft<'_>> {
        self.window.begin_as(id)
    }

    /// Drops everything in flight. It may be executed nevertheless.
    pub fn abandon(&mut self) {
        self.window.abandon();
    }

    /// Sends what is submitted, waits up to `wait` for replies, and reports the requests that ended.
    pub fn turn(&mut self, wait: Duration, mut report: impl FnMut(Completion<'_>)) -> Result<(), Error> {
        let node = self.node();
        if self.window.in_flight() == 0 {
            self.heard = self.origin.elapsed();
        }
        self.window.expire(self.origin.elapsed(), &mut report);
        self.flush()?;
        let mut wait = wait;
        if self.window.in_flight() > 0 {
            wait = wait.min(self.window.next_deadline().saturating_sub(self.origin.elapsed()));
        }
        if self.transport.is_gone() {
            wait = wait.min(GONE);
        }
        let (window, origin) = (&mut self.window, self.origin);
        let received = self
            .transport
            .receive(wait, |bytes| window.receive(bytes, origin.elapsed(), &mut report))
            .map_err(|source| Error::Socket { action: "receive", node, source })?;
        let now = self.origin.elapsed();
        let silence = if received > 0 { Duration::ZERO } else { now.saturating_sub(self.heard) };
        if received > 0 {
            (self.heard, self.unreachable) = (now, 0);
            return Ok(());
        }
        let is_gone = silence > GONE && self.transport.is_gone();
        if is_gone && self.fail_if_unreachable {
            self.unreachable += 1;
            if self.unreachable >= self.nodes.len() {
                self.unreachable = 0;
                return Err(Error::Unreachable { node, transaction: None });
            }
        }
        if self.nodes.len() > 1 && (is_gone || silence > self.turn_after) {
            self.turn_to_next(now);
        }
        Ok(())
    }

    /// Switches to the next node, and sends it everything in flight.
    fn turn_to_next(&mut self, now: Duration) {
        self.nodes.rotate_left(1);
        self.heard = now;
        // The requests in flight already have their room in the window.
        let mut limits = *self.window.limits();
        if let Ok(transport) = Transport::open(self.nodes[0], self.tcp, &mut limits) {
            self.transport = transport;
            self.turns += 1;
            self.window.send_again(now);
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        loop {
            self.outgoing.clear();
            while self.outgoing.len() < SEND_DATAGRAMS {
                let Some(outgoing) = self.window.next_outgoing() else { break };
                self.outgoing.push(outgoing);
            }
            let mut sent = 0;
            let mut refused = false;
            while sent < self.outgoing.len() {
                match self.transport.send(self.window.memory(), &self.outgoing[sent..]) {
                    Ok(count) => (sent, refused) = (sent + count, false),
                    // An error of an earlier datagram: there is no node now. Reported once, so the next attempt is
                    // sent.
                    Err(_) if !refused => refused = true,
                    Err(source) if is_lasting(&source) => {
                        return Err(Error::Socket { action: "send", node: self.node(), source });
                    }
                    // What cannot be sent now counts as lost, and is repeated like that.
                    Err(_) => break,
                }
            }
            if self.outgoing.len() < SEND_DATAGRAMS {
                return Ok(());
            }
        }
    }
}

/// The transport of frames.
#[derive(Debug)]
enum Transport {
    Datagrams(Box<Socket>),
    Stream(Stream),
}

impl Transport {
    /// Opens a transport to a node. Shrinks a window that exceeds the kernel's buffers.
    fn open(node: SocketAddr, tcp: bool, limits: &mut Limits) -> Result<Self, Error> {
        let fail = |action| move |source| Error::Socket { action, node, source };
        if tcp {
            return Ok(Self::Stream(Stream::connect(node).map_err(fail("open a connection"))?));
        }
        // The kernel's accounting of a datagram: its bytes in pages, and the header of its buffer.
        let footprint = limits.datagram + limits.datagram / 4 + 1024;
        let socket = Socket::connect(node, footprint * limits.window).map_err(fail("open a socket"))?;
        let capacity = socket.receive_capacity().map_err(fail("read the size of the receive buffer"))?;
        // Replies beyond the kernel's buffers would be lost.
        limits.window = limits.window.min(capacity / footprint).max(1);
        Ok(Self::Datagrams(Box::new(socket)))
    }

    /// Whether nothing listens at the node's address, as far as is known.
    fn is_gone(&self) -> bool {
        match self {
            Self::Datagrams(socket) => socket.is_refused(),
            Self::Stream(stream) => !stream.is_connected(),
        }
    }

    fn send(&mut self, memory: &[u8], frames: &[Outgoing]) -> io::Result<usize> {
        match self {
            Self::Datagrams(socket) => socket.send(memory, frames),
            Self::Stream(stream) => stream.send(memory, frames),
        }
    }

    fn receive(&mut self, wait: Duration, take: impl FnMut(&[u8])) -> io::Result<usize> {
        match self {
            Self::Datagrams(socket) => socket.receive(wait, take),
            Self::Stream(stream) => stream.receive(wait, take),
        }
    }
}

/// Whether repeating later cannot help.
fn is_lasting(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMSGSIZE | libc::EINVAL | libc::EBADF | libc::EACCES | libc::EPERM))
}
