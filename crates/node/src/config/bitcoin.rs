//! The section of the Bitcoin node that is followed.

use std::{env, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::Findings;

/// The Bitcoin node that is followed, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bitcoin {
    /// Address of its RPC; empty for none.
    pub node: String,
    /// The file of its cookie, or of a user, a colon and a password; empty for the usual place of a node on mainnet.
    pub cookie: PathBuf,
    /// Timeout of its replies, in milliseconds.
    pub timeout: u64,
    /// Interval for polling its mempool, in milliseconds.
    pub interval: u64,
}

impl Default for Bitcoin {
    /// The timeout is that of Bitcoin Core's own client, for one that validates many blocks meanwhile.
    fn default() -> Self {
        Self { node: String::new(), cookie: PathBuf::new(), timeout: 60_000, interval: 1000 }
    }
}

impl Bitcoin {
    /// The client of the node, if any.
    pub fn client(&self) -> Option<bitcoind::Settings> {
        let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".bitcoin").join(".cookie");
        let cookie = if self.cookie.as_os_str().is_empty() { home() } else { self.cookie.clone() };
        let patience = Duration::from_millis(self.timeout);
        (!self.node.is_empty()).then(|| bitcoind::Settings { url: self.node.clone(), cookie, patience })
    }

    /// Finds values that a node cannot run with.
    pub(super) fn find(&self, findings: &mut Findings) {
        if !self.node.is_empty() && !self.node.starts_with("http://") {
            findings.refuse("bitcoin.node", format!("{:?}", self.node), "empty, or begin with \"http://\"");
        }
        findings.within("bitcoin.timeout", self.timeout, 100, 3_600_000);
        findings.within("bitcoin.interval", self.interval, 10, 3_600_000);
    }
}
