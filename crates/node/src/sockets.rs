//! Opens sockets for datagrams and connections, as configured.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use nic::{
    AfXdpBackend, Backend as _, CableBackend, Counters, Either, RtlBackend, StreamLimits, Streams, UdpBackend,
    UdpConfig, WithStreams,
};
use xdp::Socket;

use crate::{Config, Error};

/// Messages that are received in one system call.
pub const MESSAGES: usize = 64;

/// How long the io thread polls before it sleeps, with `busy_poll`: it does not sleep at all while there is traffic.
const BUSY_POLL: Duration = Duration::from_millis(50);

/// Maximum number of attempts to find a port that is free for both protocols.
const ANY_PORT_TRIES: usize = 8;

/// Datagrams, frames past the host's network stack, and connections.
pub type Sockets = WithStreams<AfXdpBackend>;

/// A NIC before the node: simulated, or on a board.
pub type NicBackend = Either<RtlBackend<Sockets>, CableBackend>;

/// Sockets, or a NIC before the node.
pub type Carrier = Either<Sockets, NicBackend>;

/// The error for an address that cannot be listened on.
pub fn listening(key: &'static str, address: SocketAddr) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Listen { key, address, source }
}

/// Datagrams, frames past the host's network stack and streams on the same port.
pub fn bind(config: &Config, counters: &Arc<Counters>, sockets: Vec<Socket>) -> Result<(Sockets, Streams), Error> {
    let udp = UdpConfig {
        messages: MESSAGES,
        spin: if config.io.busy_poll { BUSY_POLL } else { Duration::ZERO },
        ..UdpConfig::new(config.listen)
    };
    let listening = || listening("listen", config.listen);
    let mut tries = if config.listen.port() == 0 { ANY_PORT_TRIES } else { 1 };
    let (datagrams, listener) = loop {
        tries -= 1;
        let datagrams = UdpBackend::bind(&udp, counters.clone()).map_err(listening())?;
        let local = datagrams.local_address().map_err(listening())?;
        match TcpListener::bind(SocketAddr::new(config.listen.ip(), local.port())) {
            Ok(listener) => break (datagrams, listener),
            // The port chosen for UDP may be in use for TCP.
            Err(_) if tries > 0 => {}
            Err(error) => return Err(listening()(error)),
        }
    };
    let frames = AfXdpBackend::new(datagrams, sockets, counters.clone()).map_err(listening())?;
    WithStreams::new(frames, listener, stream_limits(config), counters.clone()).map_err(listening())
}

/// The limits of connections that carry frames.
pub fn stream_limits(config: &Config) -> StreamLimits {
    StreamLimits {
        trusted: config.trusted.clone(),
        connections: config.limits.connections,
        prefix_connections: config.limits.prefix_connections,
        frame: Duration::from_millis(config.limits.frame_timeout),
        ..StreamLimits::default()
    }
}
