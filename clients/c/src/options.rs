//! Options of a client.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use wire::{DEFAULT_PORT, Promise};

use crate::ClientStatus;
use crate::failure::Failure;

/// Options of a client. Set `size` to sizeof(turnpike_options) and all other fields to zero, then the fields that
/// matter: zero is the default of each. A library with more fields accepts the smaller struct of a program that was
/// compiled before; a library with fewer refuses fields that it does not know unless they are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// sizeof(turnpike_options).
    pub size: u32,
    /// A turnpike_promise: that of calls that request TURNPIKE_PROMISE_DEFAULT. By default the node's own.
    pub promise: u8,
    /// Zero.
    pub reserved: [u8; 3],
    /// Maximum wait for the replies to a frame, in milliseconds; at most a day, by default 10,000. A call waits at
    /// most that long for a connection, and then at most that long for each frame in turn.
    pub timeout_ms: u32,
    /// Maximum number of connections for operations, from 1 to 1,024, by default 4. Each has one frame in flight.
    /// Further calls wait, and single operations then share the next frame. Reads use the same number again.
    /// Connections are opened when they are needed.
    pub connections: u32,
    /// Maximum number of frames in flight on a connection, from 1 to 1,024, by default 8: those of one call with
    /// TURNPIKE_SUBMIT_ANY_ORDER. Each takes 64 KiB of memory.
    pub in_flight: u32,
    /// Wait for a reply before a request is repeated, in milliseconds; by default 1,000. Requests are repeated
    /// earlier if the node is busy or the connection is lost to a client with several nodes.
    pub retry_ms: u32,
    /// How long a node may be silent before its requests go to the next node, in milliseconds; by default 1,000.
    pub turn_ms: u32,
}

/// Size of the first version of the options.
const LEAST_SIZE: usize = 28;

const _: () = assert!(size_of::<Options>() >= LEAST_SIZE);

/// Milliseconds of a day.
const DAY: u32 = 86_400_000;

/// Options that were checked, and the addresses of the nodes.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) node: SocketAddr,
    pub(crate) client: client::Options,
    pub(crate) connections: usize,
    /// The nodes as the caller named them.
    pub(crate) names: String,
}

impl Options {
    /// The options in the caller's struct, which may be of another version.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        let (known, rest) = bytes.split_at(bytes.len().min(size_of::<Self>()));
        if known.len() < LEAST_SIZE {
            let message = format!("options.size is {}, but must be sizeof(turnpike_options)", bytes.len());
            return Err(Failure::argument(ClientStatus::TurnpikeLength, message));
        }
        if rest.iter().any(|byte| *byte != 0) {
            let message = "an option is set that this version of the library does not know".into();
            return Err(Failure::argument(ClientStatus::TurnpikeArgument, message));
        }
        let mut words = known.chunks_exact(4).map(|word| <[u8; 4]>::try_from(word).unwrap_or_default());
        let mut next = || words.next().unwrap_or_default();
        let number = |word: [u8; 4]| u32::from_ne_bytes(word);
        let size = number(next());
        let [promise, reserved @ ..] = next();
        let [timeout_ms, connections, in_flight, retry_ms, turn_ms] = std::array::from_fn(|_| number(next()));
        Ok(Self { size, promise, reserved, timeout_ms, connections, in_flight, retry_ms, turn_ms })
    }

    /// Checks the options and resolves the names of nodes.
    pub(crate) fn settings(&self, nodes: &[&str]) -> Result<Settings, Failure> {
        if self.reserved != [0; 3] {
            let message = "the reserved field of the options is not zero".into();
            return Err(Failure::argument(ClientStatus::TurnpikeArgument, message));
        }
        let milliseconds = |name, value, default| -> Result<Duration, Failure> {
            Ok(Duration::from_millis(in_range(name, value, default, DAY)?.into()))
        };
        let timeout = milliseconds("timeout_ms", self.timeout_ms, 10_000)?;
        let retry = milliseconds("retry_ms", self.retry_ms, 1000)?.min(timeout);
        let turn_after = milliseconds("turn_ms", self.turn_ms, 1000)?;
        let connections = in_range("connections", self.connections, 4, 1024)? as usize;
        let window = in_range("in_flight", self.in_flight, 8, 1024)? as usize;
        let promise = promise(self.promise)?;
        let mut addresses = Vec::new();
        for node in nodes {
            addresses.extend(resolve(node)?);
        }
        let mut addresses = addresses.into_iter();
        let node = addresses.next().ok_or_else(|| {
            Failure::argument(ClientStatus::TurnpikeLength, "no node is given, but at least one is needed".into())
        })?;
        let client = client::Options {
            others: addresses.collect(),
            turn_after,
            promise,
            tcp: true,
            window,
            retry_after: retry,
            retry_at_most: retry,
            give_up_after: timeout,
            ..client::Options::default()
        };
        Ok(Settings { node, client, connections, names: nodes.join(", ") })
    }
}

impl Settings {
    pub(crate) fn timeout(&self) -> Duration {
        self.client.give_up_after
    }
}

/// A turnpike_promise.
pub(crate) fn promise(code: u8) -> Result<Promise, Failure> {
    let unknown = |_| Failure::argument(ClientStatus::TurnpikeArgument, format!("{code} is not a turnpike_promise"));
    Promise::try_from(code).map_err(unknown)
}

fn in_range(name: &str, value: u32, default: u32, most: u32) -> Result<u32, Failure> {
    match value {
        0 => Ok(default),
        value if value <= most => Ok(value),
        value => {
            let message = format!("option {name} is {value}, but must be at most {most}");
            Err(Failure::argument(ClientStatus::TurnpikeArgument, message))
        }
    }
}

/// The addresses of a node, given as HOST or HOST:PORT: one of each kind of address, since a name with several
/// addresses is still one node.
fn resolve(node: &str) -> Result<Vec<SocketAddr>, Failure> {
    let is_bare_v6 = node.parse::<std::net::Ipv6Addr>().is_ok();
    let (host, port) = match node.rsplit_once(':') {
        Some((host, port)) if !is_bare_v6 && !node.ends_with(']') => (host, Some(port)),
        _ => (node, None),
    };
    let fail = |reason: &str| {
        Failure::argument(ClientStatus::TurnpikeAddress, format!("node {node:?} is not an address: {reason}"))
    };
    let port = match port {
        Some(port) => port.parse().map_err(|_| fail("the port is not a number below 65,536"))?,
        None => DEFAULT_PORT,
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let found = Vec::from_iter((host, port).to_socket_addrs().map_err(|error| fail(&error.to_string()))?);
    let v4 = found.iter().find(|address| address.is_ipv4());
    let v6 = found.iter().find(|address| address.is_ipv6());
    let chosen = Vec::from_iter(v4.into_iter().chain(v6).copied());
    if chosen.is_empty() { Err(fail("the name has no address")) } else { Ok(chosen) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn options_of_other_versions_are_read() {
        let words = [28, 2_u32.to_le(), 100, 2, 3, 4, 5];
        let options = Options::from_bytes(&bytes(&words)).unwrap();
        let fields = (options.timeout_ms, options.connections, options.in_flight, options.retry_ms, options.turn_ms);
        assert_eq!((options.size, options.promise, fields), (28, 2, (100, 2, 3, 4, 5)));
        let newer =
            |more: u32| Options::from_bytes(&bytes(&[&words[..], &[more]].concat())).map(|options| options.turn_ms);
        assert_eq!(newer(0).unwrap(), 5);
        assert_eq!(newer(1).unwrap_err().status, ClientStatus::TurnpikeArgument);
        assert_eq!(Options::from_bytes(&bytes(&words[..6])).unwrap_err().status, ClientStatus::TurnpikeLength);
    }

    #[test]
    fn options_have_ranges() {
        let status = |options: Options| options.settings(&["127.0.0.1"]).map_err(|failure| failure.status);
        let settings = status(Options::default()).unwrap();
        assert_eq!((settings.node.port(), settings.timeout()), (DEFAULT_PORT, Duration::from_secs(10)));
        let out_of_range = [
            Options { connections: 1025, ..Options::default() },
            Options { in_flight: 1025, ..Options::default() },
            Options { timeout_ms: DAY + 1, ..Options::default() },
            Options { promise: 4, ..Options::default() },
            Options { reserved: [0, 1, 0], ..Options::default() },
        ];
        for options in out_of_range {
            assert_eq!(status(options).unwrap_err(), ClientStatus::TurnpikeArgument, "{options:?}");
        }
    }

    #[test]
    fn nodes_have_many_forms() {
        for (text, expected) in [
            ("127.0.0.1", "127.0.0.1:7400"),
            ("127.0.0.1:9", "127.0.0.1:9"),
            ("::1", "[::1]:7400"),
            ("[::1]", "[::1]:7400"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(resolve(text).unwrap(), [expected.parse().unwrap()], "{text}");
        }
        for text in ["", "127.0.0.1:x", "127.0.0.1:65536", "[::1"] {
            assert_eq!(resolve(text).unwrap_err().status, ClientStatus::TurnpikeAddress, "{text}");
        }
    }
}
