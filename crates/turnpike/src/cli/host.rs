//! The address of a node on the command line and in the environment: `HOST[:PORT]`.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::error::Error;

/// Maximum number of a host's addresses to try, one after the other.
const MAX_ADDRESSES: usize = 8;

/// A name or an IP address, with an optional port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// The same host on another port.
    pub fn with_port(&self, port: u16) -> Self {
        Self { name: self.name.clone(), port: Some(port) }
    }

    /// The host on its port, or on `port` if it has none.
    pub fn or_port(&self, port: u16) -> Self {
        self.with_port(self.port.unwrap_or(port))
    }

    /// The host's addresses, at least one. Those of IPv4 come first, since nodes listen there by default.
    pub fn resolve(&self, default_port: u16) -> Result<Vec<SocketAddr>, Error> {
        let port = self.port.unwrap_or(default_port);
        let found = (self.name.as_str(), port).to_socket_addrs();
        let found = found.map_err(|error| Error::Input(format!("cannot find the host {}: {error}", self.name)))?;
        let mut found: Vec<SocketAddr> = found.take(MAX_ADDRESSES).collect();
        found.sort_by_key(SocketAddr::is_ipv6);
        if found.is_empty() {
            return Err(Error::Input(format!("the host {} has no address", self.name)));
        }
        Ok(found)
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("{text:?} is not HOST or HOST:PORT, such as localhost:7400, 192.0.2.1 or [::1]:7400");
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or_else(invalid)?,
            // More than one colon is an IPv6 address by itself.
            None if text.parse::<IpAddr>().is_ok() => (text, ""),
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => Some(port.parse().map_err(|_| invalid())?),
            None if port.is_empty() => None,
            None => return Err(invalid()),
        };
        let is_sound = |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '/');
        if is_sound(name) { Ok(Self { name: name.to_owned(), port }) } else { Err(invalid()) }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]", self.name)?,
            false => f.write_str(&self.name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_names_or_addresses_and_may_have_ports() {
        let address = |text: &str| text.parse::<Host>().unwrap().resolve(7400).unwrap()[0].to_string();
        for (text, expected) in [
            ("localhost:1", "127.0.0.1:1"),
            ("localhost", "127.0.0.1:7400"),
            ("192.0.2.1", "192.0.2.1:7400"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("::1", "[::1]:7400"),
            ("[::1]", "[::1]:7400"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(address(text), expected);
            assert_eq!(
                text.parse::<Host>().unwrap().to_string().trim_matches(['[', ']']),
                text.trim_matches(['[', ']'])
            );
        }
        for text in ["", ":7400", "a:b", "a:70000", "[::1", "[::1]x", "a b", "http://a:1", "a:1:2"] {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
    }
}
