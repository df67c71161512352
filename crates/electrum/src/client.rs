//! What is known of a client: the version it speaks, what it is subscribed to, and its share of the limits. Methods
//! read and change it.
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

/// A client, as its methods see it.
pub struct Client {
    pub service: Arc<Service>,
    pub share: Share,
    /// The version that is spoken, once it is agreed on.
    pub version: Option<Version>,
    /// Whether `server.version` was called.
    pub has_version: bool,
    /// Whether headers are subscribed to.
    pub headers: bool,
    pub scripts: HashSet<Hash>,
    /// With their scripts, once somebody pays them.
    pub outpoints: HashMap<Outpoint, Option<Hash>>,
    pub closing: bool,
}

impl Client {
    /// A client who has said nothing yet.
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

    /// The version that is spoken: the oldest until one is agreed on.
    pub fn version(&self) -> Version {
        self.version.unwrap_or(Version::OLDEST)
    }

    /// Bytes of the longest reply.
    pub fn reply_limit(&self) -> usize {
        // Memory is everybody's: nobody gets a reply that there is no room for.
        if self.share.is_trusted() { self.share.limits().buffers } else { self.share.limits().reply }
    }

    /// Takes one more subscription.
    pub fn subscribe(&mut self) -> Result<(), RpcError> {
        if self.share.subscribe() {
            return Ok(());
        }
        Counts::add(&self.service.counts.refused_subscriptions, 1);
        Err(RpcError::excessive("excessive resource usage: too many subscriptions of your network prefix, or of all"))
    }

    /// Charges for bytes that are read or written.
    pub fn charge_bytes(&self, bytes: usize, now: Instant) {
        self.share.charge(bytes as u64 / COST_BYTES, now);
    }
}
