//! The node that this one follows.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{Backend, Config, check::Findings, optional_address};
use crate::text::from_hex;

/// The node that this one follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Follow {
    /// Its address; `None` if this node follows none.
    #[serde(with = "optional_address")]
    pub node: Option<SocketAddr>,
    /// Its network id in hexadecimal; empty to take that of the data directory, or of the first contact.
    pub network: String,
}

impl Follow {
    /// The network id, if one is configured.
    pub fn network_id(&self) -> Option<[u8; 32]> {
        from_hex(&self.network)
    }

    /// Finds values that are not allowed.
    pub(super) fn find(&self, config: &Config, findings: &mut Findings) {
        if !self.network.is_empty() && self.network_id().is_none() {
            findings.refuse("follow.network", self.network.as_str(), "64 hexadecimal digits, or empty");
        }
        let Some(node) = self.node else { return };
        if config.cluster.is_wanted() {
            findings.refuse("follow.node", node.to_string(), "empty if `cluster.replicas` is not");
        }
        if !matches!(config.io.backend, Backend::Auto | Backend::Udp) {
            let value = format!("{:?}", config.io.backend).to_lowercase();
            findings.refuse("io.backend", value, "\"udp\" or \"auto\" for a node that follows another one");
        }
    }
}
