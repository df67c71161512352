//! Addresses of channels: the scheme names the backend.

use std::{fmt, net::SocketAddr, str::FromStr};

use crate::Error;

/// An address: `tcp://IP:PORT`, `shm://NAME_OR_PATH` or `rdma://IP:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP socket.
    Tcp(SocketAddr),
    /// A queue pair of the RDMA device with this IP address.
    Rdma(SocketAddr),
    /// Shared memory, negotiated over a Unix socket: at a path if the text contains a slash, otherwise at an abstract
    /// name.
    Shm(String),
}

impl Address {
    /// Whether traffic to this address stays within the machine.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) | Self::Rdma(address) => address.ip().is_loopback(),
            Self::Shm(_) => true,
        }
    }
}

impl Address {
    /// Whether channels to this address can have an [identity](crate::Config::identity): the receiver must be able to
    /// write to its message buffers, because messages are decrypted in place.
    pub fn can_encrypt(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Rdma(_) => true,
            Self::Shm(_) => false,
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |reason| Error::Address { text: text.to_owned(), reason };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("the scheme is missing, such as tcp://"))?;
        let socket = || rest.parse().map_err(|_| wrong("expected IP:PORT after the scheme, such as 127.0.0.1:7500"));
        match scheme {
            "tcp" => Ok(Self::Tcp(socket()?)),
            "rdma" => Ok(Self::Rdma(socket()?)),
            "shm" if rest.len() <= 90 && !rest.contains('\0') => Ok(Self::Shm(rest.to_owned())),
            "shm" => Err(wrong("a name has at most 90 bytes and no zero bytes")),
            _ => Err(wrong("the schemes are tcp://, shm:// and rdma://")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(to, "tcp://{address}"),
            Self::Rdma(address) => write!(to, "rdma://{address}"),
            Self::Shm(name) => write!(to, "shm://{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_they_are_read() {
        let all = [
            "tcp://127.0.0.1:7500",
            "tcp://[::1]:0",
            "rdma://192.0.2.1:7500",
            "shm://here",
            "shm:///run/here",
            "shm://",
        ];
        for text in all {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_told_why() {
        let long = format!("shm://{:91}", "long");
        for text in
            [&long, "shm://zero\0", "", "127.0.0.1:1", "udp://127.0.0.1:1", "tcp://localhost", "tcp://127.0.0.1"]
        {
            assert!(matches!(text.parse::<Address>(), Err(Error::Address { .. })), "{text}");
        }
    }

    #[test]
    fn only_what_stays_here_is_local() {
        let is_local = |text: &str| text.parse::<Address>().unwrap().is_local();
        assert!(is_local("tcp://[::1]:1") && is_local("shm://here") && !is_local("tcp://10.0.0.1:1"));
    }
}
