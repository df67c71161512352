//! What carries datagrams: the trait behind which `udp` and `af_xdp` stand.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::{Index, IndexMut, Range};
use std::time::Duration;

use xdp::{FRAME_BYTES, Frame};

pub use crate::ethernet::Via;
pub use crate::waker::Waker;

/// The largest message a backend delivers: what fits the length field of an IPv4 packet.
pub const MESSAGE_BYTES: usize = 65_536;

/// Where a datagram came from, and where its reply goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The sender. IPv4 senders on a dual-stack socket stand here as IPv4.
    pub address: SocketAddr,
    /// The address that the datagram was sent to, if the backend serves several: the reply leaves from it.
    pub local: Option<IpAddr>,
    /// The number of the connection that it came on, if it came on one.
    pub connection: Option<u32>,
    /// The way that its frame came, if it came past the host's network stack. Both addresses are known then, and of one family.
    pub via: Option<Via>,
}

impl Peer {
    /// A peer that is reached from whichever address the routing table chooses.
    pub const fn new(address: SocketAddr) -> Self {
        Self { address, local: None, connection: None, via: None }
    }
}

/// A message in a [`Batch`]: one datagram, or several of equal size from one peer that were received as one (GRO).
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Who sent it.
    pub peer: Peer,
    /// Where it begins in the memory of the batch.
    pub offset: usize,
    /// Its length.
    pub length: usize,
    /// The length of each datagram in it; the last may be shorter.
    pub segment: usize,
}

impl Message {
    /// The places of its datagrams in the memory of the batch.
    pub fn datagrams(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (offset, end, segment) = (self.offset, self.offset + self.length, self.segment.max(1));
        // An empty datagram has no place; nothing would answer it anyway.
        (offset..end).step_by(segment).map(move |start| start..(start + segment).min(end))
    }
}

/// The bytes of a batch: memory of its own, and network frames that a backend lends it. Places in it are told as ranges.
#[derive(Debug)]
pub struct Memory {
    own: Box<[u8]>,
    /// The queue of each, and it, until it is taken back.
    frames: Vec<Option<(usize, Frame)>>,
}

impl Memory {
    /// The memory of its own.
    pub fn own(&mut self) -> &mut [u8] {
        &mut self.own
    }

    /// Adds a frame of a queue. Gives the place where it begins.
    pub(crate) fn lend(&mut self, queue: usize, frame: Frame) -> usize {
        let place = self.own.len() + self.frames.len() * FRAME_BYTES;
        self.frames.push(Some((queue, frame)));
        place
    }

    /// Takes the frame back that a place is in, if it is in one.
    pub(crate) fn take_back(&mut self, place: &Range<usize>) -> Option<Frame> {
        let at = place.start.checked_sub(self.own.len())? / FRAME_BYTES;
        self.frames.get_mut(at)?.take().map(|(_, frame)| frame)
    }

    /// Takes back all frames that are left, with their queues.
    pub(crate) fn lent(&mut self) -> impl Iterator<Item = (usize, Frame)> {
        self.frames.drain(..).flatten()
    }

    /// The frame that an offset behind the own memory is in, and the place in it.
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

/// Datagrams received at once, in memory that is given at start.
#[derive(Debug)]
pub struct Batch {
    /// The messages' bytes. Requests are replied to in place.
    pub memory: Memory,
    /// The messages that were received.
    pub messages: Vec<Message>,
    limit: usize,
}

impl Batch {
    /// Room for `limit` messages of at most [`MESSAGE_BYTES`].
    pub fn new(limit: usize) -> Self {
        // Zeroed memory comes untouched from the kernel: pages that no datagram reaches never become resident.
        let own = vec![0; limit * MESSAGE_BYTES].into_boxed_slice();
        let memory = Memory { own, frames: Vec::with_capacity(limit) };
        Self { memory, messages: Vec::with_capacity(limit), limit }
    }

    /// How many messages are taken at once.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes at most `limit` messages at once from now on, if it has room for as many.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.clamp(1, self.memory.own.len() / MESSAGE_BYTES);
    }
}

/// A datagram to send.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// To whom.
    pub peer: Peer,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Sends datagrams. Each thread that sends has a transmitter of its own.
pub trait Transmit: Send {
    /// Sends `replies` and returns how many were sent. Like the network, it may lose some: one that cannot be sent is
    /// counted, not tried again, as the client asks again.
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize;
}

/// A source and sink of datagrams.
pub trait Backend: Transmit {
    /// What other threads send with.
    type Transmitter: Transmit + 'static;

    /// Fills `batch` with what has arrived. If nothing has, waits until something does, the [`Waker`] is used or
    /// `timeout` is over; the batch may be empty then.
    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()>;

    /// Sends replies that stand where their requests stood, in the memory of the batch that was received last, and forgets them.
    fn reply(&mut self, memory: &mut Memory, replies: &mut Vec<(Peer, Range<usize>)>) {
        let memory = &*memory;
        self.transmit(&mut replies.drain(..).map(|(peer, place)| Reply { peer, bytes: &memory[place] }));
    }

    /// A transmitter for another thread, which sends from the same address.
    fn transmitter(&self) -> io::Result<Self::Transmitter>;

    /// Ends a wait in [`receive`](Self::receive) from another thread.
    fn waker(&self) -> Waker;

    /// The address that it listens on.
    fn local_address(&self) -> io::Result<SocketAddr>;
}

/// The address with IPv4 written as IPv4, as dual-stack sockets deliver it mapped into IPv6.
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::from((v4, v6.port())),
            None => address,
        },
        SocketAddr::V4(_) => address,
    }
}

/// Whether `address` is the wildcard, so that replies have to name the address that they leave from.
pub fn is_wildcard(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4 == Ipv4Addr::UNSPECIFIED,
        IpAddr::V6(v6) => v6.is_unspecified() || v6.to_ipv4_mapped().is_some_and(|v4| v4.is_unspecified()),
    }
}
