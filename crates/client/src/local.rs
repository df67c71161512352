//! The port that a client speaks from.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// A UDP socket that is connected to a node, at a local address or, without one, at any. Its port is never the node's, which
/// answers nothing that comes from its own (docs/protocol.md), so that no two nodes answer each other for ever.
pub fn connected(node: SocketAddr, local: Option<IpAddr>) -> io::Result<UdpSocket> {
    let any = || if node.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let local = local.unwrap_or_else(any);
    let first = UdpSocket::bind((local, 0))?;
    // The first keeps its port while the second gets one.
    let socket = if first.local_addr()?.port() == node.port() { UdpSocket::bind((local, 0))? } else { first };
    socket.connect(node)?;
    Ok(socket)
}
