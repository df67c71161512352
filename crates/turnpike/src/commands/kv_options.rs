//! memcached's `-o` and `-l`, for `turnpike kv`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use net::tls::{Clients, Version};
use node::config::KvTls;

use crate::cli::KvArgs;
use crate::error::Error;

/// Prefix of an address without TLS.
const PLAIN: &str = "notls:";

/// The arguments of `-o`: names, some with values. The last one of a name counts.
pub struct Extended<'a>(&'a [String]);

impl<'a> Extended<'a> {
    pub fn from_args(args: &'a KvArgs) -> Self {
        Self(&args.extended)
    }

    /// The value of an option, if it is given.
    fn value(&self, name: &str) -> Result<Option<&'a str>, Error> {
        let named = |option: &'a String| match option.split_once('=') {
            Some((option, value)) => (option == name).then_some(Some(value)),
            None => (option == name).then_some(None),
        };
        match self.0.iter().rev().find_map(named) {
            Some(None | Some("")) => Err(Error::Input(format!("-o {name} takes a value: -o {name}=VALUE"))),
            Some(value) => Ok(value),
            None => Ok(None),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|option| option == name)
    }

    /// After how many seconds a connection without requests is closed.
    pub fn idle_timeout(&self) -> Result<Option<u64>, Error> {
        let number = |text: &str| {
            text.parse().map_err(|_| Error::Input(format!("-o idle_timeout={text}: expected a number of seconds")))
        };
        self.value("idle_timeout")?.map(number).transpose()
    }

    /// TLS, where `enabled`.
    pub fn tls(&self, enabled: bool) -> Result<KvTls, Error> {
        if !enabled {
            return match self.value("ssl_chain_cert")? {
                Some(_) => Err(Error::Input("-o ssl_chain_cert needs TLS: add -Z".into())),
                None => Ok(KvTls::default()),
            };
        }
        let file = |name| {
            let path = self.value(name)?.map(PathBuf::from);
            path.ok_or_else(|| {
                Error::Input(format!(
                    "-Z needs a certificate and its key: -o ssl_chain_cert=FILE,ssl_key=FILE; {name} is missing"
                ))
            })
        };
        let chain = file("ssl_chain_cert")?;
        // A chain's file may have the key in it.
        let key = self.value("ssl_key")?.map_or_else(|| chain.clone(), PathBuf::from);
        let clients = match self.value("ssl_verify_mode")? {
            None | Some("0") => Clients::Any,
            Some("1") => Clients::Asked,
            Some("2" | "3") => Clients::Proven,
            Some(other) => {
                let text = "expected 0 (no client certificate), 1 (verified if sent) or 2 (required)";
                return Err(Error::Input(format!("-o ssl_verify_mode={other}: {text}")));
            }
        };
        let oldest = match self.value("ssl_min_version")? {
            None | Some("2") => Version::V1_2,
            Some("3") => Version::V1_3,
            Some(other) => match Version::ALL.into_iter().find(|version| version.name() == other) {
                Some(version) => version,
                None => {
                    let text = "expected tlsv1.2 or tlsv1.3; older versions are not safe";
                    return Err(Error::Input(format!("-o ssl_min_version={other}: {text}")));
                }
            },
        };
        let authorities = self.value("ssl_ca_cert")?.map(PathBuf::from).unwrap_or_default();
        Ok(KvTls { chain, key, authorities, clients, oldest, resume: self.has("ssl_session_cache") })
    }
}

/// Addresses of `-l`: those that may have TLS, and those that have none.
pub fn addresses(args: &KvArgs) -> Result<(Vec<SocketAddr>, Vec<SocketAddr>), Error> {
    let (mut secure, mut plain) = (Vec::new(), Vec::new());
    if args.unix_socket.is_none() && args.port != 0 {
        for text in &args.listen {
            match text.strip_prefix(PLAIN) {
                Some(_) if !args.enable_ssl => {
                    return Err(Error::Input(format!(
                        "-l {text}: {PLAIN} is for servers with TLS; remove it, or add -Z"
                    )));
                }
                Some(bare) => plain.push(address(bare, args.port)?),
                None => secure.push(address(text, args.port)?),
            }
        }
    }
    Ok((secure, plain))
}

/// Addresses of `-l`, with the port of `-U`.
pub fn udp_addresses(args: &KvArgs) -> Result<Vec<SocketAddr>, Error> {
    if args.unix_socket.is_some() || args.udp_port == 0 {
        return Ok(Vec::new());
    }
    let bare = args.listen.iter().map(|text| text.strip_prefix(PLAIN).unwrap_or(text));
    bare.map(|text| address(text, args.udp_port)).collect()
}

/// An address, or a name, with a port or without.
fn address(text: &str, port: u16) -> Result<SocketAddr, Error> {
    if text == "*" {
        return Ok((Ipv4Addr::UNSPECIFIED, port).into());
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok((address, port).into());
    }
    let found = if text.contains(':') { text.to_socket_addrs() } else { (text, port).to_socket_addrs() };
    let found =
        found.map_err(|error| Error::Input(format!("-l {text}: {error}; expected an address such as 127.0.0.1")));
    found?.next().ok_or_else(|| Error::Input(format!("-l {text}: the name has no address")))
}
