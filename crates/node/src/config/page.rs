//! The section of the page.

use net::Prefix;
use serde::{Deserialize, Serialize};

use super::{Findings, texts};

/// The page for people, on the HTTP address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// Prefixes whose hosts may use it.
    #[serde(with = "texts")]
    pub clients: Vec<Prefix>,
    /// Names of the node beside addresses and names without a dot.
    pub hosts: Vec<String>,
}

impl Default for Page {
    fn default() -> Self {
        Self { clients: Prefix::loopback(), hosts: Vec::new() }
    }
}

impl Page {
    pub(super) fn find(&self, findings: &mut Findings) {
        let is_name = |host: &String| {
            !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        };
        if let Some(host) = self.hosts.iter().find(|host| !is_name(host)) {
            findings.refuse("page.hosts", format!("{host:?}"), "names without a port, such as \"node.example\"");
        }
    }
}
