//! Sockets and threads: each thread accepts connections and serves those that it accepted.
mod bitcoind_pool;
mod connection;
mod handshake;
mod inbox;
mod socket;
mod transport;
mod web_socket;
mod worker;

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Release},
    },
    thread::{self, JoinHandle},
};

use net::{Listener, tls::Tls};

use crate::service::{Announcement, Service};
use bitcoind_pool::BitcoindPool;
use inbox::Inbox;
use worker::{WalletListener, Worker};

/// Cost of a WebSocket control frame, in microseconds of work: mostly the system call that sends its reply.
const CONTROL_FRAME_COST: u64 = 5;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// Configuration of the server.
#[derive(Debug, Default)]
pub struct Config {
    /// Addresses for TCP.
    pub tcp: Vec<SocketAddr>,
    /// Addresses for TLS.
    pub tcp_tls: Vec<SocketAddr>,
    /// Addresses for WebSocket.
    pub web_socket: Vec<SocketAddr>,
    /// Addresses for WebSocket in TLS.
    pub web_socket_tls: Vec<SocketAddr>,
    /// TLS configuration; without it there is no TLS.
    pub tls: Option<Arc<Tls>>,
    /// Number of threads that serve connections.
    pub threads: usize,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened on.
    #[error("cannot listen on {at}: {source}; {}", net::listen_advice(source))]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The system has run out of threads or descriptors.
    #[error("cannot start a thread of the server: {0}; raise the limits of the process (ulimit -n, ulimit -u)")]
    Thread(#[from] io::Error),
}

/// A running server. Dropping it closes all connections.
pub struct Server {
    service: Arc<Service>,
    tcp: Vec<SocketAddr>,
    tls: Vec<SocketAddr>,
    web_socket: Vec<SocketAddr>,
    web_socket_tls: Vec<SocketAddr>,
    stop: Arc<AtomicBool>,
    inboxes: Vec<Inbox>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("tcp", &self.tcp)
            .field("tls", &self.tls)
            .field("web_socket", &self.web_socket)
            .field("web_socket_tls", &self.web_socket_tls)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Binds all sockets, and starts the threads.
    pub fn start(config: &Config, service: Arc<Service>) -> Result<Self, Error> {
        let mut listeners = Vec::new();
        let mut listen = |addresses: &[SocketAddr], tls: Option<&Arc<Tls>>, is_web_socket| -> Result<Vec<_>, Error> {
            let mut local = Vec::new();
            for at in addresses {
                let listener = Listener::tcp(*at, BACKLOG).map_err(|source| Error::Listen { at: *at, source })?;
                local.extend(listener.address());
                listeners.push(Arc::new(WalletListener { listener, tls: tls.cloned(), is_web_socket }));
            }
            Ok(local)
        };
        let tcp = listen(&config.tcp, None, false)?;
        let web_socket = listen(&config.web_socket, None, true)?;
        let (mut tls, mut web_socket_tls) = (Vec::new(), Vec::new());
        if let Some(spoken) = &config.tls {
            tls = listen(&config.tcp_tls, Some(spoken), false)?;
            web_socket_tls = listen(&config.web_socket_tls, Some(spoken), true)?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let bitcoind_pool = BitcoindPool::start()?;
        let workers = (0..config.threads.max(1)).map(|_| Worker::new(&service, &listeners, &bitcoind_pool, &stop));
        let workers = workers.collect::<io::Result<Vec<_>>>()?;
        let inboxes = workers.iter().map(Worker::inbox).collect();
        let mut server = Self { service, tcp, tls, web_socket, web_socket_tls, stop, inboxes, threads: Vec::new() };
        for worker in workers {
            // On an error, dropping the server ends the threads already started.
            server.threads.push(thread::Builder::new().name("electrum".into()).spawn(move || worker.run())?);
        }
        Ok(server)
    }

    /// Listening addresses of TCP.
    pub fn tcp(&self) -> &[SocketAddr] {
        &self.tcp
    }

    /// Listening addresses of TLS.
    pub fn tls(&self) -> &[SocketAddr] {
        &self.tls
    }

    /// Listening addresses of WebSocket.
    pub fn web_socket(&self) -> &[SocketAddr] {
        &self.web_socket
    }

    /// Listening addresses of WebSocket in TLS.
    pub fn web_socket_tls(&self) -> &[SocketAddr] {
        &self.web_socket_tls
    }

    /// The service.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Returns a handle that reports changes to clients.
    pub fn announcer(&self) -> Announcer {
        Announcer(self.inboxes.clone())
    }
}

/// Reports changes of the service to all clients.
#[derive(Clone, Default)]
pub struct Announcer(Vec<Inbox>);

impl Announcer {
    /// Reports a change to all clients.
    pub fn announce(&self, announcement: &Arc<Announcement>) {
        self.0.iter().for_each(|inbox| inbox.announce(announcement));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Release);
        self.inboxes.iter().for_each(Inbox::wake);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the Electrum server panicked");
            }
        }
    }
}
