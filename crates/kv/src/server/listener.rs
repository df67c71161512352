//! Accepts connections, and hands them to the workers round-robin.

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use net::{LogLimit, SpareDescriptor, Waker, is_exhausted};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{
        AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, getsockname, ipproto, listen, socket_with,
        sockopt,
    },
};

use super::{
    Config, Error,
    socket_file::{self, SocketFile},
    worker::{Accepted, Inbox},
};
use crate::service::Service;

/// memcached's reply to a connection above the limit.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

/// Pause of accepting when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(10);

struct Socket {
    fd: OwnedFd,
    is_tcp: bool,
    tls: bool,
}

impl Socket {
    /// Reports to a client that there are too many connections. One that expects TLS only sees its connection close.
    fn refuse(&self, connection: &OwnedFd) {
        if !self.tls {
            net::refuse(connection, TOO_MANY);
        }
    }
}

/// The sockets that are listened on.
pub(super) struct Listener {
    service: Arc<Service>,
    waker: Waker,
    sockets: Vec<Socket>,
    /// The socket in the file system, removed at the end.
    #[allow(dead_code, reason = "it is for its end")]
    file: Option<SocketFile>,
    /// A spare descriptor for refusing a client when no other is left.
    spare: SpareDescriptor,
    warnings: LogLimit,
}

impl Listener {
    pub(super) fn bind(config: &Config, service: &Arc<Service>) -> Result<Self, Error> {
        let waker = Waker::new().map_err(Error::Thread)?;
        let mut listener = Self {
            service: Arc::clone(service),
            waker,
            sockets: Vec::new(),
            file: None,
            spare: SpareDescriptor::new().map_err(Error::Thread)?,
            warnings: LogLimit::default(),
        };
        let has_tls = service.tls().is_some();
        let tcp = config.tcp.iter().map(|address| (address, has_tls));
        for (address, tls) in tcp.chain(config.tcp_plain.iter().map(|address| (address, false))) {
            let fd = bind_tcp(*address, config.backlog)
                .map_err(|source| Error::Listen { at: address.to_string(), source })?;
            listener.sockets.push(Socket { fd, is_tcp: true, tls });
        }
        if let Some((path, mode)) = &config.unix {
            let (fd, file) = socket_file::bind(path, *mode, config.backlog)?;
            listener.sockets.push(Socket { fd, is_tcp: false, tls: false });
            listener.file = Some(file);
        }
        Ok(listener)
    }

    /// Addresses of TCP, with the ports that the system chose.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let tcp = self.sockets.iter().filter(|socket| socket.is_tcp);
        tcp.filter_map(|socket| SocketAddr::try_from(getsockname(&socket.fd).ok()?).ok()).collect()
    }

    pub(super) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Hands connections to `inboxes` until the service stops.
    pub(super) fn run(mut self, inboxes: Vec<Inbox>) {
        let mut turns = inboxes.iter().cycle();
        while !self.service.is_stopping() {
            let waker = PollFd::from_borrowed_fd(self.waker.as_fd(), PollFlags::IN);
            let sockets = self.sockets.iter().map(|socket| PollFd::new(&socket.fd, PollFlags::IN));
            let mut waited: Vec<_> = std::iter::once(waker).chain(sockets).collect();
            match poll(&mut waited, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => tracing::error!("cannot wait for connections: {error}"),
            }
            for at in 0..self.sockets.len() {
                if let Err(error) = self.accept(&self.sockets[at], &mut turns) {
                    self.recover(at, &error);
                }
            }
        }
    }

    /// Refuses a client that no descriptor is left for, or pauses.
    fn recover(&mut self, at: usize, error: &io::Error) {
        if let Some(suppressed) = self.warnings.admit(Instant::now()) {
            tracing::warn!(
                suppressed,
                "cannot accept a connection: {error}; raise the limit of open files (ulimit -n)"
            );
        }
        let (counts, socket) = (&self.service.counts, &self.sockets[at]);
        let is_refused = is_exhausted(error)
            && self.spare.refuse(
                || Ok(acceptfrom_with(&socket.fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?.0),
                |connection| {
                    counts.rejected_connections.fetch_add(1, Relaxed);
                    socket.refuse(&connection);
                },
            );
        if !is_refused {
            let _ = poll(&mut [], Timespec::try_from(PAUSE).ok().as_ref());
        }
    }

    /// Accepts what waits.
    fn accept<'a>(&self, socket: &Socket, turns: &mut impl Iterator<Item = &'a Inbox>) -> io::Result<()> {
        let counts = &self.service.counts;
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let (connection, peer) = match acceptfrom_with(&socket.fd, flags) {
                Ok(accepted) => accepted,
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                // The client disconnected before it was accepted.
                Err(rustix::io::Errno::CONNABORTED | rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if counts.curr_connections.load(Relaxed) >= self.service.connection_limit() as u64 {
                counts.rejected_connections.fetch_add(1, Relaxed);
                socket.refuse(&connection);
                continue;
            }
            if socket.is_tcp {
                // Replies are sent without delay. Keepalive detects a dead client.
                let _ = sockopt::set_tcp_nodelay(&connection, true);
                let _ = sockopt::set_socket_keepalive(&connection, true);
            }
            counts.curr_connections.fetch_add(1, Relaxed);
            counts.total_connections.fetch_add(1, Relaxed);
            if let Some(inbox) = turns.next() {
                let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
                inbox.put(Accepted { socket: connection, tls: socket.tls, peer });
            }
        }
    }
}

fn bind_tcp(address: SocketAddr, backlog: i32) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, backlog)?;
    Ok(socket)
}
