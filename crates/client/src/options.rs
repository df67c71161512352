//! How a client talks to a node.

use std::net::SocketAddr;
use std::time::Duration;

use wire::{ETHERNET_DATAGRAM, MAX_DATAGRAM, Promise};

use crate::{Error, Limits};

/// The fewest bytes of a datagram: every fixed part of a frame fits.
const MIN_DATAGRAM: usize = 256;

/// The most datagrams in flight. The id of a frame has 32 bits, and a late reply must not meet the same id again.
const MAX_WINDOW: usize = 1 << 14;

/// How a client talks to a node.
#[derive(Clone, Debug)]
pub struct Options {
    /// Other replicas of the node's cluster: where it does not answer, what is in flight is sent to the next of them, and what
    /// follows as well. Replicas know each other's retries, so nothing is done twice.
    pub others: Vec<SocketAddr>,
    /// How long nothing may come of a node that has something to answer, before the next one is turned to.
    pub turn_after: Duration,
    /// The promise asked for; by default the node's own.
    pub promise: Promise,
    /// Talk over TCP instead of UDP: for large frames on paths that lose datagrams or let none through.
    pub tcp: bool,
    /// Bytes of the longest datagram sent or taken. By default what fits: 65,507 on loopback and over TCP, 1,472 elsewhere.
    pub datagram: Option<usize>,
    /// The most datagrams in flight at once.
    pub window: usize,
    /// How long to wait for a reply before the request is sent again; each time twice as long.
    pub retry_after: Duration,
    /// The longest wait between two tries.
    pub retry_at_most: Duration,
    /// How long to try at all.
    pub give_up_after: Duration,
    /// Give up once the system has reported that nothing listens at any of the nodes, not only after
    /// [`Self::give_up_after`].
    pub fail_if_unreachable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            others: Vec::new(),
            // Longer than replicas take to go on without a leader.
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
    /// Bytes of the longest datagram to or from a node, or one of the others.
    pub fn datagram_for(&self, node: SocketAddr) -> usize {
        let is_undivided = self.tcp || self.others.iter().chain([&node]).all(|node| node.ip().is_loopback());
        self.datagram.unwrap_or(if is_undivided { MAX_DATAGRAM } else { ETHERNET_DATAGRAM })
    }

    /// What a window for a node is limited to.
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
            // Over TCP nothing gets lost but with the connection.
            retry_after: if self.tcp { self.retry_at_most } else { self.retry_after },
            retry_at_most: self.retry_at_most,
            give_up_after: self.give_up_after,
        })
    }
}
