//! The sockets and the threads: a listener that hands connections round, workers that each serve their own, and one
//! thread for the datagrams of each UDP address.
//!
//! - Listener: on a connection, refuse it at the limit of connections, else hand it to the next worker in turn. If no
//!   descriptor is left, refuse the client with the spare one.
//! - Worker: wait for events of its connections, then give a turn to each connection with an event, and to each whose
//!   last turn ended before its work. Once a second, close connections that are idle or late.
//! - Turn: 512 units, or 1 ms. A request costs one unit, and so do 256 bytes; one that concerns all items costs the
//!   whole turn. Send the replies that the client has not taken; while there are any, do nothing else. Then read,
//!   execute complete requests, and send their replies, until there is nothing to read, the client is slow, or the turn
//!   is over.
//! - Between turns a connection waits to read, to write, or for its next turn. It keeps the bytes of an incomplete
//!   request and unsent replies, and refers to a long value in the store instead of copying it.
//! - Deadlines: a request must be complete in 60 s after its first byte, and a second more for each 64 KiB; a TLS
//!   handshake in 10 s. Arriving bytes do not renew them.
//! - Memory: all connections together hold at most a configured number of bytes, and those of one prefix half of it.
//!   Beyond that, the connection with the most bytes times seconds without progress refuses its incomplete request, or
//!   is closed.
//! - Datagrams: execute all requests of a datagram. An untrusted sender gets no reply that is longer than its request.
//! - Datagrams with the [NIC](crate::host): pass them through it until all have left, send the replies, and execute
//!   those that the NIC left to the host. Only then receive more.
//! - Stop: each worker answers requests that have arrived, for up to 500 ms. When all threads have ended without a
//!   panic, the store is closed.

mod connection;
mod listener;
mod memory;
mod pending;
mod socket;
mod udp;
mod worker;

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use net::{Prefix, Waker};
use nic::rtl::{RtlError, kv::KvNicConfig};

use crate::service::Service;
use listener::Listeners;
use memory::Memory;
use udp::Datagrams;
use worker::Worker;

/// Addresses and settings of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Addresses for TCP, by TLS where the service has it.
    pub tcp: Vec<SocketAddr>,
    /// Addresses for TCP without TLS, whatever the service has.
    pub tcp_plain: Vec<SocketAddr>,
    /// A socket in the file system, and its mode.
    pub unix: Option<(PathBuf, u32)>,
    /// Addresses for UDP.
    pub udp: Vec<SocketAddr>,
    /// The simulated NIC that serves the only address for UDP, if any does.
    pub nic: Option<KvNicConfig>,
    /// Prefixes that may get UDP replies longer than the request.
    pub udp_trusted: Vec<Prefix>,
    /// Threads that serve connections.
    pub threads: usize,
    /// Connections that wait to be accepted.
    pub backlog: i32,
    /// After how long a connection without requests is closed.
    pub idle: Option<Duration>,
    /// After how long a connection is closed that does not finish a request or a handshake, or takes no replies.
    pub deadlines: Deadlines,
}

/// Timeouts for a client that is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For a request, from its first byte on; a second more for each 64 KiB of it. Bytes that arrive do not renew it.
    pub request: Duration,
    /// For the TLS handshake.
    pub handshake: Duration,
    /// For the client to take bytes of replies that wait for it. Bytes that it takes renew it.
    pub replies: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        // Requests: time enough to type a value by hand. Replies: TCP probes a full window and retransmits lost bytes
        // within some seconds, so a client that took nothing for a minute has stopped to read or is gone.
        Self { request: Duration::from_secs(60), handshake: Duration::from_secs(10), replies: Duration::from_secs(60) }
    }
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened on.
    #[error("cannot listen on {at}: {source}; {}", net::listen_advice(source))]
    Listen {
        /// The address.
        at: String,
        /// The system's error.
        source: io::Error,
    },
    /// The path of a socket cannot be listened on.
    #[error(transparent)]
    Path(#[from] net::PathError),
    /// There is nothing to listen on.
    #[error("nothing to listen on: set a TCP port, a UDP port, or the path of a Unix socket")]
    Nowhere,
    /// The simulated NIC does not load.
    #[error(transparent)]
    Nic(Box<RtlError>),
    /// The simulated NIC serves one address.
    #[error("the simulated NIC serves one UDP address, not {count}; set a UDP port (-U) and one address (-l)")]
    NicAddresses {
        /// Number of addresses for UDP.
        count: usize,
    },
    /// The simulated NIC cannot have the address.
    #[error("the simulated NIC cannot have the address {at}; listen on a single IPv4 address (-l)")]
    NicAddress {
        /// The address for UDP.
        at: SocketAddr,
    },
    /// The system has no thread or descriptor left.
    #[error("cannot start a thread of the server: {0}; raise the limits of the process (ulimit -n, ulimit -u)")]
    Thread(io::Error),
}

/// Name of a thread that serves connections.
pub const WORKER: &str = "kv-worker";
/// Name of a thread that serves datagrams.
pub const UDP: &str = "kv-udp";

/// A running server.
#[derive(Debug)]
pub struct Server {
    service: Arc<Service>,
    tcp: Vec<SocketAddr>,
    udp: Vec<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Binds all sockets, and starts the threads.
    pub fn start(config: &Config, service: Arc<Service>) -> Result<Self, Error> {
        if config.tcp.is_empty() && config.tcp_plain.is_empty() && config.unix.is_none() && config.udp.is_empty() {
            return Err(Error::Nowhere);
        }
        let listeners = Listeners::bind(config, &service)?;
        let memory = Memory::new(&service);
        let udp = config.udp.iter().map(|at| Datagrams::bind(*at, &config.udp_trusted, &service, &memory));
        let mut udp = udp.collect::<Result<Vec<_>, _>>()?;
        if let Some(nic) = &config.nic {
            let [only] = udp.as_mut_slice() else { return Err(Error::NicAddresses { count: udp.len() }) };
            only.add_nic(nic)?;
        }
        let workers = (0..config.threads.max(1)).map(|_| Worker::new(&service, &memory, config));
        let workers = workers.collect::<io::Result<Vec<_>>>().map_err(Error::Thread)?;
        let mut server = Self {
            service,
            tcp: listeners.addresses(),
            udp: udp.iter().map(Datagrams::address).collect(),
            threads: Vec::new(),
        };
        let inboxes = workers.iter().map(Worker::inbox).collect();
        for worker in workers {
            server.spawn(WORKER, worker.inbox().waker(), move || worker.run())?;
        }
        for datagrams in udp {
            server.spawn(UDP, datagrams.waker(), move || datagrams.run())?;
        }
        server.spawn("kv-listener", listeners.waker(), move || listeners.run(inboxes))?;
        Ok(server)
    }

    fn spawn(&mut self, name: &str, waker: Waker, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        self.service.wake_to_stop(waker);
        match thread::Builder::new().name(name.into()).spawn(run) {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                self.service.stop();
                return Err(Error::Thread(error));
            }
        }
        Ok(())
    }

    /// Addresses of TCP that it listens on.
    pub fn tcp(&self) -> &[SocketAddr] {
        &self.tcp
    }

    /// Addresses of UDP that it listens on.
    pub fn udp(&self) -> &[SocketAddr] {
        &self.udp
    }

    /// Returns the service that the server is for.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Waits until the threads have ended: after [`Service::stop`], or a client's `shutdown`.
    pub fn join(mut self) {
        self.end();
    }

    /// Waits for the threads, then closes the store.
    fn end(&mut self) {
        let mut is_whole = true;
        for thread in std::mem::take(&mut self.threads) {
            if thread.join().is_err() {
                tracing::error!("a thread of the key-value store panicked");
                is_whole = false;
            }
            // One has ended, so all must.
            self.service.stop();
        }
        if let Err(error) = if is_whole { self.service.store.close() } else { Ok(()) } {
            tracing::error!("cannot save the items to the memory file, so the next start begins empty: {error}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.service.stop();
        self.end();
    }
}
