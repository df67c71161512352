//! A node: start, stop.

mod cluster;
mod follow;
mod start;

pub(crate) use start::rate_limit;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU8,
            Ordering::{Relaxed, Release},
        },
    },
    thread::JoinHandle,
};

use ledger::journal::Submitter;
use net::Waker;
use xdp::Link;

use crate::{
    blocks, config::Backend, metrics, node_state::NodeState, open_files::Budget, reload::Reload, replica::Running,
    scrub::Scrubber, starting::HttpServer, threads::join,
};

/// A running node. Dropping it ends its threads once all executed operations are in the journal.
#[derive(Debug)]
pub struct Node {
    local: SocketAddr,
    pub(crate) http: Option<HttpServer>,
    network: [u8; 32],
    chain_key: [u8; 32],
    node_state: Arc<NodeState>,
    waker: Waker,
    /// The journal of a node alone.
    journal: Option<Submitter>,
    /// The replica's ordering, if the node is one.
    replica: Option<Running>,
    stop: Arc<AtomicBool>,
    tier: Option<Link>,
    backend: Backend,
    order: Arc<AtomicU8>,
    io: Option<JoinHandle<()>>,
    builder: Option<JoinHandle<()>>,
    pub(crate) kv: Option<kv::server::Server>,
    pub(crate) electrum: Option<electrum::server::Server>,
    pub(crate) reload: Reload,
    scrubber: Option<Scrubber>,
    threads: Vec<JoinHandle<()>>,
    /// Dropped last.
    _data: storage::DataDirectory,
}

impl Node {
    /// A node without threads, over sockets.
    fn new(
        local: SocketAddr,
        network: [u8; 32],
        chain_key: [u8; 32],
        node_state: Arc<NodeState>,
        waker: Waker,
        data: storage::DataDirectory,
        budget: Budget,
    ) -> Self {
        node_state.set_data(data.path());
        Self {
            local,
            http: None,
            network,
            chain_key,
            node_state,
            waker,
            journal: None,
            replica: None,
            stop: Arc::new(AtomicBool::new(false)),
            tier: None,
            backend: Backend::Udp,
            order: Arc::new(AtomicU8::new(blocks::BUILD)),
            io: None,
            builder: None,
            kv: None,
            electrum: None,
            reload: Reload { budget, streams: None, rate: None, electrum_tls: None },
            scrubber: None,
            threads: Vec::new(),
            _data: data,
        }
    }

    /// The address that the protocol is served on.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The address of metrics and health.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(HttpServer::local_address)
    }

    /// The key-value store, if there is one.
    pub fn kv(&self) -> Option<&kv::server::Server> {
        self.kv.as_ref()
    }

    /// The server of Electrum's clients, if there is one.
    pub fn electrum(&self) -> Option<&electrum::server::Server> {
        self.electrum.as_ref()
    }

    /// The network id.
    pub fn network(&self) -> &[u8; 32] {
        &self.network
    }

    /// The public key that seals the node's blocks; of a replica the hash of all replicas' keys.
    pub fn chain_key(&self) -> &[u8; 32] {
        &self.chain_key
    }

    /// All figures as Prometheus reads them.
    pub fn metrics(&self) -> String {
        metrics::render(&self.node_state)
    }

    /// The node's state.
    pub fn state(&self) -> &NodeState {
        &self.node_state
    }

    /// The status of the order, if the node is a replica.
    pub fn order(&self) -> Option<order::StatusSnapshot> {
        Some(self.node_state.order()?.engine.snapshot())
    }

    /// Number of durable operations that are not yet in a block.
    pub fn behind(&self) -> u64 {
        self.node_state.behind()
    }

    /// Whether there are transactions in a block that is not closed yet.
    pub fn is_open(&self) -> bool {
        self.node_state.open.load(Relaxed)
    }

    /// The backend for datagrams: the configured one, or the one that the machine allows instead; never `Auto`.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Whether XDP answers some of the requests.
    pub fn uses_tier(&self) -> bool {
        self.tier.is_some()
    }

    /// Height of the own chain.
    pub fn height(&self) -> u64 {
        self.node_state.height.load(Relaxed)
    }

    /// Stops: accepts no more requests, makes all executed operations durable, and settles them in blocks.
    pub fn stop(mut self) {
        self.end(blocks::DRAIN);
    }

    fn end(&mut self, order: u8) {
        // Before the tables stop to change.
        self.tier = None;
        self.kv = None;
        self.electrum = None;
        self.scrubber = None;
        self.stop.store(true, Release);
        self.waker.wake();
        // The writer first, then what follows it.
        if let Some(io) = self.io.take() {
            join(io);
        }
        if let Some(journal) = &self.journal {
            journal.stop();
        }
        if let Some(replica) = &mut self.replica {
            replica.stop();
        }
        self.http = None;
        self.threads.drain(..).for_each(join);
        self.order.store(order, Release);
        if let Some(builder) = self.builder.take() {
            join(builder);
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end(blocks::STOP);
    }
}
