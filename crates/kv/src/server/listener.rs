//! Accepts connections, and hands them to the workers round-robin.

use std::{
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use net::{Accepted, Acceptor, Listener, Waker};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::sockopt,
};

use super::{
    Config, Error,
    worker::{Connected, Inbox},
};
use crate::service::Service;

/// memcached's reply to a connection above the limit.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

/// Pause of accepting when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(10);

/// A listening socket, and whether its clients speak TLS.
struct Socket {
    listener: Listener,
    tls: bool,
}

impl Socket {
    /// Reports to a client that there are too many connections. One that expects TLS only sees its connection close.
    fn refuse(&self, service: &Service, client: &OwnedFd) {
        service.counts.rejected_connections.fetch_add(1, Relaxed);
        if !self.tls {
            net::refuse(client, TOO_MANY);
        }
    }
}

/// All sockets that are listened on.
pub(super) struct Listeners {
    service: Arc<Service>,
    waker: Waker,
    sockets: Vec<Socket>,
    acceptor: Acceptor,
}

impl Listeners {
    pub(super) fn bind(config: &Config, service: &Arc<Service>) -> Result<Self, Error> {
        let has_tls = service.tls().is_some();
        let tcp = config.tcp.iter().map(|address| (address, has_tls));
        let tcp = tcp.chain(config.tcp_plain.iter().map(|address| (address, false))).map(|(address, tls)| {
            let fail = |source| Error::Listen { at: address.to_string(), source };
            Ok(Socket { listener: Listener::tcp(*address, config.backlog).map_err(fail)?, tls })
        });
        let mut sockets = tcp.collect::<Result<Vec<_>, Error>>()?;
        if let Some((path, mode)) = &config.unix {
            sockets.push(Socket { listener: Listener::unix(path, *mode, config.backlog)?, tls: false });
        }
        let (waker, acceptor) = (Waker::new().map_err(Error::Thread)?, Acceptor::new().map_err(Error::Thread)?);
        Ok(Self { service: Arc::clone(service), waker, sockets, acceptor })
    }

    /// Addresses of TCP, with the ports that the system chose.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().filter_map(|socket| socket.listener.address()).collect()
    }

    pub(super) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Hands connections to `inboxes` until the service stops.
    pub(super) fn run(mut self, inboxes: Vec<Inbox>) {
        let mut turns = inboxes.iter().cycle();
        while !self.service.is_stopping() {
            let waker = PollFd::from_borrowed_fd(self.waker.as_fd(), PollFlags::IN);
            let sockets = self.sockets.iter().map(|socket| PollFd::new(&socket.listener, PollFlags::IN));
            let mut waited: Vec<_> = std::iter::once(waker).chain(sockets).collect();
            match poll(&mut waited, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => tracing::error!("cannot wait for connections: {error}"),
            }
            for socket in &self.sockets {
                accept(&self.service, socket, &mut self.acceptor, &mut turns);
            }
        }
    }
}

/// Accepts the clients that wait.
fn accept<'a>(
    service: &Service,
    socket: &Socket,
    acceptor: &mut Acceptor,
    turns: &mut impl Iterator<Item = &'a Inbox>,
) {
    loop {
        let (connection, peer) = match acceptor.accept(&socket.listener, |client| socket.refuse(service, client)) {
            Accepted::Connection(connection, peer) => (connection, peer),
            Accepted::Refused => continue,
            Accepted::Empty => return,
            Accepted::Pause => {
                let _ = poll(&mut [], Timespec::try_from(PAUSE).ok().as_ref());
                return;
            }
        };
        let counts = &service.counts;
        if counts.curr_connections.load(Relaxed) >= service.connection_limit() as u64 {
            socket.refuse(service, &connection);
            continue;
        }
        if peer.is_some() {
            // Replies are sent without delay. Keepalive detects a dead client.
            let _ = sockopt::set_tcp_nodelay(&connection, true);
            let _ = sockopt::set_socket_keepalive(&connection, true);
        }
        counts.curr_connections.fetch_add(1, Relaxed);
        counts.total_connections.fetch_add(1, Relaxed);
        if let Some(inbox) = turns.next() {
            inbox.put(Connected { socket: connection, tls: socket.tls, peer });
        }
    }
}
