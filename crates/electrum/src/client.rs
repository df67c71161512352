//! State of a client: its version, its subscriptions, and its share of the limits. Methods read and change it.
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use spv::Hash;

use crate::{
    limits::Share,
    mempool::Outpoint,
    rpc::RpcError,
    service::{Counts, Service},
    version::Version,
};

/// Bytes of requests and replies that cost as much as a microsecond of work.
const COST_BYTES: u64 = 200;

/// A client, as methods see it.
pub struct Client {
    pub service: Arc<Service>,
    pub share: Share,
    /// The negotiated version, if any.
    pub version: Option<Version>,
    /// Whether `server.version` was called.
    pub has_version: bool,
    /// Whether it is subscribed to headers.
    pub headers: bool,
    pub scripts: HashSet<Hash>,
    /// With their scripts, once they are paid.
    pub outpoints: HashMap<Outpoint, Option<Hash>>,
    pub closing: bool,
}

impl Client {
    /// A client that has sent nothing yet.
    pub fn new(service: &Arc<Service>, share: Share) -> Self {
        Self {
            service: Arc::clone(service),
            share,
            version: None,
            has_version: false,
            headers: false,
            scripts: HashSet::new(),
            outpoints: HashMap::new(),
            closing: false,
        }
    }

    /// The negotiated version; the oldest before that.
    pub fn version(&self) -> Version {
        self.version.unwrap_or(Version::OLDEST)
    }

    /// Maximum length of a reply in bytes.
    pub fn reply_limit(&self) -> usize {
        // All share the memory: nobody gets a reply that does not fit.
        if self.share.is_trusted() { self.share.limits().buffers } else { self.share.limits().reply }
    }

    /// Adds a subscription.
    pub fn subscribe(&mut self) -> Result<(), RpcError> {
        if self.share.subscribe() {
            return Ok(());
        }
        Counts::add(&self.service.counts.refused_subscriptions, 1);
        Err(RpcError::excessive("excessive resource usage: too many subscriptions of your network prefix, or of all"))
    }

    /// Charges for bytes read or written.
    pub fn charge_bytes(&self, bytes: usize, now: Instant) {
        self.share.charge(bytes as u64 / COST_BYTES, now);
    }
}
