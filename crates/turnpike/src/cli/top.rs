//! `turnpike top`.

use clap::Args;

use super::common::{HTTP_PORT, default_node, http_address};
use super::host::Host;
use crate::error::Error;

/// Options of `top`.
#[derive(Args)]
pub struct TopArgs {
    /// Watch the node with this HTTP address [default: the host of TURNPIKE_NODE, port 7480] [env: TURNPIKE_HTTP]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub http: Option<Host>,
    /// Print one picture and exit, as with --json or without a terminal
    #[arg(long)]
    pub once: bool,
}

impl TopArgs {
    /// The HTTP address of the node, with its port.
    pub fn address(&self) -> Result<Host, Error> {
        if let Some(http) = http_address(self.http.as_ref())? {
            return Ok(http.or_port(HTTP_PORT));
        }
        let node: Host = default_node().parse().map_err(|error| Error::Input(format!("TURNPIKE_NODE: {error}")))?;
        Ok(node.with_port(HTTP_PORT))
    }
}
