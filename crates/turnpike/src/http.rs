//! HTTP to a node that is named by its address.

use std::time::Duration;

/// Asks a node, which may take so long for an answer. Nothing is in between, and each status is an answer.
pub fn agent(patience: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().timeout_global(Some(patience)).proxy(None);
    config.http_status_as_error(false).build().into()
}
