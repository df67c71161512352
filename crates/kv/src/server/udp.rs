//! Requests in datagrams, many in a system call.

use std::{array, mem::size_of, net::SocketAddr, sync::Arc, time::Duration};

use net::{Prefix, Waker};
use nic::{
    Backend, Batch, Counters, Transmit, UdpBackend, UdpConfig,
    backend::{Peer, Reply},
};
use zerocopy::IntoBytes;

use super::{Error, memory::Memory};
use crate::{
    clock::Seconds,
    protocol::udp::{Frame, HEADER, LONGEST, datagrams, only_key, parse},
    replies::Replies as Gathered,
    service::Service,
    session::{NextStep, Session},
    store::{PREFETCHED, Store},
    turn::Turn,
};

/// Messages per receive, each of which may be many datagrams.
const MESSAGES: usize = 64;

/// Pause between checks whether the service stops.
const WAIT: Duration = Duration::from_millis(500);

/// Bytes of replies that are gathered before they are sent.
const GATHERED: usize = 1 << 20;

/// Bytes of a reply at most.
const LONGEST_REPLY: usize = 1 << 20;

/// Bytes of memory that the replies keep for the next ones: those of some hundred full datagrams.
const KEPT: usize = 256 << 10;

/// A socket for datagrams.
pub(super) struct Datagrams {
    backend: UdpBackend,
    address: SocketAddr,
    service: Arc<Service>,
    memory: Arc<Memory>,
    trusted: Vec<Prefix>,
}

/// Replies, each to its peer: places in the bytes of all.
#[derive(Default)]
struct Replies {
    bytes: Vec<u8>,
    places: Vec<(Peer, std::ops::Range<usize>)>,
}

impl Datagrams {
    pub(super) fn bind(
        at: SocketAddr,
        trusted: &[Prefix],
        service: &Arc<Service>,
        memory: &Arc<Memory>,
    ) -> Result<Self, Error> {
        let listen = |source| Error::Listen { at: format!("{at} (UDP)"), source };
        let config = UdpConfig { messages: MESSAGES, ..UdpConfig::new(at) };
        let backend = UdpBackend::bind(&config, Arc::new(Counters::default())).map_err(listen)?;
        let address = backend.local_address().map_err(listen)?;
        let (service, memory) = (Arc::clone(service), Arc::clone(memory));
        Ok(Self { backend, address, service, memory, trusted: trusted.to_vec() })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn waker(&self) -> Waker {
        self.backend.waker()
    }

    /// Serves until the service stops.
    pub(super) fn run(mut self) {
        let mut batch = Batch::new(MESSAGES);
        let mut replies = Replies::default();
        let mut reply = Gathered::new(LONGEST_REPLY);
        let mut session = Session::for_datagrams(&self.service);
        let mut counted = 0;
        while !self.service.is_stopping() {
            if let Err(error) = self.backend.receive(&mut batch, WAIT) {
                tracing::error!("cannot receive datagrams: {error}");
                return;
            }
            let now = self.service.store.clock().now();
            let mut datagrams = batch
                .messages
                .iter()
                .flat_map(|message| message.datagrams().map(|place| (message.peer, &batch.memory[place])));
            loop {
                let group: [_; PREFETCHED] = array::from_fn(|_| datagrams.next());
                let store = &self.service.store;
                let keys = group.map(|datagram| only_key(datagram?.1).map(|key| store.key(key)));
                store.prefetch(keys.iter().flatten().map(|key| key.hash));
                for ((peer, datagram), key) in group.into_iter().flatten().zip(keys) {
                    reply.clear();
                    if let Some(frame) = execute(&mut session, store, datagram, &mut reply, now) {
                        replies.add(peer, frame, &reply, self.longest(&peer, datagram.len()));
                    }
                    // The next request for it is answered ahead of the store.
                    if store.ahead().is_some()
                        && let Some(key) = key
                    {
                        store.mirror(key, now);
                    }
                }
                self.count(&mut counted, reply.capacity() + replies.capacity(), now);
                if replies.bytes.len() > GATHERED {
                    replies.send(&mut self.backend);
                }
                if group[PREFETCHED - 1].is_none() || self.service.is_stopping() {
                    break;
                }
            }
            replies.send(&mut self.backend);
            if counted > KEPT {
                reply = Gathered::new(LONGEST_REPLY);
                replies = Replies::default();
                self.count(&mut counted, 0, now);
            }
        }
        self.count(&mut counted, 0, self.service.store.clock().now());
    }

    /// Counts the memory of replies among that of the connections.
    #[inline]
    fn count(&self, counted: &mut usize, bytes: usize, now: Seconds) {
        if bytes != *counted {
            self.memory.count_datagrams(std::mem::replace(counted, bytes), bytes, now);
        }
    }

    /// Bytes of all datagrams that a peer may get for a request.
    fn longest(&self, peer: &Peer, request: usize) -> usize {
        let trusted = self.trusted.iter().any(|prefix| prefix.contains(peer.address.ip()));
        // A spoofed source address must not receive more bytes than the request had.
        if trusted { usize::MAX } else { request }
    }
}

/// Executes the requests in a datagram.
fn execute<'a>(
    session: &mut Session,
    store: &Store,
    datagram: &'a [u8],
    reply: &mut Gathered,
    now: u32,
) -> Option<&'a Frame> {
    let (frame, requests) = parse(datagram)?;
    if !frame.is_single() {
        reply.extend_from_slice(b"SERVER_ERROR multi-packet request not supported\r\n");
        return Some(frame);
    }
    session.start_over();
    let (mut done, mut turn) = (0, Turn::for_datagram());
    loop {
        let progress = session.feed(&requests[done..], reply, &mut turn, now);
        done += progress.consumed;
        let refusal: &[u8] = match progress.next {
            // More after a long value that still fits.
            NextStep::Send if reply.complete(store) == Ok(true) => continue,
            NextStep::More(_) | NextStep::Close if reply.complete(store).is_ok() => break,
            NextStep::Turn => b"SERVER_ERROR too many requests in a datagram\r\n",
            NextStep::Send | NextStep::More(_) | NextStep::Close | NextStep::Watch(_) => {
                b"SERVER_ERROR out of memory writing get response\r\n"
            }
        };
        reply.discard(store);
        reply.extend_from_slice(refusal);
        break;
    }
    (!reply.is_empty()).then_some(frame)
}

impl Replies {
    /// Bytes of memory.
    fn capacity(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<(Peer, std::ops::Range<usize>)>()
    }

    fn add(&mut self, peer: Peer, frame: &Frame, reply: &[u8], longest: usize) {
        let whole = reply.len() + reply.len().div_ceil(LONGEST - HEADER) * HEADER;
        if whole > longest {
            return;
        }
        for (frame, part) in datagrams(frame.request, reply, LONGEST).into_iter().flatten() {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(frame.as_bytes());
            self.bytes.extend_from_slice(part);
            self.places.push((peer, start..self.bytes.len()));
        }
    }

    fn send(&mut self, backend: &mut UdpBackend) {
        if self.places.is_empty() {
            return;
        }
        let bytes = &self.bytes;
        let mut all = self.places.iter().map(|(peer, place)| Reply { peer: *peer, bytes: &bytes[place.clone()] });
        backend.transmit(&mut all);
        self.bytes.clear();
        self.places.clear();
    }
}
