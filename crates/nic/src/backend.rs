//! What carries datagrams: the trait behind which `udp`, and later AF_XDP, XDP and the simulated RTL, stand.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::time::Duration;

pub use crate::sys::Waker;

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
}

impl Peer {
    /// A peer that is reached from whichever address the routing table chooses.
    pub const fn new(address: SocketAddr) -> Self {
        Self { address, local: None, connection: None }
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

/// Datagrams received at once, in memory that is given at start.
#[derive(Debug)]
pub struct Batch {
    /// The messages' bytes. Requests are replied to in place.
    pub memory: Box<[u8]>,
    /// The messages that were received.
    pub messages: Vec<Message>,
    limit: usize,
}

impl Batch {
    /// Room for `limit` messages of at most [`MESSAGE_BYTES`].
    pub fn new(limit: usize) -> Self {
        // Zeroed memory comes untouched from the kernel: pages that no datagram reaches never become resident.
        let memory = vec![0; limit * MESSAGE_BYTES].into_boxed_slice();
        Self { memory, messages: Vec::with_capacity(limit), limit }
    }

    /// How many messages are taken at once.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes at most `limit` messages at once from now on, if it has room for as many.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.clamp(1, self.memory.len() / MESSAGE_BYTES);
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
