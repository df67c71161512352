//! Requests in datagrams, many in a system call.

use std::{array, mem::size_of, net::SocketAddr, sync::Arc, time::Duration};

use net::{Prefix, Waker};
use nic::{
    Backend, Batch, Counters, Transmit, UdpBackend, UdpConfig,
    backend::{Peer, Reply},
    rtl::kv::{KvNic, KvNicConfig},
};
use zerocopy::IntoBytes;

use super::{Error, memory::Memory};
use crate::{
    clock::Seconds,
    host::{NicClients, NicHost},
    protocol::udp::{Frame, LONGEST, datagrams, only_key},
    replies::Replies as Gathered,
    service::Service,
    session::{
        Session,
        datagram::{LONGEST_REPLY, execute, longest, with_headers},
    },
    store::PREFETCHED,
};

/// Messages per receive, each of which may be many datagrams.
const MESSAGES: usize = 64;

/// Pause between checks whether the service stops.
const WAIT: Duration = Duration::from_millis(500);

/// Bytes of replies that are gathered before they are sent.
const GATHERED: usize = 1 << 20;

/// Bytes of memory that the replies keep for the next ones: those of some hundred full datagrams.
const KEPT: usize = 256 << 10;

/// A socket for datagrams.
pub(super) struct Datagrams {
    backend: UdpBackend,
    address: SocketAddr,
    service: Arc<Service>,
    memory: Arc<Memory>,
    trusted: Vec<Prefix>,
    /// Whether the NIC of the service is between the socket and the store.
    has_nic: bool,
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
        Ok(Self { backend, address, service, memory, trusted: trusted.to_vec(), has_nic: false })
    }

    /// Puts the simulated NIC between the socket and the store.
    pub(super) fn add_nic(&mut self, config: &KvNicConfig) -> Result<(), Error> {
        let SocketAddr::V4(own) = self.address else { return Err(Error::NicAddress { at: self.address }) };
        if own.ip().is_unspecified() {
            return Err(Error::NicAddress { at: self.address });
        }
        let nic = KvNic::new(config, own).map_err(|error| Error::Nic(Box::new(error)))?;
        self.service.set_nic(NicHost::new(nic));
        self.has_nic = true;
        Ok(())
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn waker(&self) -> Waker {
        self.backend.waker()
    }

    /// Serves until the service stops.
    pub(super) fn run(self) {
        if self.has_nic { self.serve_by_nic() } else { self.serve() }
    }

    /// Passes datagrams through the NIC, and executes those that it leaves to the host and that must be ordered.
    fn serve_by_nic(mut self) {
        let service = Arc::clone(&self.service);
        let Some(nic) = service.nic() else { return };
        let mut batch = Batch::new(MESSAGES);
        let mut clients = NicClients::new(&service, &self.trusted);
        let mut departed = Vec::new();
        let mut counted = 0;
        while !service.is_stopping() {
            if let Err(error) = self.backend.receive(&mut batch, WAIT) {
                tracing::error!("cannot receive datagrams: {error}");
                return;
            }
            let messages = batch.messages.iter();
            nic.enter(
                &service,
                messages.flat_map(|message| message.datagrams().map(|place| (message.peer, &batch.memory[place]))),
            );
            // Nothing else enters until all have left, which bounds all queues.
            loop {
                let is_busy = match clients.advance(nic, &service, &mut departed) {
                    Ok(is_busy) => is_busy,
                    Err(error) => {
                        tracing::error!("the simulated NIC failed: {error}");
                        return;
                    }
                };
                let replies = departed.iter().map(|(to, bytes)| Reply { peer: Peer::new(*to), bytes });
                self.backend.transmit(&mut { replies });
                departed.clear();
                self.count(&mut counted, clients.bytes(), service.store.clock().now());
                if !is_busy {
                    break;
                }
            }
            if counted > KEPT {
                clients = NicClients::new(&service, &self.trusted);
                self.count(&mut counted, 0, service.store.clock().now());
            }
        }
        self.count(&mut counted, 0, service.store.clock().now());
    }

    /// Serves the socket alone.
    fn serve(mut self) {
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
                        replies.add(peer, frame, &reply, longest(&self.trusted, &peer, datagram.len()));
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
}

impl Replies {
    /// Bytes of memory.
    fn capacity(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<(Peer, std::ops::Range<usize>)>()
    }

    fn add(&mut self, peer: Peer, frame: &Frame, reply: &[u8], longest: usize) {
        if with_headers(reply) > longest {
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
