//! Backend `udp`: the host's sockets, with as many datagrams as possible per system call.
//!
//! `recvmmsg` and `sendmmsg` carry many messages, and a message carries many datagrams of equal size: the kernel joins
//! those that arrive from one peer (GRO) and splits those sent to one peer (GSO).

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use net::Waker;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, ipproto, socket_with, sockopt};

use crate::backend::{Backend, Batch, Reply, Transmit, canonical, is_wildcard};
use crate::counters::Counters;
use crate::sys::{self, Outgoing, Receiver, Sender};
use crate::wait::Wait;

/// Configuration of the socket backend.
#[derive(Clone, Debug)]
pub struct UdpConfig {
    /// Address to listen on. The IPv6 wildcard accepts IPv4 as well.
    pub listen: SocketAddr,
    /// Size of the kernel's receive buffer in bytes, for when the node is busy; limited by `net.core.rmem_max`.
    pub receive_buffer: usize,
    /// Size of the kernel's send buffer in bytes, for when the network is busy; limited by `net.core.wmem_max`.
    pub send_buffer: usize,
    /// Maximum number of messages per system call.
    pub messages: usize,
    /// Whether the kernel joins and splits datagrams of equal size (GRO and GSO).
    pub offload: bool,
    /// How long the kernel polls the network device before it sleeps (`SO_BUSY_POLL`).
    pub busy_poll: Option<Duration>,
    /// How long the thread retries before it sleeps: it replies sooner and leaves less of the processor to others.
    pub spin: Duration,
}

impl UdpConfig {
    /// The defaults, listening on `listen`.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            receive_buffer: 4 << 20,
            send_buffer: 4 << 20,
            messages: 64,
            offload: true,
            busy_poll: None,
            spin: Duration::ZERO,
        }
    }
}

/// Maximum number of datagrams in a message that the kernel splits (`UDP_MAX_SEGMENTS` of all kernels with GSO).
const MAX_SEGMENTS: usize = 64;

/// Maximum length of such a message in bytes: an IP packet minus the headers of IPv6 and UDP.
const MAX_MESSAGE: usize = 65_535 - 48;

/// How long to wait for room in the send buffer before a reply is dropped. Loopback drains in microseconds, and the
/// client repeats its request.
const SEND_PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// The socket backend.
pub struct UdpBackend {
    socket: Arc<OwnedFd>,
    wait: Wait,
    receiver: Receiver,
    transmitter: UdpTransmitter,
}

impl UdpBackend {
    /// Binds the socket. `counters` count what it sends.
    pub fn bind(config: &UdpConfig, counters: Arc<Counters>) -> io::Result<Self> {
        let family = if config.listen.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
        if config.listen.is_ipv6() {
            sockopt::set_ipv6_v6only(&socket, !is_wildcard(config.listen.ip()))?;
        }
        sockopt::set_socket_recv_buffer_size(&socket, config.receive_buffer)?;
        sockopt::set_socket_send_buffer_size(&socket, config.send_buffer)?;
        if let Some(time) = config.busy_poll {
            let microseconds = i32::try_from(time.as_micros()).unwrap_or(i32::MAX);
            sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds)?;
        }
        if config.offload {
            // Without GRO the kernel delivers each datagram on its own, which is just as correct.
            let _ = sys::set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        if is_wildcard(config.listen.ip()) {
            match config.listen {
                SocketAddr::V4(_) => sys::set_option(socket.as_fd(), libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?,
                SocketAddr::V6(_) => sys::set_option(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?,
            }
        }
        bind(&socket, &config.listen)?;
        let socket = Arc::new(socket);
        let transmitter = UdpTransmitter::new(socket.clone(), config, counters);
        let receiver = Receiver::new(config.messages);
        let wait = Wait { sockets: vec![socket.clone()], waker: Waker::new()?, spin: config.spin };
        Ok(Self { socket, wait, receiver, transmitter })
    }

    /// The sockets that it waits for.
    pub(crate) fn wait(&self) -> &Wait {
        &self.wait
    }

    /// Receives without waiting. Returns whether anything arrived.
    pub(crate) fn try_receive(&mut self, batch: &mut Batch) -> io::Result<bool> {
        try_receive(&self.socket, &mut self.receiver, batch)
    }
}

fn try_receive(socket: &OwnedFd, receiver: &mut Receiver, batch: &mut Batch) -> io::Result<bool> {
    let limit = batch.limit();
    match receiver.receive(socket.as_fd(), batch.memory.own(), limit, &mut batch.messages) {
        Ok(()) => Ok(!batch.messages.is_empty()),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
        // An ICMP error for a reply concerns a peer that is gone, and lack of memory passes: neither concerns this
        // socket.
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::OutOfMemory) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

impl Backend for UdpBackend {
    type Transmitter = UdpTransmitter;

    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        batch.messages.clear();
        let Self { socket, wait, receiver, .. } = self;
        wait.until(timeout, || try_receive(socket, receiver, batch))
    }

    fn transmitter(&self) -> io::Result<UdpTransmitter> {
        Ok(self.transmitter.fork())
    }

    fn waker(&self) -> Waker {
        self.wait.waker.clone()
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        let address = SocketAddr::try_from(getsockname(&self.socket)?)?;
        Ok(canonical(address))
    }
}

impl Transmit for UdpBackend {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        self.transmitter.transmit(replies)
    }
}

/// Sends from the backend's socket.
pub struct UdpTransmitter {
    socket: Arc<OwnedFd>,
    sender: Sender,
    counters: Arc<Counters>,
    messages: usize,
    ipv6: bool,
    /// Maximum length of datagrams in a message that the kernel splits; 0 if it does not split. Datagrams beyond the
    /// path's MTU must be sent one by one, which a failure reveals.
    max_segment: usize,
    /// Empty between calls; kept to reuse their memory.
    lists: (Vec<Outgoing>, Vec<&'static [u8]>),
}

impl UdpTransmitter {
    fn new(socket: Arc<OwnedFd>, config: &UdpConfig, counters: Arc<Counters>) -> Self {
        let ipv6 = config.listen.is_ipv6();
        let max_segment = if config.offload { MAX_MESSAGE } else { 0 };
        Self {
            socket,
            sender: Sender::new(config.messages, ipv6),
            counters,
            messages: config.messages,
            ipv6,
            max_segment,
            lists: Default::default(),
        }
    }

    fn fork(&self) -> Self {
        Self {
            socket: self.socket.clone(),
            sender: Sender::new(self.messages, self.ipv6),
            counters: self.counters.clone(),
            messages: self.messages,
            ipv6: self.ipv6,
            max_segment: self.max_segment,
            lists: Default::default(),
        }
    }

    /// Sends the assembled messages. Returns the number of datagrams sent.
    fn flush(&mut self, messages: &mut Vec<Outgoing>, slices: &mut Vec<&[u8]>) -> usize {
        let mut sent = 0;
        let mut rest = &messages[..];
        let mut patient = true;
        while let [first, others @ ..] = rest {
            match self.sender.send(self.socket.as_fd(), rest, slices) {
                Ok(count) => {
                    sent += rest[..count].iter().map(|message| message.datagrams).sum::<usize>();
                    rest = &rest[count..];
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if patient {
                        let mut ready = [PollFd::new(&*self.socket, PollFlags::OUT)];
                        let _ = poll(&mut ready, Some(&SEND_PATIENCE));
                        // Once for all of these messages: requests are waiting as well.
                        patient = false;
                        continue;
                    }
                }
                Err(error) if first.datagrams > 1 && cannot_cut(&error) => {
                    // Too large for the path, or for the device: send them one by one, and do not use this size again.
                    self.max_segment = self.max_segment.min(first.segment - 1);
                    sent += self.send_singly(first, slices);
                }
                Err(_) => {}
            }
            rest = others;
        }
        let total = messages.iter().map(|message| message.datagrams).sum::<usize>();
        self.counters.replies.add(sent as u64);
        self.counters.lost.add((total - sent) as u64);
        messages.clear();
        slices.clear();
        sent
    }

    fn send_singly(&mut self, message: &Outgoing, slices: &[&[u8]]) -> usize {
        let slices = &slices[message.first_slice..message.first_slice + message.slices];
        let datagrams = slices.iter().flat_map(|slice| slice.chunks(message.segment));
        datagrams
            .filter(|datagram| {
                let single =
                    Outgoing { peer: message.peer, segment: datagram.len(), first_slice: 0, slices: 1, datagrams: 1 };
                self.sender.send(self.socket.as_fd(), &[single], &[datagram]).is_ok()
            })
            .count()
    }

    /// Whether `reply` can join the message: one more of its size, or a shorter last one.
    fn joins(&self, message: &Outgoing, length: usize, reply: &Reply<'_>) -> bool {
        message.peer == reply.peer
            && message.segment <= self.max_segment
            && length == message.segment * message.datagrams
            && reply.bytes.len() <= message.segment
            && length + reply.bytes.len() <= MAX_MESSAGE
            && message.datagrams < MAX_SEGMENTS
    }
}

/// Whether a message failed because of its segments rather than its peer.
fn cannot_cut(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EMSGSIZE | libc::EIO | libc::EOPNOTSUPP))
}

impl Transmit for UdpTransmitter {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        let (mut messages, slices) = std::mem::take(&mut self.lists);
        let mut slices = emptied(slices);
        let (mut sent, mut length) = (0, 0);
        for reply in replies {
            if reply.bytes.is_empty() {
                continue;
            }
            match messages.last_mut() {
                Some(message) if self.joins(message, length, &reply) => {
                    length += reply.bytes.len();
                    message.datagrams += 1;
                    message.slices += 1;
                    slices.push(reply.bytes);
                    continue;
                }
                _ => {}
            }
            if messages.len() == self.messages {
                sent += self.flush(&mut messages, &mut slices);
            }
            length = reply.bytes.len();
            let message =
                Outgoing { peer: reply.peer, segment: length, first_slice: slices.len(), slices: 1, datagrams: 1 };
            messages.push(message);
            slices.push(reply.bytes);
        }
        sent += self.flush(&mut messages, &mut slices);
        self.lists = (messages, emptied(slices));
        sent
    }
}

/// Reuses the list's memory for slices of another lifetime: the standard library collects in place when the types have
/// the same layout.
fn emptied<'a>(mut slices: Vec<&[u8]>) -> Vec<&'a [u8]> {
    slices.clear();
    slices.into_iter().map(|_| &[][..]).collect()
}
