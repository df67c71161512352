//! HTTP to a node that is named by its address.

use std::time::Duration;

use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

/// An HTTP agent with a timeout for a whole request. It uses no proxy, and returns error statuses as replies.
pub fn agent(patience: Duration) -> ureq::Agent {
    configure(|config| config.timeout_global(Some(patience)))
}

/// The same for replies without an end: only silence times out.
pub fn streaming_agent(patience: Duration) -> ureq::Agent {
    configure(|config| config.timeout_connect(Some(patience)).timeout_per_read(Some(patience)))
}

type Builder = ConfigBuilder<AgentScope>;

fn configure(timeouts: impl FnOnce(Builder) -> Builder) -> ureq::Agent {
    timeouts(ureq::Agent::config_builder()).proxy(None).http_status_as_error(false).build().into()
}
