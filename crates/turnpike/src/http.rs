//! HTTP to a node that is named by its address.

use std::time::Duration;

/// An HTTP agent with a timeout. It uses no proxy, and returns error statuses as replies.
pub fn agent(patience: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().timeout_global(Some(patience)).proxy(None);
    config.http_status_as_error(false).build().into()
}
