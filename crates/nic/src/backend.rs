//! Transport of datagrams: the trait that `udp` and `af_xdp` implement.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::{Index, IndexMut, Range};
use std::time::Duration;

use xdp::{FRAME_BYTES, Frame};

pub use crate::ethernet::Via;
use net::Waker;

/// Maximum length of a message in bytes: what fits the length field of an IPv4 packet.
pub const MESSAGE_BYTES: usize = 65_536;

/// The sender of a datagram, and the route of its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The sender's address. IPv4 senders on a dual-stack socket appear as IPv4.
    pub address: SocketAddr,
    /// The address that the datagram was sent to, if the backend serves several: the reply is sent from it.
    pub local: Option<IpAddr>,
    /// The number of its connection, if it came on one.
    pub connection: Option<u32>,
    /// The route of its frame, if it bypassed the host's network stack. Both addresses are then known, and of one
    /// family.
    pub via: Option<Via>,
}

impl Peer {
    /// A peer for whose replies the routing table chooses the local address.
    pub const fn new(address: SocketAddr) -> Self {
        Self { address, local: None, connection: None, via: None }
    }
}

/// A message in a [`Batch`]: one datagram, or several of equal size from one peer that were received as one (GRO).
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Who sent it.
    pub peer: Peer,
    /// Its offset in the memory of the batch.
    pub offset: usize,
    /// Its length.
    pub length: usize,
    /// Length of each datagram in it; the last may be shorter.
    pub segment: usize,
}

impl Message {
    /// The ranges of its datagrams in the memory of the batch.
    pub fn datagrams(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (offset, end, segment) = (self.offset, self.offset + self.length, self.segment.max(1));
        // An empty datagram has no range; it would get no reply anyway.
        (offset..end).step_by(segment).map(move |start| start..(start + segment).min(end))
    }
}

/// The bytes of a batch: its own memory, and network frames lent by a backend. Both are addressed by ranges.
#[derive(Debug)]
pub struct Memory {
    own: Box<[u8]>,
    /// The queue and the frame, until it is taken back.
    frames: Vec<Option<(usize, Frame)>>,
}

impl Memory {
    /// Returns the batch's own memory, without lent frames.
    pub fn own(&mut self) -> &mut [u8] {
        &mut self.own
    }

    /// Adds a frame of a queue. Returns its offset.
    pub(crate) fn lend(&mut self, queue: usize, frame: Frame) -> usize {
        let place = self.own.len() + self.frames.len() * FRAME_BYTES;
        self.frames.push(Some((queue, frame)));
        place
    }

    /// Takes back the frame that contains a range, if any.
    pub(crate) fn take_back(&mut self, place: &Range<usize>) -> Option<Frame> {
        let at = place.start.checked_sub(self.own.len())? / FRAME_BYTES;
        self.frames.get_mut(at)?.take().map(|(_, frame)| frame)
    }

    /// Takes back all remaining frames, with their queues.
    pub(crate) fn lent(&mut self) -> impl Iterator<Item = (usize, Frame)> {
        self.frames.drain(..).flatten()
    }

    /// The frame that contains an offset after the own memory, and the range in it.
    fn in_frame(offset: usize, length: usize) -> (usize, Range<usize>) {
        let start = offset % FRAME_BYTES;
        (offset / FRAME_BYTES, start..start + length)
    }
}

impl Index<Range<usize>> for Memory {
    type Output = [u8];

    fn index(&self, place: Range<usize>) -> &[u8] {
        let Some(offset) = place.start.checked_sub(self.own.len()) else { return &self.own[place] };
        let (at, place) = Self::in_frame(offset, place.len());
        let (_, frame) = self.frames[at].as_ref().expect("a frame that is still lent");
        &frame[place]
    }
}

impl IndexMut<Range<usize>> for Memory {
    fn index_mut(&mut self, place: Range<usize>) -> &mut [u8] {
        let Some(offset) = place.start.checked_sub(self.own.len()) else { return &mut self.own[place] };
        let (at, place) = Self::in_frame(offset, place.len());
        let (_, frame) = self.frames[at].as_mut().expect("a frame that is still lent");
        &mut frame[place]
    }
}

/// Datagrams received at once, in memory allocated at start.
#[derive(Debug)]
pub struct Batch {
    /// The bytes of the messages. Replies replace their requests.
    pub memory: Memory,
    /// The received messages.
    pub messages: Vec<Message>,
    limit: usize,
}

impl Batch {
    /// Room for `limit` messages of at most [`MESSAGE_BYTES`].
    pub fn new(limit: usize) -> Self {
        // The kernel maps zeroed memory lazily: pages that no datagram reaches never become resident.
        let own = vec![0; limit * MESSAGE_BYTES].into_boxed_slice();
        let memory = Memory { own, frames: Vec::with_capacity(limit) };
        Self { memory, messages: Vec::with_capacity(limit), limit }
    }

    /// Maximum number of messages received at once.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Sets the maximum number of messages received at once, limited by the memory.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.clamp(1, self.memory.own.len() / MESSAGE_BYTES);
    }
}

/// A datagram to send.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// The recipient.
    pub peer: Peer,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Sends datagrams. Each sending thread has its own transmitter.
pub trait Transmit: Send {
    /// Sends `replies` and returns the number sent. Like the network, it may lose some: a reply that cannot be sent is
    /// counted and not retried, because the client will repeat its request.
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize;
}

/// A source and sink of datagrams.
pub trait Backend: Transmit {
    /// The transmitter of other threads.
    type Transmitter: Transmit + 'static;

    /// Fills `batch` with received messages. If there are none, waits until one arrives, the [`Waker`] is used or
    /// `timeout` passes; the batch may then be empty.
    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()>;

    /// Sends and removes replies that replace their requests in the memory of the last received batch.
    fn reply(&mut self, memory: &mut Memory, replies: &mut Vec<(Peer, Range<usize>)>) {
        let memory = &*memory;
        self.transmit(&mut replies.drain(..).map(|(peer, place)| Reply { peer, bytes: &memory[place] }));
    }

    /// Creates a transmitter for another thread, which sends from the same address.
    fn transmitter(&self) -> io::Result<Self::Transmitter>;

    /// Ends a wait in [`receive`](Self::receive) from another thread.
    fn waker(&self) -> Waker;

    /// The address that it listens on.
    fn local_address(&self) -> io::Result<SocketAddr>;

    /// Stops executing operations, if it executes any by itself. Returns whether the data path has answered all of
    /// them; until then, [`receive`](Self::receive) returns the others.
    fn finish(&mut self) -> io::Result<bool> {
        Ok(true)
    }
}

/// Converts an IPv4 address mapped into IPv6, as dual-stack sockets deliver it, to IPv4.
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::from((v4, v6.port())),
            None => address,
        },
        SocketAddr::V4(_) => address,
    }
}

/// Whether `address` is the wildcard, so that replies must specify their source address.
pub fn is_wildcard(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4 == Ipv4Addr::UNSPECIFIED,
        IpAddr::V6(v6) => v6.is_unspecified() || v6.to_ipv4_mapped().is_some_and(|v4| v4.is_unspecified()),
    }
}
