//! Ports for replicas that share a machine.
use std::fs::read_to_string;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;

/// Linux publishes here the range of ephemeral ports, which it assigns to connections that name none.
const EPHEMERAL: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// Start of the default ephemeral range.
const FIRST_EPHEMERAL: u16 = 32_768;
/// Most servers with a fixed port use a lower one.
const FIRST: u16 = 20_000;

/// Returns loopback addresses whose ports are free for both TCP and UDP.
///
/// The ports lie outside the ephemeral range. Otherwise, repeatedly dialling an offline replica could make the kernel
/// assign its port as the source port, and the replica could not listen there on its return.
///
/// All addresses share one host, drawn at random from the 2^24 of loopback, so that concurrent callers get different
/// ones even before anything listens on them.
///
/// # Errors
///
/// [`io::ErrorKind::AddrInUse`] if too few ports are free.
pub fn free_addresses(count: usize) -> io::Result<Vec<SocketAddr>> {
    free_addresses_of(host(RandomState::new().hash_one(count)), count)
}

/// A loopback host from random bits: never 127.0.0.1, where everything else listens, nor a network or broadcast
/// address.
fn host(bits: u64) -> Ipv4Addr {
    let [second, third, fourth, ..] = bits.to_le_bytes();
    Ipv4Addr::new(127, second.max(1), third, fourth.clamp(1, 254))
}

fn free_addresses_of(host: Ipv4Addr, count: usize) -> io::Result<Vec<SocketAddr>> {
    let ports = range(read_to_string(EPHEMERAL).ok().as_deref());
    let addresses = ports.map(|port| SocketAddr::from((host, port)));
    let free = addresses.filter(|address| TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok());
    let found = Vec::from_iter(free.take(count));
    if found.len() < count { Err(io::ErrorKind::AddrInUse.into()) } else { Ok(found) }
}

/// The ports to try, given the text of the kernel's ephemeral range.
fn range(ephemeral: Option<&str>) -> Range<u16> {
    let first = ephemeral.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(FIRST_EPHEMERAL);
    // If nearly all ports are ephemeral, try all of them.
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
        let host = host(RandomState::new().hash_one("taken"));
        let first = free_addresses_of(host, 1).unwrap()[0];
        let _taken = TcpListener::bind(first).unwrap();
        let second = free_addresses_of(host, 1).unwrap()[0];
        assert_ne!(second, first);
        let _taken_too = UdpSocket::bind(second).unwrap();
        assert!(!free_addresses_of(host, 10).unwrap().iter().any(|address| [first, second].contains(address)));
        let all = range(read_to_string(EPHEMERAL).ok().as_deref()).len();
        assert_eq!(free_addresses_of(host, all).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn hosts_are_of_loopback_and_apart() {
        assert!([0, u64::MAX].map(host).iter().all(Ipv4Addr::is_loopback));
        assert_eq!(host(0), Ipv4Addr::new(127, 1, 0, 1));
        assert_eq!(host(u64::MAX), Ipv4Addr::new(127, 255, 255, 254));
        // Two draws collide once in 16 million.
        let hosts: HashSet<_> = (0..4).map(|_| free_addresses(1).unwrap()[0].ip()).collect();
        assert!(hosts.len() > 2, "{hosts:?}");
    }

    #[test]
    fn the_systems_ports_are_left_out() {
        assert_eq!(range(Some("32768\t60999\n")), 20_000..32_768);
        assert_eq!(range(Some("1024 65535")), 20_000..u16::MAX);
        assert_eq!(range(Some("?")), 20_000..FIRST_EPHEMERAL);
        assert_eq!(range(None), 20_000..FIRST_EPHEMERAL);
    }
}
