//! Ports for replicas that share a machine.
use std::fs::read_to_string;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;

/// The system's own ports, for connections that name none: Linux tells where they begin and end.
const EPHEMERAL: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// Where they begin unless somebody changed that.
const FIRST_EPHEMERAL: u16 = 32_768;
/// Most servers that have a port of their own have it below.
const FIRST: u16 = 20_000;

/// Addresses of loopback whose ports nothing has, neither for TCP nor for UDP, and which the system gives to no connection by itself: who
/// dials a replica that is away over and over comes to be given its port, and the replica cannot listen there when it is back.
///
/// # Errors
///
/// [`io::ErrorKind::AddrInUse`] where there are not so many.
pub fn free_addresses(count: usize) -> io::Result<Vec<SocketAddr>> {
    let range = range(read_to_string(EPHEMERAL).ok().as_deref());
    // Somebody else who looks at the same time begins elsewhere.
    let begin = RandomState::new().hash_one(count) as usize % range.len();
    let ports = range.clone().skip(begin).chain(range.take(begin));
    let addresses = ports.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let free = addresses.filter(|address| TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok());
    let found = Vec::from_iter(free.take(count));
    if found.len() < count { Err(io::ErrorKind::AddrInUse.into()) } else { Ok(found) }
}

/// The ports that are looked at, given what the system tells of its own.
fn range(ephemeral: Option<&str>) -> Range<u16> {
    let first = ephemeral.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(FIRST_EPHEMERAL);
    // Where the system takes nearly all for its own, any may be taken.
    if first > FIRST { FIRST..first } else { FIRST..u16::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn addresses_are_free_and_not_the_systems_own() {
        let addresses = free_addresses(50).unwrap();
        assert_eq!(addresses.iter().collect::<HashSet<_>>().len(), 50);
        let own = range(read_to_string(EPHEMERAL).ok().as_deref());
        assert!(addresses.iter().all(|address| own.contains(&address.port())));
        assert!(addresses.iter().any(|address| TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()));
    }

    #[test]
    fn what_is_taken_is_not_given() {
        let port = free_addresses(1).unwrap()[0];
        let _taken = TcpListener::bind(port).unwrap();
        let all = range(read_to_string(EPHEMERAL).ok().as_deref()).len();
        assert_eq!(free_addresses(all).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn the_systems_ports_are_left_out() {
        assert_eq!(range(Some("32768\t60999\n")), 20_000..32_768);
        assert_eq!(range(Some("1024 65535")), 20_000..u16::MAX);
        assert_eq!(range(Some("?")), 20_000..FIRST_EPHEMERAL);
        assert_eq!(range(None), 20_000..FIRST_EPHEMERAL);
    }
}
