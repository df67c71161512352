//! Who may use the page.
//!
//! The page has no login. Hosts outside [`Page::clients`](crate::config::Page) are refused.
//!
//! A browser of a host inside may load a foreign page whose name then resolves to this node (DNS rebinding), and that
//! page could read balances. So a name must be configured, or be one that no stranger can register.

use std::net::IpAddr;

use net::Prefix;

use crate::{
    config::Page,
    http::{Get, Reply},
};

/// The hosts that may use the page, and its names.
#[derive(Debug)]
pub struct Access {
    clients: Vec<Prefix>,
    hosts: Vec<String>,
}

impl Access {
    /// Access as configured.
    pub fn new(config: &Page) -> Self {
        Self { clients: config.clients.clone(), hosts: config.hosts.clone() }
    }

    /// Refuses a client outside the configured prefixes.
    pub fn check_client(&self, get: &Get<'_>) -> Result<(), Reply> {
        let from = get.from.to_canonical();
        if self.clients.iter().any(|prefix| prefix.contains(from)) {
            return Ok(());
        }
        let text =
            format!("the page is not for {from}: add its prefix to `page.clients` of the node's configuration\n");
        Err(Reply::text(text).with_status("403 Forbidden"))
    }

    /// Refuses a request to a name that a stranger could have made resolve to this node.
    pub fn check_host(&self, get: &Get<'_>) -> Result<(), Reply> {
        let Some(host) = &get.fields.host else { return Ok(()) };
        let name = name(host);
        if is_own(name) || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let text = format!("{name} is not known as a name of this node: add it to `page.hosts` of its configuration\n");
        Err(Reply::text(text).with_status("421 Misdirected Request"))
    }

    /// Refuses a WebSocket to a page of another origin: browsers let every page open one, and it could read balances.
    pub fn check_origin(&self, get: &Get<'_>) -> Result<(), Reply> {
        // Programs send no origin.
        let Some(origin) = &get.fields.origin else { return Ok(()) };
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if host.is_some() && host == get.fields.host.as_deref() {
            return Ok(());
        }
        let text = format!("a page of {origin} cannot open a WebSocket here: load the page from this node\n");
        Err(Reply::text(text).with_status("403 Forbidden"))
    }
}

/// The name of a `Host` field, without a port.
fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        // An address of IPv6 is in brackets.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether only the owner of the network can make a name resolve: an address, or a name without a dot.
fn is_own(name: &str) -> bool {
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    address.parse::<IpAddr>().is_ok() || !name.contains(['.', '['])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Fields;

    #[test]
    fn a_name_that_anybody_can_register_must_be_configured() {
        let access = Access { clients: Vec::new(), hosts: vec!["node.example".into()] };
        let is_known = |host: Option<&str>| {
            let fields = Fields { host: host.map(str::to_owned), ..Fields::default() };
            let from = IpAddr::from([127, 0, 0, 1]);
            access
                .check_host(&Get { path: "/", query: "", posted: None, is_preflight: false, fields: &fields, from })
                .is_ok()
        };
        for host in
            ["127.0.0.1:7480", "10.0.0.7", "[::1]:7480", "[::1]", "localhost", "node:7480", "Node.Example:80", ""]
        {
            assert!(is_known(Some(host)), "{host}");
        }
        assert!(is_known(None));
        for host in
            ["evil.example", "127.0.0.1.evil.example:7480", "node.example.evil", "[evil.example]", "[::1", "a.b:c"]
        {
            assert!(!is_known(Some(host)), "{host}");
        }
    }

    #[test]
    fn a_web_socket_is_for_pages_of_this_node() {
        let access = Access { clients: Vec::new(), hosts: Vec::new() };
        let may_open = |origin: Option<&str>| {
            let (host, origin) = (Some("node:7480".to_owned()), origin.map(str::to_owned));
            let fields = Fields { host, origin, ..Fields::default() };
            let from = IpAddr::from([127, 0, 0, 1]);
            access
                .check_origin(&Get { path: "/", query: "", posted: None, is_preflight: false, fields: &fields, from })
                .is_ok()
        };
        assert!(may_open(None) && may_open(Some("http://node:7480")) && may_open(Some("https://node:7480")));
        for origin in ["http://node", "http://node:7481", "http://evil.example", "null", "node:7480", ""] {
            assert!(!may_open(Some(origin)), "{origin}");
        }
    }

    #[test]
    fn clients_are_those_of_the_prefixes() {
        let access = Access { clients: vec!["127.0.0.0/8".parse().unwrap()], hosts: Vec::new() };
        let fields = Fields::default();
        let is_client = |from: &str| {
            let from = from.parse().unwrap();
            access
                .check_client(&Get { path: "/", query: "", posted: None, is_preflight: false, fields: &fields, from })
                .is_ok()
        };
        assert!(is_client("127.0.0.1") && is_client("::ffff:127.0.0.1"));
        assert!(!is_client("10.0.0.1") && !is_client("::1"));
    }
}
