//! The client's local port.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// A UDP socket connected to a node, bound to a local address if given. Its port is never the node's, because a node
/// ignores datagrams from its own port (docs/protocol.md), so that no two nodes answer each other forever.
pub fn connected(node: SocketAddr, local: Option<IpAddr>) -> io::Result<UdpSocket> {
    let any = || if node.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let local = local.unwrap_or_else(any);
    let first = UdpSocket::bind((local, 0))?;
    // The first socket keeps its port while the second gets another one.
    let socket = if first.local_addr()?.port() == node.port() { UdpSocket::bind((local, 0))? } else { first };
    socket.connect(node)?;
    Ok(socket)
}
