//! The section of the Electrum protocol.

use std::net::SocketAddr;

use electrum::{Limits, Settings};
use net::Prefix;
use serde::{Deserialize, Serialize};

use super::{Findings, KvTls, texts};

/// The Electrum protocol over imported Bitcoin blocks. It is served if it has an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Electrum {
    /// Addresses for TCP.
    #[serde(with = "texts")]
    pub listen: Vec<SocketAddr>,
    /// Addresses for TLS.
    #[serde(with = "texts")]
    pub listen_tls: Vec<SocketAddr>,
    /// Addresses for WebSocket.
    #[serde(with = "texts")]
    pub listen_ws: Vec<SocketAddr>,
    /// Addresses for WebSocket in TLS.
    #[serde(with = "texts")]
    pub listen_wss: Vec<SocketAddr>,
    /// Whether Esplora's API is served on the HTTP address.
    pub esplora: bool,
    /// Origins whose pages may use Esplora's API; `*` is all of them.
    pub esplora_origins: Vec<String>,
    /// Prefixes without their own limits.
    #[serde(with = "texts")]
    pub trusted: Vec<Prefix>,
    /// Threads that serve connections.
    pub threads: usize,
    /// Connections at once.
    pub connections: usize,
    /// Connections at once of one prefix.
    pub prefix_connections: usize,
    /// Subscriptions at once.
    pub subscriptions: usize,
    /// Subscriptions at once of one prefix.
    pub prefix_subscriptions: usize,
    /// Microseconds of work a second for one prefix.
    pub prefix_cost: u64,
    /// Bytes of the longest reply.
    pub reply_size: usize,
    /// Bytes of the longest request.
    pub request_size: usize,
    /// Maximum size of incomplete requests and unread replies of all connections, in bytes.
    pub buffer_size: usize,
    /// The same of one prefix.
    pub prefix_buffer_size: usize,
    /// After how many seconds without requests a connection is closed.
    pub idle_timeout: u64,
    /// The text of `server.banner`.
    pub banner: String,
    /// The address of `server.donation_address`.
    pub donation_address: String,
    /// What TLS is made of.
    pub tls: KvTls,
}

impl Default for Electrum {
    fn default() -> Self {
        let Settings { limits, banner, donation_address, idle, .. } = Settings::default();
        let Limits {
            connections,
            prefix_connections,
            subscriptions,
            prefix_subscriptions,
            prefix_cost,
            reply,
            request,
            buffers,
            prefix_buffers,
            trusted,
        } = limits;
        Self {
            listen: Vec::new(),
            listen_tls: Vec::new(),
            listen_ws: Vec::new(),
            listen_wss: Vec::new(),
            esplora: false,
            esplora_origins: Vec::new(),
            trusted,
            threads: 2,
            connections,
            prefix_connections,
            subscriptions,
            prefix_subscriptions,
            prefix_cost,
            reply_size: reply,
            request_size: request,
            buffer_size: buffers,
            prefix_buffer_size: prefix_buffers,
            idle_timeout: idle.as_secs(),
            banner,
            donation_address,
            tls: KvTls::default(),
        }
    }
}

impl Electrum {
    /// Whether there is something to listen on for Electrum's clients.
    pub fn has_listeners(&self) -> bool {
        [&self.listen, &self.listen_tls, &self.listen_ws, &self.listen_wss].iter().any(|listen| !listen.is_empty())
    }

    /// Whether anybody is to be served.
    pub fn is_wanted(&self) -> bool {
        self.has_listeners() || self.esplora
    }

    /// Finds values that a server cannot run with.
    pub(super) fn find(&self, findings: &mut Findings) {
        let secured = [("electrum.listen_tls", &self.listen_tls), ("electrum.listen_wss", &self.listen_wss)];
        if let Some((key, addresses)) = secured.into_iter().find(|(_, addresses)| !addresses.is_empty())
            && self.tls.files().is_none()
        {
            findings.refuse(key, format!("{addresses:?}"), "empty if `electrum.tls.chain` is empty");
        }
        let is_origin = |origin: &&String| {
            let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            *origin == "*" || host.is_some_and(|host| !host.is_empty() && host.bytes().all(is_of_host))
        };
        if let Some(wrong) = self.esplora_origins.iter().find(|origin| !is_origin(origin)) {
            let allowed = "\"*\" or origins such as \"https://wallet.example\", without a path";
            findings.refuse("electrum.esplora_origins", format!("{wrong:?}"), allowed);
        }
        findings.within("electrum.threads", self.threads as u64, 1, 256);
        findings.within("electrum.connections", self.connections as u64, 1, 1 << 20);
        findings.within("electrum.prefix_connections", self.prefix_connections as u64, 1, 1 << 20);
        findings.within("electrum.subscriptions", self.subscriptions as u64, 1, 1 << 30);
        findings.within("electrum.prefix_subscriptions", self.prefix_subscriptions as u64, 1, 1 << 30);
        findings.within("electrum.prefix_cost", self.prefix_cost, 1000, 1_000_000_000);
        // 2,016 headers in hexadecimal digits are 330,000 bytes, and without them Electrum does not synchronise.
        findings.within("electrum.reply_size", self.reply_size as u64, 400_000, 1 << 30);
        findings.within("electrum.request_size", self.request_size as u64, 4096, 1 << 30);
        // A request and its reply must fit.
        let least = (self.request_size + self.reply_size) as u64;
        findings.within("electrum.prefix_buffer_size", self.prefix_buffer_size as u64, least, 1 << 40);
        findings.within("electrum.buffer_size", self.buffer_size as u64, self.prefix_buffer_size as u64, 1 << 40);
        findings.within("electrum.idle_timeout", self.idle_timeout, 10, 365 * 86_400);
    }
}

/// Whether a byte may be in the host and the port of an origin.
fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte)
}
