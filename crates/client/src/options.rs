//! Options of a client.

use std::net::SocketAddr;
use std::time::Duration;

use wire::{ETHERNET_DATAGRAM, MAX_DATAGRAM, MIN_DATAGRAM, Promise};

use crate::{Error, Limits};

/// Maximum number of datagrams in flight. The id of a frame has 32 bits, and a late reply must not meet the same id
/// again.
const MAX_WINDOW: usize = 1 << 14;

/// Options of a client.
#[derive(Clone, Debug)]
pub struct Options {
    /// Other replicas of the node's cluster: if it does not answer, the client switches to the next of them, also with
    /// the requests in flight. Replicas know each other's retries, so nothing is executed twice.
    pub others: Vec<SocketAddr>,
    /// How long a node with requests to answer may send nothing before the client switches to the next one.
    pub turn_after: Duration,
    /// The requested promise; the node's own by default.
    pub promise: Promise,
    /// Whether to use TCP instead of UDP: for large frames on paths that lose or block datagrams.
    pub tcp: bool,
    /// Maximum length of a datagram sent or received, in bytes. By default what fits: 65,507 on loopback and over TCP,
    /// 1,472 elsewhere.
    pub datagram: Option<usize>,
    /// Maximum number of datagrams in flight.
    pub window: usize,
    /// Wait for a reply before the request is repeated; doubled each time.
    pub retry_after: Duration,
    /// Maximum wait between two attempts.
    pub retry_at_most: Duration,
    /// Time after which a request is given up.
    pub give_up_after: Duration,
    /// Whether to give up as soon as nothing listens at any of the nodes, not only after [`Self::give_up_after`].
    pub fail_if_unreachable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            others: Vec::new(),
            // Longer than replicas take to continue without a leader.
            turn_after: Duration::from_secs(1),
            promise: Promise::Default,
            tcp: false,
            datagram: None,
            window: 64,
            retry_after: Duration::from_millis(200),
            retry_at_most: Duration::from_secs(1),
            give_up_after: Duration::from_secs(10),
            fail_if_unreachable: false,
        }
    }
}

impl Options {
    /// Maximum length of a datagram to or from a node, or one of the others.
    pub fn datagram_for(&self, node: SocketAddr) -> usize {
        let is_undivided = self.tcp || self.others.iter().chain([&node]).all(|node| node.ip().is_loopback());
        self.datagram.unwrap_or(if is_undivided { MAX_DATAGRAM } else { ETHERNET_DATAGRAM })
    }

    /// Limits of a window for a node.
    pub fn limits_for(&self, node: SocketAddr) -> Result<Limits, Error> {
        let datagram = self.datagram_for(node);
        if !(MIN_DATAGRAM..=MAX_DATAGRAM).contains(&datagram) {
            return Err(Error::Option { name: "datagram", found: datagram, expected: "from 256 to 65507" });
        }
        if !(1..=MAX_WINDOW).contains(&self.window) {
            return Err(Error::Option { name: "window", found: self.window, expected: "from 1 to 16384" });
        }
        Ok(Limits {
            datagram,
            window: self.window,
            // Over TCP nothing is lost except with the connection.
            retry_after: if self.tcp { self.retry_at_most } else { self.retry_after },
            retry_at_most: self.retry_at_most,
            give_up_after: self.give_up_after,
        })
    }
}
